"""The committed stub of the native module says what the built module says."""

import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parents[2] / "src" / "bcart" / "_core.pyi"


def test_the_committed_stub_is_that_of_the_built_module(tmp_path):
    made = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "bcart._core", "-o", str(made)]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert STUB.exists(), "the stub is missing; run `make stubs`"
    assert STUB.read_text() == made.read_text(), "the stub is out of date; run `make stubs`"
