"""The command in this process and in one of its own, and a model to try it on."""

import os
import subprocess
import sys
from importlib import resources
from typing import NamedTuple

import pytest

from bcart.cli.outcome import run

ENVIRONMENT = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
ENVIRONMENT.pop("BCART_DEBUG", None)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def bcart(capsys, monkeypatch):
    """The command in this process; it must not end in a surprise."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("BCART_DEBUG", raising=False)

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        outcome = Outcome(code, *capsys.readouterr())
        assert "Traceback" not in outcome.err
        assert "should not have happened" not in outcome.err
        return outcome

    return call


def start(*arguments, **settings):
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "bcart.cli", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, **settings}
    return subprocess.Popen(command, **streams)


@pytest.fixture(scope="session")
def haberman():
    with resources.as_file(resources.files("bcart.datasets") / "haberman.csv") as path:
        yield path


@pytest.fixture(scope="session")
def model(haberman, tmp_path_factory):
    """A model of Haberman's data, and what was printed when it was fitted."""
    path = tmp_path_factory.mktemp("models") / "haberman.bcart"
    process = start("fit", haberman, "--target", "outcome", "--log-phi", "4", "-o", path)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, b"")
    path.with_suffix(".txt").write_bytes(out)
    return path
