"""Run the property tests with the core that stands in a given folder, and no other: see `make sanitize`."""

import sys
from pathlib import Path

import pytest

folder = Path(sys.argv[1]).resolve()
# An editable install puts a finder of its own before the path; without it, the path decides.
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path.insert(0, str(folder))

import bcart._core  # noqa: E402

if not Path(bcart._core.__file__).is_relative_to(folder):
    sys.exit(f"{bcart._core.__file__} is not in {folder}")
sys.exit(pytest.main(["tests/property"]))
