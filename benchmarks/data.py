"""Where the tables are that no package brings.

Imports nothing heavy: a process starts with the peak of memory of the one that started it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def data_folder() -> Path:
    """Return the folder that BCART_DATA names."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("BCART_DATA", beside))


def has_table(name: str) -> bool:
    """Tell whether a table such as ``paper/iris`` is there."""
    return _path_of(name).exists()


def why_absent(name: str) -> str:
    """Say what to do about a table that is not there."""
    return f"{name} is left out: {_path_of(name)} does not exist; set BCART_DATA to a folder with {name}.csv"


def read_table(name: str) -> tuple[Any, Any]:
    """Return the features and the target, which is the last column."""
    import numpy as np

    table = np.loadtxt(_path_of(name), delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def _path_of(name: str) -> Path:
    return data_folder() / f"{name}.csv"
