"""The tables of the cases."""

from __future__ import annotations

import numpy as np

import bcart
from benchmarks.data import read_table
from benchmarks.machine.cases import XOR_SIZES, Case

N_QUERIES = 1000


def from_file(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read a table, of whose rows some are asked about again."""
    X, y = read_table(name)
    return X, y.astype(int), np.random.default_rng(1).choice(X, N_QUERIES)


def hidden_xor(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twenty fair coins; the class is the XOR of the first four."""
    rng = np.random.default_rng(0)
    for n in XOR_SIZES[: XOR_SIZES.index(n_rows) + 1]:
        X = rng.integers(0, 2, (n, 20))
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3], np.random.default_rng(1).integers(0, 2, (N_QUERIES, 20))


def numbers(n_rows: int, n_features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Uniform numbers; the class is whether the first two lie on the same side of one half, one in ten is wrong."""
    rng = np.random.default_rng(0)
    X = rng.random((n_rows, n_features))
    y = ((X[:, 0] < 0.5) == (X[:, 1] < 0.5)) ^ (rng.random(n_rows) < 0.1)
    return X, y.astype(int), rng.random((N_QUERIES, n_features))


def breast_cancer() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thirty measures of a tumour, from scikit-learn; some rows are asked about again."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, y, np.random.default_rng(1).choice(X, N_QUERIES)


MAKERS = {"file": from_file, "xor": hidden_xor, "numbers": numbers, "breast cancer": breast_cancer}


def cells_of(case: Case) -> tuple[bcart.Cells, bcart.Grid, np.ndarray]:
    """Return the cells of a case, their grid and the rows to ask about."""
    maker, *arguments = case.source
    X, y, queries = MAKERS[str(maker)](*arguments)
    grid = bcart.Grid.from_data(X, case.max_bins)
    statistics = bcart.DirichletLeaf.statistics(y, int(y.max()) + 1)
    return bcart.Cells.from_rows(grid.encode(X), statistics, kinds=grid.kinds), grid, queries
