"""The bins of a numeric column of a file, exactly those that `Grid.from_data` would choose."""

from __future__ import annotations

import numpy as np

from bcart.files.known import KnownRows
from bcart.files.source import Source
from bcart.files.sql import count_cuts
from bcart.grid import CodeArray, quantile_bins, uniform_edges
from bcart.parse import FloatArray

Bounds = tuple[FloatArray, FloatArray]  # the lowest and the highest value in each bin


def uniform_bounds(source: Source, x: str, lowest: float, highest: float, max_bins: int) -> Bounds:
    """Return the bounds of bins of equal width that are not empty; `x` is an expression on the view ``known``."""
    edges = uniform_edges(lowest + 0.0, highest + 0.0, max_bins).tolist()
    found = source.arrays(
        f"SELECT min(x) AS low, max(x) AS high FROM (SELECT {x} AS x FROM known) WHERE x IS NOT NULL "
        f"GROUP BY {count_cuts('x', edges)}"
    )
    return np.sort(found["low"]) + 0.0, np.sort(found["high"]) + 0.0


def quantile_bounds(source: Source, x: str, rows: KnownRows, max_bins: int) -> Bounds:
    """Return the bounds of bins of about equal weight, going twice through the distinct values in their order."""
    columns = f"{x} AS x" if rows.weight is None else f"{x} AS x, w"
    source.do(
        f"CREATE OR REPLACE TEMP TABLE ordered AS SELECT x, {rows.total} AS weight "
        f"FROM (SELECT {columns} FROM known) WHERE x IS NOT NULL GROUP BY x ORDER BY x"
    )
    total = 0.0
    for chunk in source.chunks("ordered"):
        total = _end(total, chunk["weight"])
    low: dict[int, float] = {}
    high: dict[int, float] = {}
    before = 0.0
    for chunk in source.chunks("ordered"):
        bins = quantile_bins(chunk["weight"], max_bins, before, total)
        low = {**_by_number(bins.number, chunk["x"][bins.first]), **low}
        high = {**high, **_by_number(bins.number, chunk["x"][bins.last])}
        before = _end(before, chunk["weight"])
    return np.array([low[i] for i in sorted(low)]) + 0.0, np.array([high[i] for i in sorted(high)]) + 0.0


def _end(before: float, weights: FloatArray) -> float:
    """Return a sum that goes on from value to value, as that of all weights at once does."""
    return float(np.cumsum(np.concatenate([[before], weights]))[-1])


def _by_number(numbers: CodeArray, values: FloatArray) -> dict[int, float]:
    return dict(zip(numbers.tolist(), values.tolist(), strict=True))
