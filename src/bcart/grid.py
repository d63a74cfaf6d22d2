"""From columns of numbers to a few ordered bins a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError, InvalidModelError

FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.uint8]
Binning = Literal["uniform", "quantile"]

MAX_BINS = 255


@dataclass(frozen=True, eq=False)
class Grid:
    """The bins of every feature.

    A bin is known by the lowest and the highest value observed in it; every bin holds at least one. A feature with at
    most `max_bins` distinct values has one bin a value. Encoding is the only place where bcart loses information.

    Parameters
    ----------
    lowest, highest : tuple of arrays, one a feature
        The smallest and the largest observed value of each bin, bins in ascending order.
    feature_names : tuple of str

    Examples
    --------
    >>> grid = Grid.from_data([[1.0], [2.0], [4.0]])
    >>> grid.encode([[0.0], [2.9], [3.1]]).ravel().tolist()
    [0, 1, 2]
    >>> grid.threshold(feature=0, lower=0, upper=2)
    2.5
    """

    lowest: tuple[FloatArray, ...]
    highest: tuple[FloatArray, ...]
    feature_names: tuple[str, ...]

    @classmethod
    def from_data(
        cls,
        X: npt.ArrayLike,
        max_bins: int = 10,
        binning: Binning = "uniform",
        *,
        feature_names: Sequence[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Grid:
        """Choose the bins for the columns of `X`.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        max_bins : int
            Most bins a feature may have, 2 to 255.
        binning : {"uniform", "quantile"}
            How to cut a feature with more distinct values: into bins of equal width, or of about equal weight.
        feature_names : sequence of str, optional
        sample_weight : array of shape (n_rows,), optional
            Rows of weight zero count as absent; quantiles are those of the weighted rows.
        """
        rows = as_table(X, feature_names)
        _check_binning(max_bins, binning)
        names = name_features(rows.shape[1], feature_names)
        weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        rows, weights = rows[weights > 0], weights[weights > 0]
        if len(rows) == 0:
            raise InvalidDataError("there are no rows with a positive weight to choose bins from")
        bounds = [_bin_bounds(column, weights, max_bins, binning) for column in rows.T]
        return cls(tuple(low for low, _ in bounds), tuple(high for _, high in bounds), names)

    @classmethod
    def of_codes(cls, n_bins: Sequence[int], feature_names: Sequence[str] | None = None) -> Grid:
        """Return the grid of data that are codes already: bin k holds the value k."""
        values = tuple(np.arange(n, dtype=np.float64) for n in n_bins)
        return cls(values, values, name_features(len(values), feature_names))

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of bins of each feature."""
        return tuple(len(low) for low in self.lowest)

    def threshold(self, feature: int, lower: int, upper: int) -> float:
        """Return the threshold of a test in a box where bins `lower` and `upper` are neighbours.

        It lies halfway between the largest value observed in the one and the smallest in the other.
        """
        return float(_midpoints(self.highest[feature][lower], self.lowest[feature][upper]))

    def encode(self, X: npt.ArrayLike) -> CodeArray:
        """Map rows to bin codes. A value in a gap goes to the bin that is nearer, one outside to the outermost."""
        rows = as_table(X, self.feature_names)
        codes = np.empty(rows.shape, dtype=np.uint8)
        for feature, column in enumerate(rows.T):
            cuts = _midpoints(self.highest[feature][:-1], self.lowest[feature][1:])
            codes[:, feature] = np.searchsorted(cuts, column, side="right")
        return codes

    def is_below(self, feature: int, codes: npt.NDArray[np.integer], threshold: float) -> npt.NDArray[np.bool_] | None:
        """Tell for each code whether its bin lies below a threshold; None if the threshold cuts through one of them."""
        below = self.highest[feature][codes] < threshold
        return below if np.array_equal(below, self.lowest[feature][codes] < threshold) else None


def as_table(X: npt.ArrayLike, feature_names: Sequence[str] | None = None) -> FloatArray:
    """Return `X` as a finite table of floats with at least one row and column, or say what is wrong with it."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"X must be a table of numbers: {error}; encode text as numbers first") from None
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidDataError(f"X must have rows and columns, but its shape is {rows.shape}")
    if feature_names is not None and len(feature_names) != rows.shape[1]:
        raise InvalidDataError(
            f"X has {rows.shape[1]} columns, expected {len(feature_names)}: {', '.join(feature_names)}"
        )
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        value = "NaN" if np.isnan(rows[row, column]) else str(rows[row, column])
        name = name_features(rows.shape[1], feature_names)[column]
        raise InvalidDataError(f"column {name!r} contains {value} (row {row}); fill in or drop NaN and infinite values")
    return rows


def add_up(values: FloatArray, group: npt.NDArray[np.integer]) -> FloatArray:
    """Sum the values of each group 0, 1, ..."""
    return np.asarray(np.bincount(group, weights=values), dtype=np.float64)


def name_features(n_features: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the given names as text, or ``x0, x1, ...``."""
    return tuple(f"x{i}" for i in range(n_features)) if names is None else tuple(str(name) for name in names)


def _check_binning(max_bins: int, binning: str) -> None:
    if isinstance(max_bins, bool) or not isinstance(max_bins, (int, np.integer)) or not 2 <= max_bins <= MAX_BINS:
        raise InvalidModelError(f"max_bins={max_bins!r} must be a whole number from 2 to {MAX_BINS}")
    if binning not in ("uniform", "quantile"):
        raise InvalidModelError(f"binning={binning!r} must be 'uniform' or 'quantile'")


def _bin_bounds(column: FloatArray, weights: FloatArray, max_bins: int, binning: str) -> tuple[FloatArray, FloatArray]:
    values, inverse = np.unique(column, return_inverse=True)
    if len(values) <= max_bins:
        return values, values
    if binning == "uniform":
        codes = _uniform_codes(values, max_bins)
    else:
        codes = _quantile_codes(add_up(weights, inverse.ravel()), max_bins)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    return values[first], values[last]


def _uniform_codes(values: FloatArray, max_bins: int) -> npt.NDArray[np.intp]:
    fractions = np.arange(1, max_bins) / max_bins
    edges = values[0] * (1 - fractions) + values[-1] * fractions
    return np.searchsorted(edges, values, side="right")


def _quantile_codes(weights: FloatArray, max_bins: int) -> npt.NDArray[np.intp]:
    """Put each distinct value into the bin that the middle of its weight falls into."""
    ends = np.cumsum(weights)
    middles = (ends - weights / 2) / ends[-1]
    return np.asarray(np.minimum((middles * max_bins + 1e-9).astype(np.intp), max_bins - 1))


def _midpoints(below: npt.ArrayLike, above: npt.ArrayLike) -> FloatArray:
    """Halfway, without overflow, and never at or under `below`, which has to stay on the left."""
    low, high = np.asarray(below, dtype=np.float64), np.asarray(above, dtype=np.float64)
    middle = low / 2 + high / 2
    return np.where((low < middle) & (middle <= high), middle, high)
