"""Distinct rows of codes with their added-up statistics: all that the mathematics sees of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError
from bcart.grid import CodeArray, Kind, add_up
from bcart.parse import FloatArray, as_floats, as_weights

MAX_WEIGHT = 1e30  # beyond, the tenth power of a count overflows
_COLUMNS_PER_STEP = 4


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
        object.__setattr__(self, "codes", _as_codes(codes))
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
        statistics: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        kinds: Sequence[Kind] | None = None,
    ) -> Cells:
        """Add up rows with equal codes; rows of weight zero are absent.

        Parameters
        ----------
        codes : array of shape (n_rows, n_features)
        statistics : array of shape (n_rows, n_statistics)
            Statistics of each row alone, for classification a 1 in the column of its class.
        sample_weight : array of shape (n_rows,), optional
        kinds : sequence of {"numeric", "optional", "nominal"}, optional
        """
        row_codes, row_statistics = _as_codes(codes), as_floats(statistics, "statistics")
        if row_statistics.ndim != 2 or len(row_statistics) != len(row_codes) or row_statistics.shape[1] == 0:
            raise InvalidDataError(f"{len(row_codes)} rows need as many statistics, got shape {row_statistics.shape}")
        weights = as_weights(sample_weight, len(row_codes))
        present = weights > 0
        if not present.any():
            raise InvalidDataError("there are no rows with a positive weight")
        row_codes, row_statistics, weights = row_codes[present], row_statistics[present], weights[present]
        _, first, group = np.unique(_group(row_codes), return_index=True, return_inverse=True)
        sums = [add_up(column * weights, group) for column in row_statistics.T]
        return cls(row_codes[first], np.stack(sums, axis=1), add_up(weights, group), kinds)

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
    if len(np.unique(_group(codes))) < len(codes):
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
    if array.min() < 0 or array.max() > 255:
        raise InvalidDataError(f"codes must lie between 0 and 255, got {array.min()} to {array.max()}")
    return np.array(array, dtype=np.uint8, order="C")


def _group(codes: CodeArray) -> npt.NDArray[np.intp]:
    """Number rows so that equal rows get equal numbers, in lexicographic order."""
    group = np.zeros(len(codes), dtype=np.intp)
    for start in range(0, codes.shape[1], _COLUMNS_PER_STEP):
        packed = group.astype(np.uint64)
        for column in codes[:, start : start + _COLUMNS_PER_STEP].T:
            packed = packed << np.uint64(8) | column
        group = np.unique(packed, return_inverse=True)[1].ravel()
    return group
