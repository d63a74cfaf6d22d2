"""The steps of a prediction along one feature, and where they are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.parse import FloatArray
from bcart.posterior import Posterior
from bcart.routing import Routing

MISSING = "missing"
SLOT = 0.07  # width of the place for missing values beside numbers, as a share of theirs
FILLED = 0.7  # share of a slot over which rows are spread


@dataclass(frozen=True, eq=False)
class Scale:
    """One feature as an axis: steps between thresholds, and slots for labels and for missing values.

    To all trees, two rows that differ only within a step are alike.

    Attributes
    ----------
    name : str
    edges : array of shape (n_steps + 1,)
        Between which steps lie; empty if the feature is nominal, or was always missing.
    values : array of shape (n_steps + n_slots,)
        A value within each step, then the place of each label; NaN for missing.
    slots : array of shape (n_slots,)
        The middle of each slot.
    slot_width : float
    slot_names : tuple of str
    """

    name: str
    edges: FloatArray
    values: FloatArray
    slots: FloatArray
    slot_width: float
    slot_names: tuple[str, ...]

    @classmethod
    def of(cls, posterior: Posterior, feature: int, max_steps: int) -> Scale:
        """Return the scale of a feature; beyond `max_steps` thresholds, some are left out evenly."""
        grid = posterior.grid
        name, has_missing = grid.feature_names[feature], grid.has_missing[feature]
        labels = grid.categories[feature] if len(grid.lowest[feature]) else ()
        if labels is not None:
            places = np.arange(len(labels) + has_missing, dtype=np.float64)
            values = np.where(places < len(labels), places, np.nan)
            return cls(name, np.empty(0), values, places, 1.0, (*map(str, labels), *[MISSING] * has_missing))
        edges = _edges(posterior, feature, max_steps)
        width = SLOT * (edges[-1] - edges[0])
        slots = np.array([edges[-1] + width] if has_missing else [])
        values = np.append((edges[:-1] + edges[1:]) / 2, np.full(len(slots), np.nan))
        return cls(name, edges, values, slots, width, (MISSING,) * has_missing)

    @property
    def n_steps(self) -> int:
        """Number of steps between thresholds."""
        return max(0, len(self.edges) - 1)

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis."""
        ends = np.concatenate([self.edges, self.slots - self.slot_width / 2, self.slots + self.slot_width / 2])
        return float(ends.min()), float(ends.max())

    def place(self, column: FloatArray, spread: float) -> FloatArray:
        """Return where the rows of a column are drawn: numbers at their values, others all over their slots.

        Rows in a slot are spread by the fractional parts of the multiples of an irrational number.
        """
        placed = column.astype(np.float64)
        for middle, here in zip(self.slots, self._in_slots(column), strict=True):
            places = np.arange(here.sum()) * spread % 1 - 0.5
            placed[here] = middle + FILLED * self.slot_width * places
        return placed

    def count(self, column: FloatArray) -> list[int]:
        """Return how many rows are in each slot."""
        return [int(here.sum()) for here in self._in_slots(column)]

    def _in_slots(self, column: FloatArray) -> list[npt.NDArray[np.bool_]]:
        values = self.values[self.n_steps :]
        return [np.isnan(column) if np.isnan(value) else column == value for value in values]


def _edges(posterior: Posterior, feature: int, max_steps: int) -> FloatArray:
    """Return the ends of the observed numbers and the thresholds of all tests between them."""
    grid, tests = posterior.grid, posterior.graph.tests
    first, last = grid.lowest[feature][0], grid.highest[feature][-1]
    if first == last:
        first, last = first - 0.5, last + 0.5
    found = np.unique(Routing(grid, tests).threshold[tests.feature == feature])
    cuts = found[(found > first) & (found < last)]
    if len(cuts) >= max_steps:
        cuts = cuts[np.linspace(0, len(cuts) - 1, max_steps - 1).round().astype(np.intp)]
    return np.concatenate([[first], cuts, [last]])


def typical_row(posterior: Posterior, columns: list[FloatArray] | None) -> list[float]:
    """Return the median of each numeric feature and the most frequent label of each nominal one.

    Without columns, they are those of the cells, so that a median is that of a bin.
    """
    if columns is not None:
        ones = np.ones(len(columns[0]))
        return [_typical(column, ones, posterior, feature) for feature, column in enumerate(columns)]
    cells, grid = posterior.graph.cells, posterior.grid
    row = []
    for feature, codes in enumerate(cells.codes.T):
        bins = codes.astype(np.intp) - grid.has_missing[feature]
        middles = (grid.lowest[feature] + grid.highest[feature]) / 2
        column = np.full(len(bins), np.nan)
        column[bins >= 0] = middles[bins[bins >= 0]]
        row.append(_typical(column, cells.weights, posterior, feature))
    return row


def _typical(column: FloatArray, weights: FloatArray, posterior: Posterior, feature: int) -> float:
    is_nominal = posterior.grid.categories[feature] is not None
    known = ~np.isnan(column) & ~(is_nominal & (column < 0))
    if not known.any():
        return float("nan")
    values, which = np.unique(column[known], return_inverse=True)
    weight = np.bincount(which, weights[known])
    if is_nominal:
        return float(values[np.argmax(weight)])
    below = np.cumsum(weight) - weight.sum() / 2
    upper = int(np.argmax(below > 1e-9 * weight.sum()))
    lower = int(np.argmax(below > -1e-9 * weight.sum()))
    return float((values[lower] + values[upper]) / 2)


def rows_at(posterior: Posterior, numbers: FloatArray) -> npt.NDArray[Any]:
    """Return rows of numbers in the form that a posterior reads: with labels for their places, None for missing."""
    categories = posterior.grid.categories
    if all(labels is None for labels in categories):
        return numbers
    rows = numbers.astype(object)
    for feature, labels in enumerate(categories):
        if labels is not None:
            column = numbers[:, feature]
            rows[:, feature] = [None if np.isnan(place) else labels[int(place)] for place in column]
    return rows
