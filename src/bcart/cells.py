"""Distinct rows of codes with their added-up statistics: all that the mathematics sees of the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.cached import cached_property
from bcart.errors import InvalidDataError, MemoryBudgetError
from bcart.grid import CodeArray, Kind, as_kinds
from bcart.limits import Limits, format_bytes, parse_bytes
from bcart.memory import within_memory
from bcart.parse import (
    MAX_WEIGHT,
    FloatArray,
    Unchangeable,
    as_column,
    as_floats,
    as_weights,
    as_whole,
    present_rows,
    refusing,
)

_MOST_LABELS = 2**31
_ROWS_PER_STEP = 2**18  # whose statistics are made and added, then forgotten
_VALUES_AT_ONCE = 2**18  # that are moved
_REMEDY = "lower max_bins, use fewer features, or raise max_memory"
_REMEDY_OF_LABELS = f"put classes together, {_REMEDY}; if the target is a number, use BayesianTreeRegressor"
_MANY_LABELS = 20  # so that a number may have been meant

StatisticsOf = Callable[[slice], FloatArray]


@within_memory()
@dataclass(frozen=True, eq=False, init=False)
class Cells(Unchangeable):
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
        self._hold(np.array(_as_codes(codes)), sums, weight, kinds)
        if len(_core.group_rows(self.codes, 1)[0]) < self.n_cells:
            raise InvalidDataError("two cells have the same codes; add up rows with Cells.from_rows")

    def _hold(
        self, codes: CodeArray, statistics: FloatArray, weights: FloatArray, kinds: Sequence[Kind] | None
    ) -> None:
        """Take arrays that nobody else has, of distinct codes."""
        _check_cells(codes, statistics, weights)
        for name, array in (("codes", codes), ("statistics", statistics), ("weights", weights)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "kinds", as_kinds(kinds, codes.shape[1]))

    @classmethod
    def of_arrays(
        cls, codes: CodeArray, statistics: FloatArray, weights: FloatArray, kinds: Sequence[Kind] | None = None
    ) -> Cells:
        """Return cells of distinct codes that hold these arrays themselves: they cannot be changed from here on."""
        cells = cls.__new__(cls)
        cells._hold(codes, statistics, weights, kinds)
        return cells

    @classmethod
    def from_rows(
        cls,
        codes: npt.ArrayLike,
        statistics: npt.ArrayLike | StatisticsOf,
        sample_weight: npt.ArrayLike | None = None,
        kinds: Sequence[Kind] | None = None,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
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
        max_memory : int or str, optional
            Bytes that the cells may take: if they do not fit, their statistics are not made, and a
            `MemoryBudgetError` says so. By default there is no limit.
        """
        row_codes, n_workers = _as_codes(codes), Limits(n_jobs=n_jobs).n_workers
        statistics_of = statistics if callable(statistics) else _sliced(statistics, len(row_codes))
        weights = as_weights(sample_weight, len(row_codes))
        present = present_rows(weights)
        row_codes = row_codes if present is None else np.compress(present, row_codes, axis=0)
        groups, cell_codes = _core.group_rows(row_codes, n_workers)
        room = _Room(len(groups), row_codes.shape[1], max_memory, _REMEDY)
        sums = _add_up(groups, statistics_of, weights, present, n_workers, room)
        return cls._of_groups(cell_codes, sums, kinds)

    @classmethod
    def from_labels(
        cls,
        codes: npt.ArrayLike,
        labels: npt.ArrayLike,
        n_labels: int,
        sample_weight: npt.ArrayLike | None = None,
        kinds: Sequence[Kind] | None = None,
        n_jobs: int | None = None,
        max_memory: int | str | None = None,
    ) -> Cells:
        """Count the labels of rows with equal codes: `from_rows` with a 1 in the column of each row's class.

        Parameters
        ----------
        codes, sample_weight, kinds, n_jobs, max_memory
            As in `from_rows`.
        labels : array of shape (n_rows,)
            The number of each row's class: 0, 1, ... below `n_labels`.
        n_labels : int

        Examples
        --------
        >>> Cells.from_labels([[0], [1], [0]], [1, 0, 1], n_labels=2).statistics.tolist()
        [[0.0, 2.0], [1.0, 0.0]]
        """
        row_codes, n_workers = _as_codes(codes), Limits(n_jobs=n_jobs).n_workers
        row_labels = _as_label_numbers(labels, len(row_codes))
        n_labels = as_whole(n_labels, "n_labels", "the number of classes, at least 1", least=1, most=_MOST_LABELS)
        weights = as_weights(sample_weight, len(row_codes))
        present = present_rows(weights)
        if present is not None:
            _refuse_other_labels(np.asarray(labels), n_labels)
            row_codes = np.compress(present, row_codes, axis=0)  # three times as fast as row_codes[present]
            row_labels, weights = np.compress(present, row_labels), np.compress(present, weights)
        groups, cell_codes = _core.group_rows(row_codes, n_workers)
        remedy = _REMEDY_OF_LABELS if n_labels > _MANY_LABELS else _REMEDY
        sums = _Room(len(groups), row_codes.shape[1], max_memory, remedy, "classes").zeros(n_labels)
        try:
            groups.count_labels(row_labels, weights, sums, n_workers)
        except IndexError:
            _refuse_other_labels(np.asarray(labels), n_labels)
            raise
        return cls._of_groups(cell_codes, sums, kinds)

    @classmethod
    def _of_groups(cls, codes: CodeArray, sums: FloatArray, kinds: Sequence[Kind] | None) -> Cells:
        return cls.of_arrays(codes.reshape(len(sums), -1), *_apart(sums), kinds)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.codes)

    @property
    def n_bytes(self) -> int:
        """Bytes that the arrays take."""
        return self.codes.nbytes + self.statistics.nbytes + self.weights.nbytes

    @cached_property
    def n_bins(self) -> tuple[int, ...]:
        """Number of codes of each feature."""
        return tuple(int(column.max()) + 1 for column in self.codes.T)


class _Room(NamedTuple):
    """What is known of cells before their statistics are made."""

    n_cells: int
    n_features: int
    max_memory: int | str | None
    remedy: str
    named: str = "statistics"

    def zeros(self, n_statistics: int) -> FloatArray:
        """Return zeros for the statistics of each cell and, behind them, its weight, if the cells fit into memory."""
        n_bytes = self.n_cells * (self.n_features + 8 * (n_statistics + 1))
        if self.max_memory is not None and n_bytes > parse_bytes(self.max_memory):
            raise MemoryBudgetError(
                f"the sums of {n_statistics:,} {self.named} in each of {self.n_cells:,} distinct rows of codes take "
                f"{format_bytes(n_bytes)}, more than max_memory={format_bytes(parse_bytes(self.max_memory))}; "
                f"{self.remedy}"
            )
        return np.zeros((self.n_cells, n_statistics + 1))


def _apart(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return all columns but the last, and the last, each contiguous, in the memory of the array, which they fill."""
    n_rows, width = sums.shape[0], sums.shape[1] - 1
    last, values = sums[:, -1].copy(), sums.reshape(-1)
    at_once = max(1, _VALUES_AT_ONCE // width)
    for start in range(0, n_rows, at_once):  # what is written lies before all that is still to be read
        part = sums[start : start + at_once, :-1].copy()
        values[start * width : (start + len(part)) * width] = part.reshape(-1)
    values[n_rows * width :] = last
    return values[: n_rows * width].reshape(n_rows, width), values[n_rows * width :]


def _check_cells(codes: CodeArray, statistics: FloatArray, weights: FloatArray) -> None:
    is_table = statistics.ndim == 2 and statistics.shape[1] > 0 and len(statistics) == len(codes)
    if not is_table or weights.shape != (len(codes),):
        raise InvalidDataError(
            f"{len(codes)} cells need as many rows of statistics and as many weights, "
            f"got shapes {statistics.shape} and {weights.shape}"
        )
    extremes = statistics.min(), statistics.max()  # NaN if there is one
    if not np.isfinite(extremes).all() or not ((weights > 0) & (weights <= MAX_WEIGHT)).all():
        raise InvalidDataError(f"statistics of cells must be finite, their weights positive and at most {MAX_WEIGHT:g}")


def _as_codes(codes: npt.ArrayLike) -> CodeArray:
    with refusing("codes must be a table of whole numbers"):
        array = np.asarray(codes)
    if array.ndim != 2 or 0 in array.shape or not np.issubdtype(array.dtype, np.integer):
        raise InvalidDataError(f"codes must be a table of whole numbers, got shape {array.shape} of {array.dtype}")
    if array.dtype != np.uint8 and (array.min() < 0 or array.max() > 255):
        raise InvalidDataError(f"codes must lie between 0 and 255, got {array.min()} to {array.max()}")
    return np.asarray(array, dtype=np.uint8, order="C")


def _as_label_numbers(labels: npt.ArrayLike, n_rows: int) -> npt.NDArray[Any]:
    """Return one whole number a row, as the core reads them; it is the one to notice that some are too large."""
    numbers = as_column(labels, "labels")
    if numbers.shape != (n_rows,) or not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidDataError(
            f"{n_rows} rows need as many labels, whole numbers, got shape {numbers.shape} of {numbers.dtype}"
        )
    return np.asarray(numbers, dtype=np.uint8 if numbers.dtype == np.uint8 else np.int64, order="C")


def _refuse_other_labels(labels: npt.NDArray[np.integer], n_labels: int) -> None:
    if labels.min() < 0 or labels.max() >= n_labels:
        raise InvalidDataError(f"labels must lie between 0 and {n_labels - 1}, got {labels.min()} to {labels.max()}")


def _sliced(statistics: npt.ArrayLike, n_rows: int) -> StatisticsOf:
    return _as_statistics(statistics, n_rows).__getitem__


def _as_statistics(statistics: npt.ArrayLike, n_rows: int, n_columns: int | None = None) -> FloatArray:
    rows = as_floats(statistics, "statistics", copy=False)
    if rows.ndim != 2 or len(rows) != n_rows or rows.shape[1] != (n_columns or max(1, rows.shape[1])):
        raise InvalidDataError(
            f"{n_rows} rows need as many statistics, in {n_columns or 'one or more'} columns, got shape {rows.shape}"
        )
    return rows


def _add_up(
    groups: _core.Groups,
    statistics_of: StatisticsOf,
    weights: FloatArray,
    present: npt.NDArray[np.bool_] | None,
    n_workers: int,
    room: _Room,
) -> FloatArray:
    """Return the sums of the statistics of each group and, behind them, of the weights."""
    sums, n_added, n_columns = np.empty((0, 0)), 0, None
    for start in range(0, len(weights), _ROWS_PER_STEP):
        rows = slice(start, min(start + _ROWS_PER_STEP, len(weights)))
        part, weight = _as_statistics(statistics_of(rows), rows.stop - start, n_columns), weights[rows]
        if present is not None:
            part, weight = part[present[rows]], weight[present[rows]]
        if n_columns is None:
            n_columns = part.shape[1]
            sums = room.zeros(n_columns)
        groups.add_up(n_added, part, weight, sums, n_workers)
        n_added += len(part)
    return sums
