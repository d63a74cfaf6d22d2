"""What a family of trees will cost, from a small probe."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from bcart import _core
from bcart.cached import cached_property
from bcart.cells import Cells
from bcart.census import estimate_boxes, most_boxes, take_census
from bcart.deadline import steps
from bcart.errors import InvalidDataError
from bcart.grid import Binning, Grid
from bcart.limits import DEFAULT_MAX_MEMORY, Limits, format_bytes
from bcart.listing import FOLDED_LEVELS, Family, core_kinds
from bcart.memory import within_memory
from bcart.parse import as_column, as_weights, plain_labels, present_rows
from bcart.probes import Layers, Probe, probe_all_and_fewer
from bcart.tables import Nominal, read_table

_PROBE_BYTES = 32_000_000
_LEAST_PROBE_BYTES = 1_000_000
_MOST_CLASSES = 100
_STATISTICS_OF_NUMBERS = 3
_BEYOND_THE_CACHE = 1.4  # a large graph takes so many times as long as the probes tell: it waits for memory
_SECONDS_A_PAIR, _SECONDS_A_SUM = 7.5e-8, 2.2e-9  # of a sweep over a fold
_NUMBERS_TAKE = 3.0  # times as long for a pair, whose leaves need logarithms
_MANY_CELLS, _MANY_TAKE = 2**17, 3.4  # times as long for a sum, since they are not in the cache
_CELLS_LOOKED_AT = 1000


@within_memory()
@dataclass(frozen=True)
class Cost:
    """What the trees up to a depth cost; a depth of None stands for all of them.

    Attributes
    ----------
    depth : int or None
    n_boxes, n_splits : float
        How many there are. Like bytes and seconds they are nan if nothing could be told of them.
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
        if math.isnan(self.n_boxes):
            return f"{trees}: unknown"
        about = "" if self.is_known else "about "
        return (
            f"{trees}: {about}{_rounded(self.n_boxes)} boxes, {_rounded(self.n_splits)} splits, "
            f"{format_bytes(round(self.n_bytes))}, {_two_digits(self.seconds)} s"
        )


_UNKNOWN = Cost(None, math.nan, math.nan, math.nan, math.nan)


@within_memory()
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
        is_told = bool(self.by_depth) or self.all_trees.is_known
        if is_told and self.all_trees.n_bytes <= max_memory:
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


@within_memory()
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

    Probes of a second or two list the first layers of boxes, and all layers for fewer of the rows. The parameters are
    those of `BayesianTreeClassifier`; of `y` counts how many classes there are. Numbers that are not whole, or are more
    than a hundred different ones, are taken for regression.

    A probe holds what a fit holds before the first box (codes and tests of all cells and features), and 32 MB at most
    besides. Where `max_memory` is too small for that, as it would be for the fit, nothing is told: `by_depth` is empty,
    and the numbers of `all_trees` are nan.

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
    weights, targets = as_weights(sample_weight, table.n_rows), as_column(plain_labels(y))
    if targets.shape != (table.n_rows,):
        raise InvalidDataError(f"y must have one target for each of {table.n_rows} rows, got shape {targets.shape}")
    present = present_rows(weights)
    if present is not None:
        table, targets, weights = table.take(present), targets[present], weights[present]
    grid = Grid.from_table(table, max_bins, binning, weights, limits.n_workers)
    codes = grid.encode_table(table, limits.n_workers)
    labels = np.zeros(len(codes), dtype=np.uint8)
    n_classes = _n_classes_of(targets)
    n_statistics = _STATISTICS_OF_NUMBERS if n_classes is None else n_classes
    cells = Cells.from_labels(codes, labels, n_statistics, weights, grid.kinds, limits.n_workers, limits.n_bytes)
    family = Family(max_depth, min_samples_leaf, min_samples_split)
    return predict_cost(cells, family, limits.beside(cells.n_bytes), has_numbers=n_classes is None)


def _n_classes_of(targets: npt.NDArray[Any]) -> int | None:
    """Return the number of classes; None if targets are numbers."""
    distinct = set[Any]()
    for rows in steps(len(targets)):
        here = targets[rows]
        distinct.update(_distinct_among(here))
        is_number = here.dtype.kind == "f" and bool((here != np.floor(here)).any())
        if is_number or (here.dtype.kind in "iuf" and len(distinct) > _MOST_CLASSES):
            return None
    return len(distinct)


def _distinct_among(labels: npt.NDArray[Any]) -> set[Any]:
    try:
        return set(labels.tolist())
    except TypeError as error:
        raise InvalidDataError(f"y must be labels or numbers: {error}") from None


def predict_cost(
    cells: Cells, family: Family, limits: Limits, n_runs: int = 2, has_numbers: bool | None = None
) -> CostEstimate:
    """Estimate the cost of a family by listing the first layers, and all layers for fewer and fewer of the cells.

    Of the seconds of several runs the least count: something else may have had the machine for a while. Whether targets
    are numbers is told by the statistics, if it is not given.
    """
    if has_numbers is None:
        has_numbers = bool((cells.statistics[:_CELLS_LOOKED_AT] % 1).any())
    endless = replace(family, max_depth=None)
    runs = [list(probe_all_and_fewer(cells, endless, lambda some: _for_a_probe(some, limits))) for _ in range(n_runs)]
    probes = [min(same, key=lambda probe: probe.seconds) for same in zip(*runs, strict=False)]
    lightest = float(cells.weights.min())
    has_all_boxes = family.min_samples_leaf <= lightest and family.min_samples_split <= 2 * lightest
    is_known = probes[0].is_complete
    expected = estimate_boxes(cells) if has_all_boxes and not is_known else None
    census = take_census(cells, family) if not has_all_boxes and not is_known else None
    layers = Layers.told_by(probes, family.max_depth, most_boxes(cells), expected, census, has_all_boxes)
    prices = _Prices(layers, cells, _byte_counts(cells), _seconds_of(probes), has_numbers)
    by_depth = [prices.listed(depth) for depth in range(1, layers.n_levels + 1)]
    deepest = by_depth[-1] if by_depth else prices.listed(0) if layers.is_complete else _UNKNOWN
    is_known = layers.is_complete or (deepest.is_known and deepest.depth == family.max_depth)
    all_trees = replace(deepest, depth=None, is_known=is_known)
    folded = [prices.folded(cost, limits.n_workers) for cost in by_depth[FOLDED_LEVELS - 1 :]]
    return CostEstimate(all_trees, tuple(by_depth), tuple(folded))


def _for_a_probe(cells: Cells, limits: Limits) -> Limits:
    """Return limits with room for some boxes after what comes before the first one, if the given limits allow."""
    for_boxes = min(_PROBE_BYTES, max(_LEAST_PROBE_BYTES, limits.n_bytes // 4))
    n_bytes = min(_byte_counts(cells).before_first_box + for_boxes, max(limits.n_bytes, for_boxes))
    return Limits(n_bytes, n_jobs=limits.n_workers)


def _byte_counts(cells: Cells) -> _core.ByteCounts:
    return _core.ByteCounts(cells.n_cells, cells.n_bins, core_kinds(cells.kinds), int(cells.statistics.shape[1]))


@dataclass(frozen=True)
class _Rate:
    """Seconds."""

    a_split: float
    a_cell: float  # written or read


def _seconds_of(probes: list[Probe]) -> _Rate:
    """Share out the seconds of the probes between splits and cells."""
    work = np.array([[probe.n_splits_found, probe.n_cells_passed] for probe in probes], dtype=np.float64)
    rates, _ = nnls(work, np.array([probe.seconds for probe in probes]))
    a_split, a_cell = (_BEYOND_THE_CACHE * float(rate) for rate in rates)
    return _Rate(max(a_split, 1e-8), a_cell)


@dataclass(frozen=True)
class _Prices:
    """What layers cost."""

    layers: Layers
    cells: Cells
    n_bytes: _core.ByteCounts
    rate: _Rate
    has_numbers: bool

    @property
    def features_a_cut(self) -> float:
        """Statistics of a last layer are told by features, not by cuts of them."""
        return len(self.cells.n_bins) / max(1, sum(n - 1 for n in self.cells.n_bins))

    @cached_property
    def sums_a_cell(self) -> float:
        """What a fold adds a cell to, for each box."""
        cells = self.cells
        return _core.sums_a_cell(cells.codes, list(cells.n_bins), cells.statistics, cells.weights)

    def listed(self, depth: int) -> Cost:
        layers = self.layers
        boxes, splits = layers.n_boxes(depth), layers.n_splits(depth)
        held = max((self.held_after(level, depth) for level in range(depth)), default=float(self.n_bytes.a_box))
        seconds = self.rate.a_split * splits + self.rate.a_cell * layers.n_cells_passed(depth, self.features_a_cut)
        return Cost(depth, boxes, splits, self.n_bytes.before_first_box + held, seconds, layers.is_known(depth))

    def held_after(self, level: int, depth: int) -> float:
        """Bytes when the boxes of a level have been split: of deeper boxes the cells are kept, unless they are last."""
        layers, below = self.layers, level + 1
        boxes, splits = layers.n_boxes(below), layers.n_splits(below)
        in_boxes = layers.cells[level] + (layers.cells[below] if below < depth else 0)
        n_frontier = layers.boxes[level] + layers.boxes[below]
        return boxes * self.n_bytes.a_box + splits * self.n_bytes.a_split + 4 * in_boxes + 8 * n_frontier

    def folded(self, unfolded: Cost, n_workers: int) -> Cost:
        depth = (unfolded.depth or 0) - FOLDED_LEVELS
        listed = self.listed(depth)
        n_bytes = listed.n_bytes + 4 * float(self.layers.cells[depth]) + self.n_bytes.fold
        return replace(unfolded, n_bytes=n_bytes, seconds=listed.seconds + self.seconds_of_fold(depth) / n_workers)

    def seconds_of_fold(self, depth: int) -> float:
        """What one worker takes for a sweep below a layer; the core allows more, so that slow machines keep a limit."""
        a_pair = _SECONDS_A_PAIR * (_NUMBERS_TAKE if self.has_numbers else 1)
        a_sum = _SECONDS_A_SUM * (_MANY_TAKE if self.cells.n_cells > _MANY_CELLS else 1)
        return a_pair * self.layers.n_pairs(depth) + a_sum * self.layers.cells[depth] * self.sums_a_cell


def _rounded(number: float) -> str:
    """Write a large number with two digits.

    Examples
    --------
    >>> _rounded(12345678), _rounded(999), _rounded(math.nan)
    ('12 M', '999', '?')
    """
    if math.isnan(number):
        return "?"
    for unit, size in ((" T", 1e12), (" G", 1e9), (" M", 1e6), (" k", 1e3)):
        if number >= size:
            digits = max(0, 1 - math.floor(math.log10(number / size)))
            return f"{number / size:.{digits}f}{unit}"
    return f"{number:.0f}"


def _two_digits(seconds: float) -> str:
    """Write seconds with two digits, or all before the point.

    Examples
    --------
    >>> _two_digits(0.0123), _two_digits(150.4)
    ('0.012', '150')
    """
    return f"{seconds:.2g}" if seconds < 99.5 else f"{seconds:.0f}"


def _columns(cost: Cost, width: int = 12) -> str:
    if math.isnan(cost.n_bytes):
        return f"{'?':>{width}}{'?':>12}"
    return f"{format_bytes(round(cost.n_bytes)):>{width}}{_two_digits(cost.seconds):>12}"
