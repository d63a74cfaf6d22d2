"""What all tests share: the option `--slow`, and one hypothesis profile that finds the same examples in every run."""

import pytest
from hypothesis import settings

settings.register_profile("bcart", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("bcart")

collect_ignore = ["fuzz"]  # a program of its own, see `make fuzz`


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="also run the tests that take long or much memory")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))
