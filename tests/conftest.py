"""What all tests share: the option `--slow`, the folder of data sets, and one hypothesis profile."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

REPOSITORY = Path(__file__).resolve().parent.parent

settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci")


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests that take long or much memory")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture(scope="session")
def shared_data():
    """The folder of data sets: $BCART_DATA, or shared/data next to the checkout."""
    named = os.environ.get("BCART_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the data sets are not here: {folder} is no folder; set BCART_DATA to the one that holds them")
    return folder
