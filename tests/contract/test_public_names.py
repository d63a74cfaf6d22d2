"""What the package promises by name."""

import inspect
import re
from pathlib import Path

import pytest

import bcart

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", bcart.__all__)
def test_every_public_name_exists_and_says_what_it_is(name):
    assert inspect.getdoc(getattr(bcart, name))
    assert vars(getattr(bcart, name)).get("__doc__") or inspect.isfunction(getattr(bcart, name))


def test_public_names_are_sorted_and_unique():
    assert sorted(set(bcart.__all__)) == list(bcart.__all__)


def test_nothing_public_is_left_out_of_the_list():
    found = {
        name
        for name, value in vars(bcart).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and getattr(value, "__module__", "").startswith("bcart")
    }
    assert found == set(bcart.__all__)


def public_members():
    for name in bcart.__all__:
        owner = getattr(bcart, name)
        if not inspect.isclass(owner) or issubclass(owner, tuple):
            continue
        for member, value in vars(owner).items():
            function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
            if not member.startswith("_") and inspect.isfunction(function):
                yield pytest.param(function, id=f"{name}.{member}")


@pytest.mark.parametrize("function", list(public_members()))
def test_every_public_method_says_what_it_does(function):
    assert function.__doc__


def test_every_error_is_one_of_ours():
    errors = [getattr(bcart, name) for name in bcart.__all__ if name.endswith("Error")]
    assert len(errors) >= 6
    assert all(issubclass(error, bcart.BcartError) for error in errors)


def test_the_version_is_that_of_the_project_file():
    declared = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert bcart.__version__ == declared[1]
