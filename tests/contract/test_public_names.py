"""What the package promises by name."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import bcart
from bcart import memory

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", bcart.__all__)
def test_every_public_name_exists_and_says_what_it_is(name):
    assert inspect.getdoc(getattr(bcart, name))
    assert vars(getattr(bcart, name)).get("__doc__") or inspect.isfunction(getattr(bcart, name))


def needs_no_example(value):
    return inspect.isclass(value) and issubclass(value, (bcart.BcartError, Warning))


@pytest.mark.parametrize("name", [name for name in bcart.__all__ if not needs_no_example(getattr(bcart, name))])
def test_every_public_class_and_function_shows_what_it_does(name):
    """The examples themselves are run by `--doctest-modules`; each has to show something, and say what comes out."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(bcart, name)))
    assert any(example.want for example in examples)
    last_shown = max(i for i, example in enumerate(examples) if example.want)
    assert last_shown == len(examples) - 1, "the last line of an example has no result"


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


def functions_of(owner):
    """The functions that a class has of its own, whatever it keeps them in; not those that only it calls."""
    for name, value in vars(owner).items():
        function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
        if inspect.isfunction(function) and (not name.startswith("_") or name.endswith("_")):
            yield name, function


def public_members():
    for name in bcart.__all__:
        owner = getattr(bcart, name)
        if not inspect.isclass(owner) or issubclass(owner, tuple):
            continue
        for member, function in functions_of(owner):
            if not member.startswith("_"):
                yield pytest.param(function, id=f"{name}.{member}")


@pytest.mark.parametrize("function", list(public_members()))
def test_every_public_method_says_what_it_does(function):
    assert function.__doc__


def is_error(value):
    return inspect.isclass(value) and issubclass(value, (BaseException, Warning))


@pytest.mark.parametrize("name", [name for name in bcart.__all__ if not is_error(getattr(bcart, name))])
def test_whatever_is_public_says_in_our_words_that_there_is_no_memory(name):
    value = getattr(bcart, name)
    functions = dict(functions_of(value)) if inspect.isclass(value) else {name: value}
    assert functions
    assert [name for name, function in functions.items() if function.__code__.co_filename != memory.__file__] == []


def test_every_error_is_one_of_ours():
    errors = [getattr(bcart, name) for name in bcart.__all__ if name.endswith("Error")]
    assert len(errors) >= 6
    assert all(issubclass(error, bcart.BcartError) for error in errors)


def test_the_version_is_that_of_the_project_file():
    declared = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert bcart.__version__ == declared[1]
