"""Whether splits lead to a box although leaves must have some weight: how many it takes, and how many the box has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.grid import Kind
from bcart.listing import Family

ROUNDING = 1e-9  # a weight may be less by so much of it, as in the core

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Reach:
    """The boxes of some cells in trees of a family, whatever their depth.

    A box is made by cutting off one side of its codes after the other, each in one go: whatever is cut off in several
    goes would be lighter. The fewer sides have been cut, the heavier is each. So one goes back from the box and gives
    it every side again that is heavy enough; if all are given, splits lead to the box, and else none do.
    """

    def __init__(self, cells: Cells, family: Family) -> None:
        self.cells, self.weights, self.codes = cells, cells.weights, cells.codes.T
        self.least_leaf = family.min_samples_leaf * (1 - ROUNDING)
        self.least_box = family.min_samples_split * (1 - ROUNDING)
        self._starts = np.cumsum((0, *cells.n_bins[:-1]))
        self._marks = np.random.default_rng(0).integers(1, 2**32, cells.n_cells).astype(np.float64)  # sums are exact

    def n_splits_to(self, allowed: Sequence[Mask]) -> int | None:
        """Return how many splits lead to the box of the cells with allowed codes, by feature; None if none do."""
        sides = _CutSides(self, allowed)
        n_splits = 0
        while sides.are_left:
            n_given = sides.give_heavy() if not sides.give_light_as_air() else 0
            if n_given is None:
                return None
            n_splits += n_given
        return n_splits

    def n_splits_of(self, inside: Mask) -> int:
        """Return how many splits the box of some cells has."""
        weights, marks = (self._left_of_tests(sums, inside) for sums in (self.weights, self._marks))
        weight, mark = self.weights[inside].sum(), self._marks[inside].sum()
        is_split = (marks > 0) & (marks < mark) & (np.minimum(weights, weight - weights) >= self.least_leaf)
        return len(np.unique(np.minimum(marks, mark - marks)[is_split])) if weight >= self.least_box else 0

    def _left_of_tests(self, numbers: Floats, inside: Mask) -> Floats:
        """Sum the numbers of the cells that each test on each feature sends left."""
        codes = self.cells.codes[inside] + self._starts
        repeated = np.repeat(numbers[inside], codes.shape[1])
        sums = np.bincount(codes.ravel(), repeated, sum(self.cells.n_bins)).astype(np.float64)
        by_feature = zip(self.cells.kinds, np.split(sums, self._starts[1:]), strict=True)
        return np.concatenate([_left(kind, of_codes) for kind, of_codes in by_feature])


class _CutSides:
    """The sides that are still cut off a box."""

    def __init__(self, reach: Reach, allowed: Sequence[Mask]) -> None:
        self.reach, kinds = reach, reach.cells.kinds
        self.outside = np.array([~codes[of_cells] for codes, of_cells in zip(allowed, reach.codes, strict=True)])
        self.n_outside = self.outside.sum(axis=0)  # features, of each cell
        sides = [(f, side) for f, codes in enumerate(allowed) for side in _sides(kinds[f], codes) if side.any()]
        self.features = np.array([feature for feature, _ in sides], dtype=np.intp)
        self.members = np.array([side[reach.codes[f]] for f, side in sides]).reshape(len(sides), reach.cells.n_cells)

    @property
    def are_left(self) -> bool:
        return bool(self.outside.any())

    def give_light_as_air(self) -> bool:
        """Give a side that takes no cell from the box, if there is one: it need not be cut."""
        has_cells = self.members[:, self.n_outside == 1].any(axis=1)
        empty = np.flatnonzero(self.members.any(axis=1) & ~has_cells)
        if len(empty):
            self._give(int(empty[0]))
        return len(empty) > 0

    def give_heavy(self) -> int | None:
        """Give all sides that are heavy enough, and return how many; None if there are none."""
        alone, weights = self.n_outside == 1, self.reach.weights
        cut_off = self.members[:, alone] @ weights[alone]
        is_heavy = (cut_off >= self.reach.least_leaf) & (
            cut_off + weights[self.n_outside == 0].sum() >= self.reach.least_box
        )
        return sum(self._give(side) for side in np.flatnonzero(is_heavy).tolist()) if is_heavy.any() else None

    def _give(self, side: int) -> bool:
        """Return whether anything of it was still cut off."""
        given, feature = self.members[side].copy(), self.features[side]
        self.n_outside -= given
        self.outside[feature] &= ~given
        self.members[self.features == feature] &= ~given
        return bool(given.any())


def _sides(kind: Kind, allowed: Mask) -> list[Mask]:
    """Return the sets of codes that one split each cuts off to leave those that are allowed, larger ones first."""
    codes, within = np.arange(len(allowed)), np.flatnonzero(allowed)
    if kind == "nominal":
        return [~allowed] if len(within) == 1 else [codes == label for label in np.flatnonzero(~allowed)]
    if kind == "numeric":
        return [codes < within[0], codes > within[-1]]
    numbers, missing = within[within > 0], codes == 0
    if len(numbers) == 0:
        return [~missing]
    low, high = (codes > 0) & (codes < numbers[0]), codes > numbers[-1]
    return [low, high] if allowed[0] else [low | missing, high | missing, low, high, missing]


def _left(kind: Kind, sums: Floats) -> Floats:
    """Return the sum that each test on a feature sends left, from the sums of its codes."""
    if kind == "nominal":
        return sums
    if kind == "numeric":
        return np.asarray(np.cumsum(sums))
    cuts = np.cumsum(sums[1:])
    return np.concatenate([sums[:1], cuts, cuts + sums[0]])
