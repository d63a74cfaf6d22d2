"""Small searches that tell of large ones: how many boxes, cells and splits the layers have that were not reached."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.cells import Cells
from bcart.census import Census
from bcart.limits import Limits
from bcart.listing import Family, list_boxes

_FEWEST_CELLS = 8
_NO_GROWTH = 0.004  # of the logarithm to base 2 of the number of boxes: there are no deeper trees worth speaking of
_MOST_LEVELS = 64
_MOST_PACE = 4.0
_CELLS_OF_LARGE_BOXES = 64  # as in the core
_LIGHTER = 0.7  # power of the share of all weight: between 0.5 and 1 estimates are least wrong
_DOUBT = 10  # boxes of a census outweigh what probes say if they are more
_FARTHEST = 8  # level from what is known for which it counts


@dataclass(frozen=True)
class Probe:
    """Layers of the graph of some of the cells, as far as they were found: boxes, cells in them, splits of them."""

    n_cells: int
    boxes: list[int]
    cells: list[int]
    splits: list[int]
    is_complete: bool
    n_boxes_found: int  # with those of a layer that was not finished, as the next two
    n_cells_found: int
    n_splits_found: int
    share_tried: float  # of the boxes of the last layer
    seconds: float

    @classmethod
    def of(cls, cells: Cells, family: Family, limits: Limits) -> Probe:
        """Search within limits."""
        start = time.perf_counter()
        core = list_boxes(cells, family, limits, "never")
        seconds = time.perf_counter() - start
        boxes, cells_in = (np.diff(counts, prepend=0).tolist() for counts in (core.n_boxes_to, core.n_cells_to))
        splits = np.diff(core.n_splits_to).tolist()
        is_complete = core.ending in (_core.Ending.COMPLETE, _core.Ending.MAX_DEPTH)
        n_tried = core.n_boxes_tried - sum(boxes[: len(splits)])
        share_tried = n_tried / max(1, boxes[len(splits)]) if len(boxes) > len(splits) else 0.0
        found = core.n_boxes_found, core.n_cells_found, core.n_splits_found
        return cls(cells.n_cells, boxes, cells_in, splits, is_complete, *found, share_tried, seconds)

    @property
    def growths(self) -> list[float]:
        """How many times as many boxes there are with each layer, as logarithms to base 2."""
        totals = np.cumsum(self.boxes)
        return [float(growth) for growth in np.diff(np.log2(totals))]

    @property
    def n_begun(self) -> int:
        """How many boxes were found of the layer that was not finished."""
        return self.n_boxes_found - sum(self.boxes)

    @property
    def most_growth(self) -> float:
        """The growth of that layer: the later a box, the more of its children are known."""
        return math.log2(1 + self.n_begun / self.share_tried / sum(self.boxes)) if self.n_begun > 0 else math.inf

    @property
    def cells_a_box(self) -> list[float]:
        """The mean of each layer, and of what was found of the one that was not finished."""
        begun = [(self.n_cells_found - sum(self.cells)) / self.n_begun] if self.n_begun > 0 else []
        return _ratios(self.cells, self.boxes) + begun

    @property
    def splits_a_box(self) -> list[float]:
        """The same for the splits of boxes."""
        n_tried = self.share_tried * self.boxes[-1]
        begun = [(self.n_splits_found - sum(self.splits)) / n_tried] if n_tried > 0 else []
        return _ratios(self.splits, self.boxes) + begun

    @property
    def saw_the_root(self) -> bool:
        """Whether it found any split, if there are some."""
        return self.is_complete or self.n_splits_found > 0

    @property
    def n_cells_passed(self) -> float:
        """Cells that were written, as those of a new box, or read to list its splits."""
        n_layers = len(self.splits)
        n_read = sum(self.cells[:n_layers]) + self.share_tried * sum(self.cells[n_layers : n_layers + 1])
        return self.n_cells_found + n_read


def probe_all_and_fewer(cells: Cells, family: Family, limits_of: Callable[[Cells], Limits]) -> Iterator[Probe]:
    """Yield the probe of all cells and, unless that is complete, of half of them, and so on; each has its limits.

    Of fewer cells, leaves and boxes may be lighter: else next to none could be split. In proportion they would be too
    light, since single cells then are more of them.
    """
    whole = Probe.of(cells, family, limits_of(cells))
    yield whole
    weight = float(cells.weights.sum())
    order = np.random.default_rng(0).permutation(cells.n_cells)
    while len(order) >= 2 * _FEWEST_CELLS and not whole.is_complete:
        order = order[::2]
        some = _some_of(cells, np.sort(order))
        share = (float(some.weights.sum()) / weight) ** _LIGHTER
        leaf, box = share * family.min_samples_leaf, share * family.min_samples_split
        lighter = replace(family, min_samples_leaf=leaf, min_samples_split=box)
        yield Probe.of(some, lighter, limits_of(some))


def _some_of(cells: Cells, chosen: npt.NDArray[np.intp]) -> Cells:
    """Return some of the cells, with any statistics: how many boxes there are does not depend on what they are."""
    return Cells.of_arrays(cells.codes[chosen], cells.statistics[: len(chosen)], cells.weights[chosen], cells.kinds)


@dataclass(frozen=True)
class Layers:
    """The layers of the graph of all cells: counted as far as the probe went, and estimated from there on."""

    boxes: list[float]
    cells: list[float]
    splits: list[float]
    n_known: int
    is_complete: bool

    @classmethod
    def told_by(
        cls,
        probes: list[Probe],
        max_depth: int | None,
        most: float,
        expected: float | None = None,
        census: Census | None = None,
        has_all_boxes: bool = False,
    ) -> Layers:
        """Return what probes of all cells and of fewer tell.

        There are no more than `most` boxes; `expected` is how many there are in all, if that is known, and `census`
        tells it together with their layers. Whether the family `has_all_boxes` says that no leaf or box is too light.
        """
        whole, extension = probes[0], _Extension(probes, most, has_all_boxes)
        expected = expected if census is None else census.n_boxes
        pace = 1.0 if expected is None or whole.is_complete else extension.pace_to(expected)
        boxes, cells, splits = extension.at_pace(pace)
        if census is not None and not whole.is_complete and whole.saw_the_root:
            boxes, cells, splits = extension.as_met(census, boxes)
        if max_depth is not None:
            del boxes[max_depth + 1 :], cells[max_depth + 1 :], splits[max_depth:]
        return cls(boxes, cells, splits, len(whole.boxes), whole.is_complete)

    @property
    def n_levels(self) -> int:
        """Of splits."""
        return len(self.boxes) - 1

    def is_known(self, depth: int) -> bool:
        """Whether trees up to a depth were counted, rather than estimated."""
        return depth < self.n_known or self.is_complete

    def n_boxes(self, depth: int) -> float:
        """Of trees up to a depth, as the next."""
        return _whole(sum(self.boxes[: depth + 1]), self.is_known(depth))

    def n_splits(self, depth: int) -> float:
        """Listed."""
        return _whole(sum(self.splits[:depth]), self.is_known(depth))

    def n_cells_passed(self, depth: int, share_of_last: float = 1.0) -> float:
        """Cells of new boxes, and of those whose splits are listed; of the last layer a share, if its boxes are large.

        Such boxes are not written: their statistics are told by their parents.
        """
        passed = 2 * sum(self.cells[:depth])
        is_large = depth > 0 and self.cells[depth - 1] > _CELLS_OF_LARGE_BOXES * self.boxes[depth - 1]
        return passed + self.cells[depth] * (share_of_last if is_large else 1.0)

    def n_pairs(self, depth: int) -> float:
        """Pairs of splits, one made after the other, from the boxes of a layer on."""
        return self.splits[depth] * self.splits[depth] / max(1.0, self.boxes[depth])


class _Extension:
    """What comes after the layers that were counted.

    A box of twice the cells can be split once more: how much a layer is larger than the one above it is nearly the same
    for the layer below and twice the cells. What the probes have not reached is filled in along these diagonals, or
    from layer to layer where growth falls evenly. There are no more boxes than ways to restrict the codes, and the more
    of them are known, the fewer are new: also in a layer that a probe has begun. Where it is known how many boxes there
    are in all, growth is made as much faster or slower as it takes to come to them.
    """

    def __init__(self, probes: list[Probe], most: float, has_all_boxes: bool) -> None:
        self.whole, self.most, self.has_all_boxes = probes[0], most, has_all_boxes
        self.growth = _Growth([probe.growths for probe in probes], probes)
        self.cells_a_box = _CellsABox([probe.cells_a_box for probe in probes], probes)
        self.splits_a_box = _Table([probe.splits_a_box for probe in probes], probes)

    def at_pace(self, pace: float) -> tuple[list[float], list[float], list[float]]:
        """Return boxes, cells and splits by layer, those that were counted first.

        Growth is by a `pace` more than probes say, and the more so the farther it is from what was counted; but no more
        than in the layer above, nor than a layer that was begun allows.
        """
        whole, growth, n_known = self.whole, self.growth, len(self.whole.boxes)
        boxes, cells, splits = (list(map(float, n)) for n in (whole.boxes, whole.cells, whole.splits))
        last_growth = whole.most_growth
        for level in range(n_known, _MOST_LEVELS + 1):
            if not whole.saw_the_root or whole.is_complete:
                break
            grown = min(growth.at(level - 1, 0), growth.at(level - 2, 0)) if level > 1 else growth.at(0, 0)
            last_growth = min(last_growth, grown * pace ** min(level + 1 - n_known, _FARTHEST) ** 2)
            if last_growth < _NO_GROWTH:
                break
            splits.append(boxes[-1] * self.splits_a_box.at(level - 1, 0))
            n_before = sum(boxes)
            n_new = n_before * (2**last_growth - 1) * (1 - n_before / self.most)
            n_parents = level if self.has_all_boxes else 1  # that a box has: one for each side that is cut off
            boxes.append(max(0.0, min(n_new, self.most - n_before, 2 * splits[level - 1] / n_parents)))
            cells.append(boxes[-1] * max(1.0, self.cells_a_box.at(level, 0)))
        return boxes, cells, splits

    def as_met(self, census: Census, boxes: list[float]) -> tuple[list[float], list[float], list[float]]:
        """Return boxes, cells and splits by layer as a census has met them, where it has met many.

        Of few, the given layers of boxes and what probes say count more.
        """
        whole, n_known = self.whole, len(self.whole.boxes)
        n_levels = min(_MOST_LEVELS, max(len(boxes) - 1, int(census.layers.max()))) + 1
        n_met = np.bincount(census.layers, minlength=n_levels)[:n_levels].astype(np.float64)
        n_new = np.cumsum(n_met[n_known:])
        given = np.cumsum([*boxes, *[0.0] * n_levels][n_known:n_levels])
        share = n_new / max(1.0, census.layers.size - n_met[:n_known].sum())
        met = share * max(0.0, census.n_boxes - sum(whole.boxes))
        totals = np.maximum.accumulate((n_new * met + _DOUBT * given) / (n_new + _DOUBT))
        new = np.diff(totals, prepend=0.0).tolist()
        after = [*map(float, whole.boxes), *new]
        numbers = []
        for counted, table, of_met in (
            (whole.cells, self.cells_a_box, census.cells),
            (whole.splits, self.splits_a_box, census.splits),
        ):
            sums = np.bincount(census.layers, of_met, n_levels)
            means = [(sums[k] + _DOUBT * table.at(k, 0)) / (n_met[k] + _DOUBT) for k in range(n_levels)]
            numbers.append([*map(float, counted), *(after[k] * means[k] for k in range(len(counted), n_levels))])
        cells, splits = numbers
        return after, cells, splits[:-1]

    def pace_to(self, n_boxes: float) -> float:
        """Return how much faster boxes have to grow for so many in all."""
        slow, fast = 1 / _MOST_PACE, _MOST_PACE
        while fast / slow > 1.001:
            middle = math.sqrt(slow * fast)
            slow, fast = (middle, fast) if sum(self.at_pace(middle)[0]) < n_boxes else (slow, middle)
        return slow


class _Table:
    """Numbers by level and probe, some of which are estimated from those of fewer cells."""

    def __init__(self, columns: list[list[float]], probes: list[Probe]) -> None:
        self.columns = columns
        self.probes = probes
        self.estimates: dict[tuple[int, int], float] = {}

    def at(self, level: int, probe: int) -> float:
        if level < 0 or probe >= len(self.columns):
            return 0.0
        if level < len(self.columns[probe]):
            return self.columns[probe][level]
        if self.probes[probe].is_complete:
            return 0.0
        if (level, probe) not in self.estimates:
            self.estimates[level, probe] = self._estimate(level, probe)
        return self.estimates[level, probe]

    def _estimate(self, level: int, probe: int) -> float:
        """Go on along the diagonal."""
        before, two_before = self.at(level - 1, probe + 1), self.at(level - 2, probe + 2)
        return before * min(1.0, max(0.5, before / two_before)) if two_before > 0 else before


class _Growth(_Table):
    """The growth of the number of boxes."""

    def _estimate(self, level: int, probe: int) -> float:
        """Take the least of the diagonal, what a begun layer allows, and levels whose fall slows down evenly.

        More cells do not grow less.
        """
        least = super()._estimate(level, probe)
        if level == len(self.columns[probe]):
            least = min(least, self.probes[probe].most_growth)
        above, two_above, three_above = (self.at(level - back, probe) for back in (1, 2, 3))
        fall, fall_before = two_above - above, three_above - two_above
        if level > 2 and 0 < fall < fall_before:
            least = min(least, above - max(0.0, 2 * fall - fall_before))
        return max(least, self.at(level, probe + 1))


class _CellsABox(_Table):
    """The mean number of cells in a box."""

    def _estimate(self, level: int, probe: int) -> float:
        """Take the mean of too few and too many: the diagonal, and boxes that shrink as those of half the cells do."""
        few = super()._estimate(level, probe)
        half, half_above = self.at(level, probe + 1), self.at(level - 1, probe + 1)
        return math.sqrt(few * self.at(level - 1, probe) * half / half_above) if half > 0 and half_above > 0 else few


def _ratios(above: list[int], below: list[int]) -> list[float]:
    return [a / max(1, b) for a, b in zip(above, below, strict=False)]


def _whole(number: float, is_known: bool) -> float:
    return round(number) if is_known else number
