"""From the columns of a table to a few codes a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.limits import Limits
from bcart.memory import within_memory
from bcart.parse import (
    FloatArray,
    Unchangeable,
    as_floats,
    as_tuple,
    as_weights,
    as_whole,
    name_features,
    present_rows,
    refusing,
)
from bcart.tables import UNSEEN, Labels, Nominal, Table, as_categories, describe_labels, read_table, refuse_infinite

CodeArray = npt.NDArray[np.uint8]
BoolArray = npt.NDArray[np.bool_]
Binning = Literal["uniform", "quantile"]
Kind = Literal["numeric", "optional", "nominal"]

MAX_BINS = 255  # and one code for missing values
_VALUES_AT_ONCE = 2**18  # there may be millions, and their bins are found without more memory


@within_memory()
@dataclass(frozen=True, eq=False)
class Grid(Unchangeable):
    """The bins of every feature.

    A bin is known by the lowest and the highest value observed in it; every bin holds at least one. A feature with at
    most `max_bins` distinct values has one bin a value. Nominal features have one bin a label. Where values are
    missing, code 0 stands for them, and the bins follow. Encoding is the only place where bcart loses information.

    Parameters
    ----------
    lowest, highest : tuple of arrays, one a feature
        The smallest and the largest observed value of each bin, bins in ascending order; for nominal features the
        places of the labels.
    feature_names : tuple of str
    categories : tuple, one entry a feature
        The labels of a nominal feature, None for a numeric one.
    has_missing : tuple of bool, one a feature

    Examples
    --------
    >>> grid = Grid.from_data([[1.0], [2.0], [4.0]])
    >>> grid.encode([[0.0], [2.9], [3.1]]).ravel().tolist()
    [0, 1, 2]
    >>> grid.threshold(feature=0, lower=0, upper=2)
    2.5
    >>> Grid.from_data([["red"], [None], ["blue"]], categorical_features=[0]).encode([["red"], [None]]).ravel().tolist()
    [2, 0]
    """

    lowest: tuple[FloatArray, ...]
    highest: tuple[FloatArray, ...]
    feature_names: tuple[str, ...]
    categories: tuple[Labels | None, ...] = ()
    has_missing: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        names = as_tuple(self.feature_names, "feature_names")
        n_features = len(names)
        object.__setattr__(self, "feature_names", names)
        for name in ("lowest", "highest"):
            bounds = tuple(as_floats(values, name) for values in as_tuple(getattr(self, name), name))
            for values in bounds:
                values.flags.writeable = False
            object.__setattr__(self, name, bounds)
        object.__setattr__(self, "categories", as_categories(self.categories, n_features))
        has_missing = as_tuple(self.has_missing, "has_missing")
        object.__setattr__(self, "has_missing", tuple(map(bool, has_missing)) or (False,) * n_features)
        parts = (self.lowest, self.highest, self.categories, self.has_missing)
        if any(len(part) != n_features for part in parts):
            raise InvalidModelError("a grid needs the lowest and highest values of the bins of each named feature")
        for bins in zip(self.feature_names, self.lowest, self.highest, self.categories, strict=True):
            _check_bins(*bins)

    @classmethod
    def from_data(
        cls,
        X: Any,
        max_bins: int = 10,
        binning: Binning = "uniform",
        *,
        categorical_features: Nominal = "from_dtype",
        feature_names: Sequence[str] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> Grid:
        """Choose the bins for the columns of `X`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        max_bins : int
            Most bins a numeric feature may have, 2 to 255.
        binning : {"uniform", "quantile"}
            How to cut a feature with more distinct values: into bins of equal width, or of about equal weight.
        categorical_features : "from_dtype", or a list of column indices, names, or one truth value a column
            Which features are nominal, see `BayesianTreeClassifier`.
        feature_names : sequence of str, optional
        sample_weight : array of shape (n_rows,), optional
            Rows of weight zero count as absent; quantiles are those of the weighted rows.
        n_jobs : int, optional
            Threads, see `Limits`.
        """
        table = read_table(X, categorical_features, feature_names)
        weights = as_weights(sample_weight, table.n_rows)
        return cls.from_table(table, max_bins, binning, weights, Limits(n_jobs=n_jobs).n_workers)

    @classmethod
    def from_table(cls, table: Table, max_bins: int, binning: Binning, weights: FloatArray, n_workers: int = 1) -> Grid:
        """Choose the bins for the columns of a table that has been read."""
        max_bins = as_whole(max_bins, "max_bins", f"a whole number from 2 to {MAX_BINS}", 2, MAX_BINS)
        if binning not in ("uniform", "quantile"):
            raise InvalidModelError(f"binning={binning!r} must be 'uniform' or 'quantile'")
        present = present_rows(weights)
        if present is not None:
            table, weights = table.take(present), weights[present]
        categories = tuple(column.labels() if column.is_nominal else None for column in table.columns)

        def column(feature: int) -> FloatArray:
            return table.columns[feature].numbers(categories[feature])

        surveys = [_core.survey(list(map(column, some)), max_bins, n_workers) for some in table.read_together]
        has_missing, has_many, distinct = zip(*chain.from_iterable(surveys), strict=True)
        if not np.isfinite(np.concatenate(distinct)).all():
            refuse_infinite(table.names, map(column, range(len(distinct))))
        values = [
            np.array(few) if labels is None else np.arange(len(labels), dtype=np.float64)
            for few, labels in zip(distinct, categories, strict=True)
        ]
        bounds = [(each, each) for each in values]
        cut = [feature for feature, many in enumerate(has_many) if many and categories[feature] is None]
        for together in table.read_together:
            some = [feature for feature in together if feature in cut]
            if binning == "uniform":
                found = _uniform_bounds(list(map(column, some)), [values[i] for i in some], max_bins, n_workers)
            else:
                found = [_quantile_bounds(column(i), weights, max_bins) for i in some]
            for feature, bound in zip(some, found, strict=True):
                bounds[feature] = bound
        lowest, highest = zip(*bounds, strict=True)
        return cls(lowest, highest, table.names, categories, has_missing)

    @classmethod
    def of_codes(
        cls, n_bins: Sequence[int], kinds: Sequence[Kind] | None = None, feature_names: Sequence[str] | None = None
    ) -> Grid:
        """Return the grid of data that are codes already: bin k holds the value k, and missing values come before."""
        meaning = f"a whole number from 1 to {MAX_BINS + 1} for each feature"
        n_bins = [as_whole(n, "n_bins", meaning, 1, MAX_BINS + 1) for n in as_tuple(n_bins, "n_bins")]
        kinds = as_kinds(kinds, len(n_bins))
        has_missing = tuple(kind == "optional" for kind in kinds)
        values = tuple(np.arange(n - missing, dtype=np.float64) for n, missing in zip(n_bins, has_missing, strict=True))
        labels = tuple(tuple(range(n)) if kind == "nominal" else None for n, kind in zip(n_bins, kinds, strict=True))
        return cls(values, values, name_features(len(values), feature_names), labels, has_missing)

    @property
    def n_bins(self) -> tuple[int, ...]:
        """Number of codes of each feature, that for missing values included."""
        return tuple(len(low) + missing for low, missing in zip(self.lowest, self.has_missing, strict=True))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What the codes of each feature mean: ordered bins, the same with code 0 for missing values, or labels."""
        return tuple(
            "nominal" if labels is not None else "optional" if missing else "numeric"
            for labels, missing in zip(self.categories, self.has_missing, strict=True)
        )

    def threshold(self, feature: int, lower: int, upper: int) -> float:
        """Return the threshold of a test in a box where the bins of two codes are neighbours.

        It lies halfway between the largest value observed in the one and the smallest in the other.
        """
        return float(self.thresholds(feature, np.array([lower]), np.array([upper]))[0])

    def thresholds(self, feature: int, lower: npt.NDArray[np.integer], upper: npt.NDArray[np.integer]) -> FloatArray:
        """Return the thresholds of many tests on one feature."""
        first = int(self.has_missing[feature])
        return _midpoints(self.highest[feature][lower - first], self.lowest[feature][upper - first])

    def columns(self, X: Any) -> list[FloatArray]:
        """Return columns of numbers: NaN where values are missing, labels by their places, -1 for unknown ones.

        Some may be infinite, see `Column`.
        """
        return self.table(X).numbers(self.categories)

    def table(self, X: Any) -> Table:
        """Read a table that has the features of the grid."""
        return read_table(X, [labels is not None for labels in self.categories], self.feature_names)

    def encode(self, X: Any, n_jobs: int | None = None) -> CodeArray:
        """Map rows to codes. A value in a gap goes to the bin that is nearer, one outside to the outermost."""
        return self.encode_table(self.table(X), Limits(n_jobs=n_jobs).n_workers)

    def encode_table(self, table: Table, n_workers: int = 1) -> CodeArray:
        """Map the rows of a table that has been read to codes."""
        if table.is_plain:
            return self._encode_part(table, slice(None), 0, n_workers)
        codes, n_before = np.empty((table.n_taken, len(table.columns)), dtype=np.uint8), 0
        for part in table.parts():
            some = self._encode_part(table, part, n_before, n_workers)
            codes[n_before : n_before + len(some)] = some
            n_before += len(some)
        return codes

    @property
    def cuts(self) -> list[FloatArray]:
        """What separates the bins of each feature: one at a cut belongs to the upper bin. Of labels the places."""
        return [_midpoints(high[:-1], low[1:]) for low, high in zip(self.lowest, self.highest, strict=True)]

    def _encode_part(self, table: Table, part: slice, n_before: int, n_workers: int) -> CodeArray:
        columns = table.numbers(self.categories, part)
        codes, has_missing, has_infinite = _core.encode(columns, self.cuts, self.has_missing, n_workers)
        if any(has_infinite):
            refuse_infinite(self.feature_names, table.numbers(self.categories))
        for feature, column in enumerate(columns):
            if has_missing[feature] > self.has_missing[feature] or self.categories[feature] is not None:
                self._refuse_unknown(feature, column, n_before)
        return np.asarray(codes).reshape(-1, len(columns))

    def _refuse_unknown(self, feature: int, column: FloatArray, n_before: int) -> None:
        """Missing values and labels that the grid was not made from have no code."""
        name, labels = self.feature_names[feature], self.categories[feature]
        if not self.has_missing[feature] and np.isnan(column).any():
            row = n_before + int(np.flatnonzero(np.isnan(column))[0])
            raise InvalidDataError(
                f"column {name!r} is missing in row {row}, but had no missing value in the grid's data; make the grid "
                "from data that have some, or leave the row out"
            )
        if labels is not None and (column == UNSEEN).any():
            row = n_before + int(np.flatnonzero(column == UNSEEN)[0])
            raise InvalidDataError(
                f"column {name!r} has a category in row {row} that the grid does not know; it knows "
                f"{describe_labels(labels)}"
            )

    def codes_on_the_left(
        self, feature: int, codes: npt.NDArray[np.integer], threshold: float, category: int, missing_left: bool
    ) -> BoolArray | None:
        """Tell for each code whether a tree's test sends it left; None if the threshold cuts through a bin."""
        bins = codes.astype(np.intp) - self.has_missing[feature]
        if self.categories[feature] is not None:
            is_left = bins == category if category >= 0 else np.zeros(len(bins), dtype=np.bool_)
        else:
            known = bins[bins >= 0]
            is_left = np.zeros(len(bins), dtype=np.bool_)
            is_left[bins >= 0] = self.highest[feature][known] < threshold
            if not np.array_equal(is_left[bins >= 0], self.lowest[feature][known] < threshold):
                return None
        return np.where(bins < 0, missing_left, is_left)


def as_kinds(kinds: Sequence[Kind] | None, n_features: int) -> tuple[Kind, ...]:
    """Return what the codes of each feature mean, by default ordered bins."""
    with refusing("kinds must be a sequence"):
        known: tuple[Any, ...] = ("numeric",) * n_features if kinds is None else tuple(kinds)
    if len(known) != n_features or any(kind not in get_args(Kind) for kind in known):
        raise InvalidDataError(
            f"kinds={kinds!r} must be one of {', '.join(get_args(Kind))} for each of {n_features} features"
        )
    return known


def _ascend(lowest: FloatArray, highest: FloatArray) -> bool:
    """Tell whether bins are finite, and each above the one before."""
    ends = np.column_stack([lowest, highest]).ravel()
    is_ascending = np.isfinite(ends).all() and (np.diff(ends) >= 0).all() and (highest[:-1] < lowest[1:]).all()
    return bool(is_ascending)


def _check_bins(name: str, lowest: FloatArray, highest: FloatArray, labels: Labels | None) -> None:
    is_column = lowest.ndim == 1 and lowest.shape == highest.shape
    if not is_column or len(lowest) > MAX_BINS or not _ascend(lowest, highest):
        raise InvalidModelError(
            f"the bins of {name!r} must be at most {MAX_BINS}, one above the other, of finite values"
        )
    if labels is not None and len(labels) != len(lowest):
        raise InvalidModelError(f"{name!r} has {len(labels)} labels, but {len(lowest)} bins; it needs one a label")


def _uniform_bounds(
    columns: list[FloatArray], ranges: list[FloatArray], max_bins: int, n_workers: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the lowest and the highest value in each part of equal width that is not empty."""
    edges = [uniform_edges(low, high, max_bins) for low, high in ranges]
    found = [np.array(bounds) for bounds in _core.find_bounds(columns, edges, n_workers)]
    return [(low[low <= high], high[low <= high]) for low, high in found]


def uniform_edges(low: float, high: float, max_bins: int) -> FloatArray:
    """Return the edges between parts of equal width; a value at an edge belongs to the upper part."""
    fractions = np.arange(1, max_bins) / max_bins
    return np.asarray(np.maximum.accumulate(low * (1 - fractions) + high * fractions))


def _quantile_bounds(column: FloatArray, weights: FloatArray, max_bins: int) -> tuple[FloatArray, FloatArray]:
    values, weight_of = _core.weigh(column, None if (weights == 1).all() else weights)
    bins = quantile_bins(weight_of, max_bins)
    return values[bins.first], values[bins.last]


class QuantileBins(NamedTuple):
    """The bins that hold some values: their numbers, and where the first and the last value of each stand."""

    number: CodeArray
    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]


def quantile_bins(weights: FloatArray, max_bins: int, before: float = 0.0, total: float | None = None) -> QuantileBins:
    """Put each distinct value, given in ascending order by its weight, into the bin that the middle of it falls into.

    If they are some of many, `before` is the weight of those below, and `total` that of all.
    """
    weight_up_to = weights.copy()
    weight_up_to[:1] += before
    np.cumsum(weight_up_to, out=weight_up_to)
    total = weight_up_to[-1] if total is None else total
    numbers = np.empty(len(weights), dtype=np.uint8)
    for start in range(0, len(weights), _VALUES_AT_ONCE):
        some = slice(start, start + _VALUES_AT_ONCE)
        position = (weight_up_to[some] - weights[some] / 2) / total * max_bins + 1e-9
        numbers[some] = np.minimum(position, max_bins - 1)
    last = np.append(np.flatnonzero(numbers[1:] != numbers[:-1]), len(numbers) - 1)
    first = np.append(0, last[:-1] + 1)
    return QuantileBins(numbers[first], first, last)


def _midpoints(below: npt.ArrayLike, above: npt.ArrayLike) -> FloatArray:
    """Halfway, without overflow, and never at or under `below`, which has to stay on the left."""
    low, high = np.asarray(below, dtype=np.float64), np.asarray(above, dtype=np.float64)
    middle = low / 2 + high / 2
    return np.where((low < middle) & (middle <= high), middle, high)
