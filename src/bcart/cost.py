"""What a family of trees will cost, from a small probe."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from bcart import _core
from bcart.cells import Cells
from bcart.errors import InvalidDataError
from bcart.grid import Binning, Grid, Kind
from bcart.limits import DEFAULT_MAX_MEMORY, Limits, format_bytes
from bcart.listing import FOLDED_LEVELS, Family, list_boxes
from bcart.parse import as_weights, present_rows
from bcart.tables import Nominal, read_table

_PROBE_BYTES = 32_000_000
_LEAST_PROBE_BYTES = 1_000_000
_FEWEST_CELLS = 8
_PROBES = 7  # at most: each has half the cells of the one before
_NO_GROWTH = 0.004  # of the logarithm to base 2 of the number of boxes: there are no deeper trees worth speaking of
_MOST_LEVELS = 64
_MOST_CLASSES = 100
_BEYOND_THE_CACHE = 1.3  # a large graph takes so many times as long as the probes tell: it waits for memory
_BYTES_BESIDES = 52  # of each box, and a copy of its statistics with what comes with it, as in the core
_SECONDS_A_PAIR = 1e-7  # of splits in the fold


@dataclass(frozen=True)
class Cost:
    """What the trees up to a depth cost; a depth of None stands for all of them.

    Attributes
    ----------
    depth : int or None
    n_boxes, n_splits : float
        How many there are.
    n_bytes : float
        What listing them takes.
    seconds : float
        For listing them and for one sweep over them.
    is_known : bool
        Whether they were counted, rather than estimated.

    Examples
    --------
    >>> print(Cost(depth=3, n_boxes=4500.0, n_splits=12_000.0, n_bytes=5e6, seconds=0.01))
    depth 3: about 4.5 k boxes, 12 k splits, 5.0 MB, 0.01 s
    """

    depth: int | None
    n_boxes: float
    n_splits: float
    n_bytes: float
    seconds: float
    is_known: bool = False

    def __str__(self) -> str:
        trees = "all trees" if self.depth is None else f"depth {self.depth}"
        about = "" if self.is_known else "about "
        return (
            f"{trees}: {about}{_rounded(self.n_boxes)} boxes, {_rounded(self.n_splits)} splits, "
            f"{format_bytes(round(self.n_bytes))}, {self.seconds:.2g} s"
        )


@dataclass(frozen=True)
class CostEstimate:
    """The cost of all trees of a family, and of those up to each depth.

    Attributes
    ----------
    all_trees : Cost
    by_depth : tuple of Cost
        Of depth 1, 2, ..., up to where deeper trees add next to nothing.
    folded : tuple of Cost
        The same for graphs whose last two levels are folded, see `build_graph`.

    Examples
    --------
    >>> cost = estimate_cost([[0], [1], [2]], [0, 1, 0])
    >>> [(part.depth, part.n_boxes, part.n_splits) for part in cost.by_depth]
    [(1, 5, 2), (2, 6, 4)]
    >>> cost.all_trees.n_boxes, cost.all_trees.is_known
    (6, True)
    """

    all_trees: Cost
    by_depth: tuple[Cost, ...]
    folded: tuple[Cost, ...]

    def deepest_within(self, max_memory: int) -> int | None:
        """Return the deepest trees, folded or not, whose graph takes no more bytes; None if all trees fit."""
        if self.all_trees.n_bytes <= max_memory:
            return None
        fits = [cost.depth for cost in (*self.by_depth, *self.folded) if cost.n_bytes <= max_memory]
        return max((depth for depth in fits if depth is not None), default=0)

    def __str__(self) -> str:
        folded = {cost.depth: cost for cost in self.folded}
        lines = ["   depth       boxes      splits      memory     seconds   folded: memory     seconds"]
        for cost in (*self.by_depth, self.all_trees):
            depth = "all" if cost.depth is None else str(cost.depth)
            line = f"{depth:>8}{_rounded(cost.n_boxes):>12}{_rounded(cost.n_splits):>12}{_columns(cost)}"
            lines.append(line + (_columns(folded[cost.depth], 17) if cost.depth in folded else ""))
        return "\n".join(lines)


@dataclass(frozen=True)
class _Probe:
    """Layers of the graph of some of the cells, as far as they were found: boxes, cells in them, splits of them."""

    n_cells: int
    boxes: list[int]
    cells: list[int]
    splits: list[int]
    is_complete: bool
    n_boxes_found: int  # with those of a layer that was not finished, as the next
    n_splits_found: int
    share_tried: float  # of the boxes of the last layer
    bytes_a_test: int
    seconds: float

    @classmethod
    def of(cls, cells: Cells, family: Family, limits: Limits) -> _Probe:
        start = time.perf_counter()
        core = list_boxes(cells, family, limits, "never")
        seconds = time.perf_counter() - start
        boxes, cells_in = (np.diff(counts, prepend=0).tolist() for counts in (core.n_boxes_to, core.n_cells_to))
        splits = np.diff(core.n_splits_to).tolist()
        is_complete = core.ending in (_core.Ending.COMPLETE, _core.Ending.MAX_DEPTH)
        n_tried = core.n_boxes_tried - sum(boxes[: len(splits)])
        share_tried = n_tried / max(1, boxes[len(splits)]) if len(boxes) > len(splits) else 0.0
        found = core.n_boxes_found, core.n_splits_found, share_tried, np.asarray(core.tests).itemsize
        return cls(cells.n_cells, boxes, cells_in, splits, is_complete, *found, seconds)

    @property
    def n_cells_read(self) -> float:
        """Cells of the boxes whose splits were listed."""
        n_layers = len(self.splits)
        return sum(self.cells[:n_layers]) + self.share_tried * sum(self.cells[n_layers : n_layers + 1])


def estimate_cost(
    X: Any,
    y: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    max_bins: int = 10,
    binning: Binning = "uniform",
    categorical_features: Nominal = "from_dtype",
    max_depth: int | None = None,
    min_samples_leaf: float = 1,
    min_samples_split: float = 2,
    max_memory: int | str = DEFAULT_MAX_MEMORY,
    n_jobs: int | None = None,
) -> CostEstimate:
    """Tell what a fit would cost: boxes, bytes and seconds, for all trees and for those up to each depth.

    A probe of about a second lists the first layers of boxes, and all layers for fewer of the rows. The parameters are
    those of `BayesianTreeClassifier`; of `y` counts how many classes there are. Numbers that are not whole, or are more
    than a hundred different ones, are taken for regression.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).integers(0, 2, (1000, 20))
    >>> cost = estimate_cost(X, X[:, 0], n_jobs=1)
    >>> cost.by_depth[2].n_boxes, cost.by_depth[2].is_known
    (9921, True)
    >>> 1.3e7 < cost.all_trees.n_boxes < 5e7
    True
    """
    limits, table = Limits(max_memory, n_jobs=n_jobs), read_table(X, categorical_features)
    weights, targets = as_weights(sample_weight, table.n_rows), np.asarray(y)
    if targets.shape != (table.n_rows,):
        raise InvalidDataError(f"y must have one target for each of {table.n_rows} rows, got shape {targets.shape}")
    present = present_rows(weights)
    if present is not None:
        table, targets, weights = table.take(present), targets[present], weights[present]
    grid = Grid.from_table(table, max_bins, binning, weights, limits.n_workers)
    n_distinct = len(set(targets.tolist()))
    is_number = targets.dtype.kind == "f" and bool((targets != np.floor(targets)).any())
    is_number |= targets.dtype.kind in "iuf" and n_distinct > _MOST_CLASSES
    n_statistics = 3 if is_number else n_distinct
    codes = grid.encode_table(table, limits.n_workers)
    cells = Cells.from_labels(codes, np.zeros(len(codes), dtype=np.uint8), n_statistics, weights, grid.kinds)
    return predict_cost(cells, Family(max_depth, min_samples_leaf, min_samples_split), limits)


def predict_cost(cells: Cells, family: Family, limits: Limits) -> CostEstimate:
    """Estimate the cost of a family by listing the first layers, and all layers for fewer and fewer of the cells.

    A box of twice the cells can be split once more: how much a layer is larger than the one above it is nearly the same
    for the layer below and twice the cells. What the probes have not reached is filled in along these diagonals, or
    from layer to layer where growth falls evenly. There are no more boxes than ways to restrict the codes, and the more
    of them are known, the fewer are new.
    """
    n_bytes = min(_PROBE_BYTES, max(_LEAST_PROBE_BYTES, limits.n_bytes // 4))
    within = Limits(n_bytes, n_jobs=limits.n_workers)
    probes = list(_probes(cells, replace(family, max_depth=None), within))
    layers = _Layers(probes, family.max_depth, most_boxes(cells))
    rate = _seconds_of(probes)
    by_depth = [layers.cost(depth, cells, rate) for depth in range(1, layers.n_levels + 1)]
    deepest = by_depth[-1] if by_depth else layers.cost(0, cells, rate)
    is_known = layers.is_complete or (deepest.is_known and deepest.depth == family.max_depth)
    all_trees = replace(deepest, depth=None, is_known=is_known)
    folded = [layers.folded_cost(cost, cells, rate, limits.n_workers) for cost in by_depth[FOLDED_LEVELS - 1 :]]
    return CostEstimate(all_trees, tuple(by_depth), tuple(folded))


def _probes(cells: Cells, family: Family, limits: Limits) -> Iterator[_Probe]:
    """Yield the probe of all cells, of half of them, and so on; the first that is complete is the last needed."""
    order = np.random.default_rng(0).permutation(cells.n_cells)
    for _ in range(_PROBES):
        chosen = np.sort(order)
        some = Cells(cells.codes[chosen], cells.statistics[chosen], cells.weights[chosen], cells.kinds)
        probe = _Probe.of(some, family, limits)
        yield probe
        if len(order) < 2 * _FEWEST_CELLS or (probe.is_complete and probe.n_cells == cells.n_cells):
            return
        order = order[::2]


def most_boxes(cells: Cells) -> float:
    """Return how many ways there are to restrict the codes of all features as boxes do.

    Examples
    --------
    >>> most_boxes(Cells([[0, 1], [1, 2]], [[1.0], [1.0]]))
    18.0
    """
    return math.prod(_most_ranges(kind, n) for kind, n in zip(cells.kinds, cells.n_bins, strict=True))


def _most_ranges(kind: Kind, n_codes: int) -> float:
    """Return how many ranges of ordered codes there are, each with and without missing values; or sets of labels."""
    if kind == "nominal":
        return 2.0**n_codes - 1
    if kind == "optional":
        return (n_codes - 1.0) * n_codes + 1
    return n_codes * (n_codes + 1.0) / 2


class _Layers:
    """The layers of the graph of all cells: counted as far as the probe went, and estimated from there on."""

    def __init__(self, probes: list[_Probe], max_depth: int | None, most: float) -> None:
        self.n_known = len(probes[0].boxes)
        self.is_complete = probes[0].is_complete
        self.bytes_a_test = probes[0].bytes_a_test
        self.boxes = [float(n) for n in probes[0].boxes]
        self.cells = [float(n) for n in probes[0].cells]
        self.splits = [float(n) for n in probes[0].splits]
        growth = _Table(
            [np.diff(np.log2(np.cumsum(probe.boxes))).tolist() for probe in probes], probes, slows_down=True
        )
        a_box = _Table([_ratios(probe.cells, probe.boxes) for probe in probes], probes)
        splits_a_box = _Table([_ratios(probe.splits, probe.boxes) for probe in probes], probes)
        for level in count(len(self.boxes)):
            if self.is_complete or level > _MOST_LEVELS or (max_depth is not None and level > max_depth):
                break
            grown = min(growth.at(level - 1, 0), growth.at(level - 2, 0)) if level > 1 else growth.at(0, 0)
            if grown < _NO_GROWTH:
                break
            self.splits.append(self.boxes[-1] * splits_a_box.at(level - 1, 0))
            n_before = sum(self.boxes)
            n_new = n_before * (2**grown - 1) * (1 - n_before / most)
            self.boxes.append(max(0.0, min(n_new, most - n_before)))
            self.cells.append(self.boxes[-1] * max(1.0, a_box.at(level, 0)))
        if max_depth is not None:
            del self.boxes[max_depth + 1 :], self.cells[max_depth + 1 :], self.splits[max_depth:]

    @property
    def n_levels(self) -> int:
        return len(self.boxes) - 1

    def cost(self, depth: int, cells: Cells, rate: _Rate) -> Cost:
        boxes, splits = sum(self.boxes[: depth + 1]), sum(self.splits[:depth])
        held = max(
            (a + b for a, b in zip(self.cells[: depth + 1], [*self.cells[1:depth], 0.0], strict=False)), default=0
        )
        n_bytes = boxes * _bytes_a_box(cells) + (8 + self.bytes_a_test) * splits + 4 * held
        seconds = rate.a_split * splits + rate.a_box * boxes + rate.a_cell * sum(self.cells[:depth])
        is_known = depth < self.n_known or self.is_complete
        return Cost(depth, _whole(boxes, is_known), _whole(splits, is_known), n_bytes, seconds, is_known)

    def folded_cost(self, unfolded: Cost, cells: Cells, rate: _Rate, n_workers: int) -> Cost:
        depth = (unfolded.depth or 0) - FOLDED_LEVELS
        listed = self.cost(depth, cells, rate)
        pairs = self.splits[depth] * self.splits[depth] / max(1.0, self.boxes[depth])
        seconds = listed.seconds + _SECONDS_A_PAIR * pairs / n_workers
        of_fold = _core.fold_bytes(cells.n_cells, cells.n_bins, cells.statistics.shape[1])
        return replace(unfolded, n_bytes=listed.n_bytes + 4 * self.cells[depth] + of_fold, seconds=seconds)


class _Table:
    """Numbers by level and probe, some of which are estimated from those of fewer cells."""

    def __init__(self, columns: list[list[float]], probes: list[_Probe], slows_down: bool = False) -> None:
        self.columns = columns
        self.is_complete = [probe.is_complete for probe in probes]
        self.slows_down = slows_down
        self.estimates: dict[tuple[int, int], float] = {}

    def at(self, level: int, probe: int) -> float:
        if level < 0 or probe >= len(self.columns):
            return 0.0
        if level < len(self.columns[probe]):
            return self.columns[probe][level]
        if self.is_complete[probe]:
            return 0.0
        if (level, probe) not in self.estimates:
            self.estimates[level, probe] = self._estimate(level, probe)
        return self.estimates[level, probe]

    def _estimate(self, level: int, probe: int) -> float:
        """Go on along the diagonal; or down the levels, where their fall slows down evenly, if that is less."""
        before, two_before = self.at(level - 1, probe + 1), self.at(level - 2, probe + 2)
        diagonal = before * min(1.0, max(0.5, before / two_before)) if two_before > 0 else before
        above, two_above, three_above = (self.at(level - back, probe) for back in (1, 2, 3))
        fall, fall_before = two_above - above, three_above - two_above
        if self.slows_down and level > 2 and 0 < fall < fall_before:
            return max(0.0, min(diagonal, above - max(0.0, 2 * fall - fall_before)))
        return diagonal


@dataclass(frozen=True)
class _Rate:
    a_split: float
    a_box: float
    a_cell: float


def _seconds_of(probes: list[_Probe]) -> _Rate:
    """Share out the seconds of the probes between splits, boxes and cells."""
    work = [[probe.n_splits_found, probe.n_boxes_found, probe.n_cells_read] for probe in probes]
    rates, _ = nnls(np.array(work, dtype=np.float64), np.array([probe.seconds for probe in probes]))
    a_split, a_box, a_cell = (_BEYOND_THE_CACHE * float(rate) for rate in rates)
    return _Rate(max(a_split, 1e-8), a_box, a_cell)


def _bytes_a_box(cells: Cells) -> int:
    """Return what a box takes, as the core counts it."""
    statistics = 8 * int(cells.statistics.shape[1])
    return 16 + statistics + _BYTES_BESIDES + 5 * statistics // 4


def _ratios(above: list[int], below: list[int]) -> list[float]:
    return [a / max(1, b) for a, b in zip(above, below, strict=False)]


def _whole(number: float, is_known: bool) -> float:
    return round(number) if is_known else number


def _rounded(number: float) -> str:
    """Write a large number with two digits.

    Examples
    --------
    >>> _rounded(12345678), _rounded(999)
    ('12 M', '999')
    """
    for unit, size in ((" T", 1e12), (" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if number >= size:
            digits = max(0, 1 - math.floor(math.log10(number / size)))
            return f"{number / size:.{digits}f}{unit}"
    return f"{number:.0f}"


def _columns(cost: Cost, width: int = 12) -> str:
    return f"{format_bytes(round(cost.n_bytes)):>{width}}{cost.seconds:>12.2g}"
