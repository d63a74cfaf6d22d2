"""From columns of numbers to a few ordered bins a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray, as_floats, as_table, as_weights, as_whole, name_features

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

    def __post_init__(self) -> None:
        for name in ("lowest", "highest"):
            bounds = tuple(as_floats(values, name) for values in getattr(self, name))
            for values in bounds:
                values.flags.writeable = False
            object.__setattr__(self, name, bounds)
        if not len(self.lowest) == len(self.highest) == len(self.feature_names):
            raise InvalidModelError("a grid needs the lowest and highest values of the bins of each named feature")

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
        max_bins = as_whole(max_bins, "max_bins", f"a whole number from 2 to {MAX_BINS}", 2, MAX_BINS)
        if binning not in ("uniform", "quantile"):
            raise InvalidModelError(f"binning={binning!r} must be 'uniform' or 'quantile'")
        names = name_features(rows.shape[1], feature_names)
        weights = as_weights(sample_weight, len(rows))
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

    def thresholds(
        self, feature: npt.NDArray[np.integer], lower: npt.NDArray[np.integer], upper: npt.NDArray[np.integer]
    ) -> FloatArray:
        """Return the thresholds of many tests at once; NaN where `feature` is negative."""
        first, highest, lowest = self._flat
        is_test = feature >= 0
        offset = first[feature[is_test]]
        result = np.full(len(feature), np.nan)
        result[is_test] = _midpoints(highest[offset + lower[is_test]], lowest[offset + upper[is_test]])
        return result

    @cached_property
    def _flat(self) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray]:
        """The bounds of all features one behind the other, and where each begins."""
        return np.cumsum([0, *self.n_bins]), np.concatenate(self.highest), np.concatenate(self.lowest)

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


def add_up(values: FloatArray, group: npt.NDArray[np.integer]) -> FloatArray:
    """Sum the values of each group 0, 1, ..."""
    return np.asarray(np.bincount(group, weights=values), dtype=np.float64)


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
