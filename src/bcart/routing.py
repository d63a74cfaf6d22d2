"""Which side of every test a row goes to, in the original units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.cached import cached_property
from bcart.grid import Grid
from bcart.parse import FloatArray
from bcart.questions import describe_test
from bcart.split_tests import Tests
from bcart.tables import Table, refuse_infinite

_MISSING = 0  # the position of a missing value; known ones follow
_FIRST_LABEL = 2  # behind the position of labels that are not known

Positions = npt.NDArray[np.uint16]  # 255 bins have less than 2**15 pairs, each with a threshold


@dataclass(frozen=True, eq=False)
class Routing:
    """The tests of a graph, as rows in the original units meet them.

    On each feature the thresholds of all tests cut the numbers into positions; labels are positions of their own. A
    test sends the positions of one interval left. Rows of equal positions are alike to every tree.
    """

    grid: Grid
    tests: Tests

    @cached_property
    def threshold(self) -> FloatArray:
        """The threshold of each test: NaN if it asks for a label, minus infinity if it asks for missing values."""
        threshold = np.full(len(self.tests.form), np.nan)
        for feature in range(len(self.grid.feature_names)):
            here = (self.tests.feature == feature) & self._has_threshold
            lower, upper = self.tests.lower[here].astype(np.intp), self.tests.upper[here].astype(np.intp)
            threshold[here] = self.grid.thresholds(feature, lower, upper)
        threshold[self.asks_for_missing] = -np.inf
        return threshold

    @cached_property
    def category(self) -> npt.NDArray[np.int32]:
        """The place of the label that each test asks for, or -1."""
        asks = (self.tests.form == _core.Form.EQUALS) & ~self.asks_for_missing
        first = np.array(self.grid.has_missing, dtype=np.int64)[self.tests.feature]
        return np.where(asks, self.tests.lower - first, -1).astype(np.int32)

    @cached_property
    def asks_for_missing(self) -> npt.NDArray[np.bool_]:
        """Whether each test asks for missing values: of numbers, or as one of the labels."""
        is_label = (self.tests.form == _core.Form.EQUALS) & (self.tests.lower == 0)
        has_missing = np.array(self.grid.has_missing, dtype=np.bool_)[self.tests.feature]
        return np.asarray((self.tests.form == _core.Form.IS_MISSING) | (is_label & has_missing))

    def describe(self, number: int) -> str:
        """Write the question that a test asks."""
        feature = int(self.tests.feature[number])
        name, labels = self.grid.feature_names[feature], self.grid.categories[feature]
        missing_left = bool(self.tests.form[number] == _core.Form.MISSING_LEFT)
        return describe_test(name, labels, float(self.threshold[number]), int(self.category[number]), missing_left)

    def positions(self, table: Table, part: slice, n_workers: int = 1) -> Positions:
        """Return the position of some rows of a table on each feature."""
        columns = table.numbers(self.grid.categories, part)
        first = [_MISSING + 1] * len(columns)
        positions, _, has_infinite = _core.encode_widely(columns, self.cuts, first, n_workers)
        if any(has_infinite):
            refuse_infinite(self.grid.feature_names, table.numbers(self.grid.categories))
        return np.asarray(positions).reshape(-1, len(columns))

    def queries(self, positions: npt.NDArray[np.uint32], box_weights: FloatArray | None) -> _core.Queries:
        """Return what the core asks of rows at these positions; box weights are needed if `has_missing`."""
        first, last = self._intervals
        has_learned = (self.tests.form != _core.Form.BELOW).astype(np.uint8)
        return _core.Queries(positions, self.tests.feature, first, last, has_learned, box_weights)

    @staticmethod
    def has_missing(positions: npt.NDArray[np.unsignedinteger]) -> bool:
        """Tell whether some row has a missing value."""
        return bool((positions == _MISSING).any())

    @property
    def _has_threshold(self) -> npt.NDArray[np.bool_]:
        return np.isin(self.tests.form, [_core.Form.EQUALS, _core.Form.IS_MISSING], invert=True)

    @cached_property
    def cuts(self) -> list[FloatArray]:
        """The distinct thresholds on each feature, in ascending order; of labels their places."""
        return [
            np.unique(self.threshold[self._has_threshold & (self.tests.feature == feature)])
            if labels is None
            else np.arange(len(labels), dtype=np.float64)
            for feature, labels in enumerate(self.grid.categories)
        ]

    @cached_property
    def _intervals(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """The first and the last position that each test sends left."""
        first = np.where(self.tests.form == _core.Form.MISSING_LEFT, _MISSING, 1).astype(np.uint32)
        last = np.zeros_like(first)
        for feature, cuts in enumerate(self.cuts):
            here = self._has_threshold & (self.tests.feature == feature)
            last[here] = np.searchsorted(cuts, self.threshold[here]) + 1
        is_label = self.category >= 0
        first[is_label] = last[is_label] = self.category[is_label] + _FIRST_LABEL
        first[self.asks_for_missing] = last[self.asks_for_missing] = _MISSING
        return first, last
