"""S(N): the tests that divide a box, each bipartition once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bcart.errors import InvalidModelError
from bcart.testing.boxes import Cells, at_least


class Node(NamedTuple):
    """A box within a tree: a leaf, or a box with the test that divides it; yes goes left.

    The fields are those of `bcart.tree.Tree`, but for the boxes.
    """

    box: int
    feature: int = -1
    threshold: float = math.nan
    category: int = -1
    missing_left: bool = False
    saw_missing: bool = False
    left: int = 0
    right: int = 0

    @property
    def is_leaf(self) -> bool:
        """Whether the box stops here."""
        return self.feature < 0


@dataclass(frozen=True)
class Family:
    """Which trees are listed."""

    max_depth: int | None
    min_samples_leaf: float
    min_samples_split: float
    max_trees: int

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise InvalidModelError(f"max_depth must be None or at least 0, not {self.max_depth}")
        for name in ("min_samples_leaf", "min_samples_split", "max_trees"):
            if not getattr(self, name) > 0:
                raise InvalidModelError(f"{name} must be positive, not {getattr(self, name)}")


def splits_in_family(cells: Cells, family: Family, box: int) -> Iterator[Node]:
    """Yield the splits of a box that the family allows at any depth."""
    if at_least(cells.weight_of(box), family.min_samples_split):
        for split in bipartitions(cells, box):
            if at_least(min(cells.weight_of(split.left), cells.weight_of(split.right)), family.min_samples_leaf):
                yield split


def bipartitions(cells: Cells, box: int) -> Iterator[Node]:
    """Yield each way to divide a box by one test once: by its lowest feature, then by that feature's first test."""
    seen: set[int] = set()
    for feature in range(len(cells.levels)):
        for test in _tests(cells, box, feature):
            # The two sides are not ordered, so either one alone, say the lesser number, stands for the pair.
            side = min(test.left, test.right)
            if side and side not in seen:
                seen.add(side)
                yield test


def _tests(cells: Cells, box: int, feature: int) -> Iterator[Node]:
    """Yield the tests of one feature, also those that divide the box alike or not at all."""
    missing = box & cells.missing[feature]
    if missing:
        yield Node(box, feature, -math.inf, missing_left=True, saw_missing=True, left=missing, right=box ^ missing)
    if feature in cells.nominal:
        yield from _label_tests(cells, box, feature)
    else:
        yield from _cuts(cells, box, feature)


def _label_tests(cells: Cells, box: int, feature: int) -> Iterator[Node]:
    """Yield one label against the rest, to which missing values belong."""
    for place, (_, having) in enumerate(cells.levels[feature]):
        left = box & having
        yield Node(box, feature, category=place, saw_missing=True, left=left, right=box ^ left)


def _cuts(cells: Cells, box: int, feature: int) -> Iterator[Node]:
    """Yield the cuts between neighbouring values: missing values go left, then all cuts again and they go right."""
    missing = box & cells.missing[feature]
    present = [(value, box & having) for value, having in cells.levels[feature] if box & having]
    for missing_left in (True, False) if missing else (None,):
        left = missing if missing_left else 0
        for (below, having), (above, _) in pairwise(present):
            left |= having
            right = box ^ left
            # Where there is no missing value to learn from, the heavier side takes those of queries.
            left_takes_them = _is_heavier(cells, left, right) if missing_left is None else missing_left
            yield Node(box, feature, _midpoint(below, above), -1, left_takes_them, bool(missing), left, right)


def _is_heavier(cells: Cells, left: int, right: int) -> bool:
    return at_least(cells.weight_of(left), cells.weight_of(right))


def _midpoint(below: float, above: float) -> float:
    """Return a threshold that has `below` on its left and `above` on its right, halfway if rounding allows it."""
    middle = below / 2 + above / 2
    return middle if below < middle <= above else above
