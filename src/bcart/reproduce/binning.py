"""The ways in which numbers become the few values that trees are made of.

The paper says that features of more than ten distinct values "were bucketed to 10 values" (Vertebral: 5), not how. All
models see the buckets, for the paper's CART does: its trees on Haberman and Vertebral have sizes and accuracies that
the raw numbers do not give.

``none``
    The numbers as they are. CART and random forest only; and Hidden XOR, whose features have two values.
``uniform``, ``quantile``
    Bins of equal width, or of about equal weight, of the rows that a model learns from: those of `bcart.Grid`.
``edges``
    As many edges as there are values, equally spaced from the smallest to the largest number of all rows: the largest
    is a bucket of its own. This is what ``numpy.digitize(x, numpy.linspace(x.min(), x.max(), 10))`` gives.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from bcart.grid import Binning as GridBinning
from bcart.grid import Grid
from bcart.parse import FloatArray

Binning = Literal["none", "uniform", "quantile", "edges"]
BINNINGS: tuple[Binning, ...] = ("none", "uniform", "quantile", "edges")


def grid_binning(binning: Binning) -> GridBinning:
    """Return how our trees bin what they are given; what is cut already keeps its values either way."""
    return "quantile" if binning == "quantile" else "uniform"


def before_folds(X: FloatArray, binning: Binning, max_bins: int) -> FloatArray:
    """Return all rows as the folds are cut from them.

    Examples
    --------
    >>> before_folds(np.arange(7.0)[:, None], "edges", max_bins=4).ravel().tolist()
    [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0]
    """
    if binning != "edges":
        return X
    return np.column_stack([_between_edges(column, max_bins) for column in X.T])


def _between_edges(column: FloatArray, n_edges: int) -> FloatArray:
    if len(np.unique(column)) <= n_edges:
        return column
    return np.digitize(column, np.linspace(column.min(), column.max(), n_edges)).astype(np.float64)


def within_fold(train: FloatArray, test: FloatArray, binning: Binning, max_bins: int) -> tuple[FloatArray, FloatArray]:
    """Return the rows to learn from and those to predict, as CART and random forest see them."""
    if binning not in ("uniform", "quantile"):
        return train, test
    grid = Grid.from_data(train, max_bins, grid_binning(binning))
    return grid.encode(train).astype(np.float64), grid.encode(test).astype(np.float64)
