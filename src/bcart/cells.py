"""Distinct rows of codes with their added-up statistics: all that the mathematics sees of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InvalidDataError
from bcart.grid import CodeArray, Kind
from bcart.limits import Limits
from bcart.parse import FloatArray, as_floats, as_weights

MAX_WEIGHT = 1e30  # beyond, the tenth power of a count overflows
_ROWS_PER_STEP = 2**16  # whose statistics stay in the cache between being made and being added

StatisticsOf = Callable[[slice], FloatArray]


@dataclass(frozen=True, eq=False, init=False)
class Cells:
    """The cells of a table.

    Parameters
    ----------
    codes : array of shape (n_cells, n_features), integers from 0 to 255
        Bin codes; no two rows alike.
    statistics : array of shape (n_cells, n_statistics)
        Sums over the rows of each cell; for classification the (weighted) class counts.
    weights : array of shape (n_cells,), optional
        Total weight of the rows of each cell, by default the sum of its statistics.
    kinds : sequence of {"numeric", "optional", "nominal"}, optional
        What the codes of each feature mean, see `Grid.kinds`; by default all are numeric.

    Examples
    --------
    A billion rows in two cells cost what two rows cost:

    >>> cells = Cells(codes=[[0], [1]], statistics=[[7e8, 1e8], [1e8, 1e8]])
    >>> cells.n_cells, cells.weights.sum()
    (2, np.float64(1000000000.0))
    """

    codes: CodeArray
    statistics: FloatArray
    weights: FloatArray
    kinds: tuple[Kind, ...]

    def __init__(
        self,
        codes: npt.ArrayLike,
        statistics: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        kinds: Sequence[Kind] | None = None,
    ) -> None:
        sums = as_floats(statistics, "statistics")
        weight = sums.sum(axis=-1) if weights is None else as_floats(weights, "weights")
        object.__setattr__(self, "codes", np.array(_as_codes(codes)))
        object.__setattr__(self, "statistics", sums)
        object.__setattr__(self, "weights", weight)
        object.__setattr__(self, "kinds", _as_kinds(kinds, self.codes.shape[1]))
        _check_cells(self.codes, self.statistics, self.weights)
        for array in (self.codes, self.statistics, self.weights):
            array.flags.writeable = False

    @classmethod
    def from_rows(
        cls,
        codes: npt.ArrayLike,
        statistics: npt.ArrayLike | StatisticsOf,
        sample_weight: npt.ArrayLike | None = None,
        kinds: Sequence[Kind] | None = None,
        n_jobs: int | None = None,
    ) -> Cells:
        """Add up rows with equal codes; rows of weight zero are absent.

        Parameters
        ----------
        codes : array of shape (n_rows, n_features)
        statistics : array of shape (n_rows, n_statistics), or callable
            Statistics of each row alone, for classification a 1 in the column of its class. A function returns them
            for a slice of the rows, and is asked for one slice after the other: those of all rows together may take
            more memory than the table.
        sample_weight : array of shape (n_rows,), optional
        kinds : sequence of {"numeric", "optional", "nominal"}, optional
        n_jobs : int, optional
            Threads, see `Limits`; no bit of the sums depends on it.
        """
        row_codes, n_workers = _as_codes(codes), Limits(n_jobs=n_jobs).n_workers
        statistics_of = statistics if callable(statistics) else _sliced(statistics, len(row_codes))
        weights = as_weights(sample_weight, len(row_codes))
        present = weights > 0
        if not present.any():
            raise InvalidDataError("there are no rows with a positive weight")
        row_codes = row_codes if present.all() else row_codes[present]
        groups = _core.group_rows(row_codes, n_workers)
        sums = _add_up(groups, statistics_of, weights, present, n_workers)
        return cls(row_codes[groups.first_row], sums[:, :-1], sums[:, -1], kinds)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.codes)

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of codes of each feature."""
        return tuple(int(code) + 1 for code in self.codes.max(axis=0))


def _check_cells(codes: CodeArray, statistics: FloatArray, weights: FloatArray) -> None:
    is_table = statistics.ndim == 2 and statistics.shape[1] > 0 and len(statistics) == len(codes)
    if not is_table or weights.shape != (len(codes),):
        raise InvalidDataError(
            f"{len(codes)} cells need as many rows of statistics and as many weights, "
            f"got shapes {statistics.shape} and {weights.shape}"
        )
    if not np.isfinite(statistics).all() or not ((weights > 0) & (weights <= MAX_WEIGHT)).all():
        raise InvalidDataError(f"statistics of cells must be finite, their weights positive and at most {MAX_WEIGHT:g}")
    if len(_core.group_rows(codes, 1)) < len(codes):
        raise InvalidDataError("two cells have the same codes; add up rows with Cells.from_rows")


def _as_kinds(kinds: Sequence[Kind] | None, n_features: int) -> tuple[Kind, ...]:
    known: tuple[Kind, ...] = tuple(kinds) if kinds is not None else tuple(["numeric"] * n_features)
    if len(known) != n_features or not set(known) <= set(get_args(Kind)):
        raise InvalidDataError(
            f"kinds={kinds!r} must be one of {', '.join(get_args(Kind))} for each of {n_features} features"
        )
    return known


def _as_codes(codes: npt.ArrayLike) -> CodeArray:
    try:
        array = np.asarray(codes)
    except ValueError as error:
        raise InvalidDataError(f"codes must be a table of whole numbers: {error}") from None
    if array.ndim != 2 or 0 in array.shape or not np.issubdtype(array.dtype, np.integer):
        raise InvalidDataError(f"codes must be a table of whole numbers, got shape {array.shape} of {array.dtype}")
    if array.dtype != np.uint8 and (array.min() < 0 or array.max() > 255):
        raise InvalidDataError(f"codes must lie between 0 and 255, got {array.min()} to {array.max()}")
    return np.asarray(array, dtype=np.uint8, order="C")


def _sliced(statistics: npt.ArrayLike, n_rows: int) -> StatisticsOf:
    rows = as_floats(statistics, "statistics", copy=False)
    if rows.ndim != 2 or len(rows) != n_rows or rows.shape[1] == 0:
        raise InvalidDataError(f"{n_rows} rows need as many statistics, got shape {rows.shape}")
    return rows.__getitem__


def _add_up(
    groups: _core.Groups,
    statistics_of: StatisticsOf,
    weights: FloatArray,
    present: npt.NDArray[np.bool_],
    n_workers: int,
) -> FloatArray:
    """Return the sums of the statistics of each group and, behind them, of the weights."""
    sums, n_added = np.empty((0, 0)), 0
    for start in range(0, len(weights), _ROWS_PER_STEP):
        rows = slice(start, min(start + _ROWS_PER_STEP, len(weights)))
        here = present[rows]
        if not here.all():
            part, weight = statistics_of(rows)[here], weights[rows][here]
        else:
            part, weight = statistics_of(rows), weights[rows]
        if start == 0:
            sums = np.zeros((len(groups), part.shape[1] + 1))
        groups.add_up(n_added, part, weight, sums, n_workers)
        n_added += len(part)
    return sums
