"""The tables, and the folds that all models share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from bcart.datasets import make_hidden_xor
from benchmarks.data import read_table

# Depth of bcart's trees, so that a fold takes seconds with one thread; None: all trees.
CLASSIFICATION = {
    "paper/caesarian": None,
    "paper/haberman": None,
    "paper/iris": None,
    "paper/vertebral": 4,
    "xor": 5,
    "continuous/banknote": 6,
    "continuous/raisin": 4,
    "continuous/rice": 4,
    "continuous/seeds": 4,
    "continuous/transfusion": None,
}
REGRESSION = {"regression/diabetes": 3, "regression/airfoil": 5, "regression/yacht": 5}
QUICK = ("paper/iris", "regression/yacht")


@dataclass(frozen=True)
class Table:
    """A table; `max_depth` is how deep bcart looks."""

    name: str
    X: np.ndarray
    y: np.ndarray
    max_depth: int | None
    is_regression: bool

    def folds(self, n_folds: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows to learn from and those to predict; stratified for classes."""
        kind = KFold if self.is_regression else StratifiedKFold
        yield from kind(n_folds, shuffle=True, random_state=0).split(self.X, self.y)


def all_names() -> list[str]:
    """Return the short names of the tables."""
    return [name.split("/")[-1] for name in {**CLASSIFICATION, **REGRESSION}]


def load(name: str) -> Table:
    """Return a table."""
    is_regression = name in REGRESSION
    X, y = hidden_xor() if name == "xor" else read_table(name)
    y = y / y.std() if is_regression else y.astype(int)  # errors and densities of different tables can be compared
    return Table(name.split("/")[-1], X, y, {**CLASSIFICATION, **REGRESSION}[name], is_regression)


def hidden_xor() -> tuple[np.ndarray, np.ndarray]:
    """Twenty fair coins; the class is the XOR of the first four."""
    table = make_hidden_xor(500, random_state=0)
    return table.data, table.target
