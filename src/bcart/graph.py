"""All boxes and splits of a family of trees."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.cached import cached_property
from bcart.cells import Cells
from bcart.cost import CostEstimate, predict_cost
from bcart.errors import BcartError, DepthLimitedWarning, MemoryBudgetError, TimeBudgetError
from bcart.limits import Limits, format_bytes
from bcart.listing import FOLDED_LEVELS, Family, Folding, core_kinds, list_boxes
from bcart.memory import Room, within_memory
from bcart.split_tests import Tests

_NO_BOX = np.iinfo(np.uint32).max
_SECONDS_TO_PREDICT = 5.0  # on a slow machine


@within_memory()
class Progress(NamedTuple):
    """How far a build is: `depth` is that of the layer whose `layer_size` boxes are being split.

    Examples
    --------
    >>> Progress(depth=3, n_boxes=900, n_splits=8000, n_expanded=20, layer_size=400, n_bytes=10**6).depth
    3
    """

    depth: int
    n_boxes: int
    n_splits: int
    n_expanded: int
    layer_size: int
    n_bytes: int


OnProgress = Callable[[Progress], object]


@within_memory()
@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """The graph of boxes that `build_graph` makes.

    Attributes
    ----------
    cells : Cells
    family : Family
    core : native arrays
    limits : Limits
        Those that it was built within, and that answers have to stay within.

    Examples
    --------
    >>> graph = build_graph(Cells(codes=[[0], [1], [2]], statistics=[[1, 0], [0, 1], [1, 0]]))
    >>> graph.n_boxes, graph.n_splits, graph.max_depth
    (6, 4, None)
    """

    cells: Cells
    family: Family
    core: _core.Graph
    limits: Limits = field(default_factory=Limits)

    @property
    def n_bytes(self) -> int:
        """Bytes that the boxes and splits take."""
        return self.core.n_bytes

    @property
    def n_boxes(self) -> int:
        """Number of boxes, those of a single cell included."""
        return self.core.n_boxes

    @property
    def n_splits(self) -> int:
        """Number of splits of all boxes together."""
        return self.core.n_splits

    @property
    def limits_of_answers(self) -> Limits:
        """Those of the graph, without a limit of time: that was for the fit."""
        return replace(self.limits, time_limit=None, seconds_spent=0.0)

    @property
    def max_depth(self) -> int | None:
        """Depth up to which the graph holds all trees of the family; None if it is known to hold all."""
        return self.core.max_depth

    @property
    def is_folded(self) -> bool:
        """Whether the splits of the last two levels are not listed, but found again when they are needed."""
        return self.core.is_folded

    @cached_property
    def fold(self) -> _core.Fold | None:
        """The last two levels of a folded graph."""
        if not self.is_folded:
            return None
        cells, family = self.cells, self.family
        sizes = family.min_samples_leaf, family.min_samples_split
        return _core.Fold(self.core, cells.codes, cells.statistics, cells.weights, *sizes, self.limits.n_workers)

    def is_in_fold(self, depth: int) -> bool:
        """Tell whether boxes at a depth may have splits that are not listed."""
        return self.is_folded and self.max_depth is not None and -FOLDED_LEVELS <= depth - self.max_depth < 0

    def unfold(self, cells: npt.NDArray[np.intp]) -> Graph:
        """Return a box, given by its cells, and its splits as a graph of their own."""
        inside = Cells.of_arrays(
            self.cells.codes[cells], self.cells.statistics[cells], self.cells.weights[cells], self.cells.kinds
        )
        return list_graph(inside, replace(self.family, max_depth=1), self.limits_of_answers, folding="never")

    def unfolded(self, max_bytes: int, n_jobs: int | None = None) -> Graph:
        """Return the same trees with all splits listed, if that takes no more than `max_bytes`; for small problems."""
        family = replace(self.family, max_depth=self.max_depth)
        n_bytes = max(1, max_bytes * 3 // 4)  # answers come on top
        limits = replace(self.limits_of_answers, max_memory=n_bytes, bytes_held=0, n_jobs=n_jobs)
        graph = list_graph(self.cells, family, limits, folding="never")
        if crossed_limit(graph) is not None:
            raise MemoryBudgetError(
                f"listing all boxes of trees up to depth {self.max_depth} takes more than the "
                f"{format_bytes(max_bytes)} that are left; lower max_depth, or use fewer bins or features"
            )
        return graph

    @staticmethod
    def numbers(boxes: npt.NDArray[np.uint32]) -> npt.NDArray[np.int64]:
        """Return the numbers of boxes as the core writes them: -1 for those in the fold, which have none."""
        return np.where(boxes == _NO_BOX, -1, boxes.astype(np.int64))

    @cached_property
    def tests(self) -> Tests:
        """The tests that splits may make, by their numbers; where there are very many, those that they do make."""
        return Tests(*map(np.asarray, self.core.all_tests()))

    def splits_of(self, box: int) -> range:
        """Return the numbers of the splits of a box."""
        first = int(self.core.first_split[box])
        return range(first, first + int(self.core.n_splits_of[box]))

    def find_split(
        self, box: int, cells: npt.NDArray[np.intp], is_left: npt.NDArray[np.bool_]
    ) -> tuple[int, int] | None:
        """Return the children of `box` that hold its left and its other cells; None if it has no such split."""
        splits, core = self.splits_of(box), self.core
        if not len(splits):
            return None
        numbers = np.asarray(core.tests)[splits.start : splits.stop]
        for split, number in zip(splits, numbers.tolist(), strict=True):
            test = self.tests.of(number)
            below = test.is_left(self.cells.codes[cells, test.feature])
            if np.array_equal(below, is_left):
                return int(core.left[split]), int(core.right[split])
            if np.array_equal(below, ~is_left):
                return int(core.right[split]), int(core.left[split])
        return None

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> tuple[Callable[..., Graph], tuple[Any, ...]]:
        core = self.core
        try:
            room = Room.to_pickle(core.n_bytes + 4 * core.n_splits)  # its tests are widened
        except MemoryBudgetError:
            warnings.warn(
                f"there is no memory for {format_bytes(core.n_bytes)} of boxes in a pickle: it holds the cells alone, "
                "and boxes are listed again when it is loaded",
                RuntimeWarning,
                stacklevel=_stack_level(),
            )
            return _list_unpickled, (self.cells, self.family, self.limits, core.max_depth, core.is_folded)
        of_boxes = core.first_split, core.n_splits_of, core.n_cells, core.statistics
        of_splits = core.tests, core.left, core.right, core.asked
        ending = core.max_depth, core.is_folded, core.ending.name
        state = (core.n_bins, self.cells.kinds, *map(np.asarray, of_boxes + of_splits), *ending)
        return _restore, (room, self.cells, self.family, self.limits, state)

    def __repr__(self) -> str:
        depth = "all trees" if self.max_depth is None else f"trees up to depth {self.max_depth}"
        return f"<Graph of {depth}: {self.cells.n_cells:,} cells, {self.n_boxes:,} boxes, {self.n_splits:,} splits>"


@within_memory()
def _restore(room: Room, cells: Cells, family: Family, limits: Limits, state: tuple[Any, ...]) -> Graph:
    n_bins, kinds, first_split, n_splits_of, n_cells, statistics, tests, left, right, asked = state[:10]
    max_depth, is_folded, ending = state[10:]
    core = _core.restore_graph(
        n_bins, core_kinds(kinds), first_split, n_splits_of, n_cells, statistics, tests.astype(np.uint32), left, right,
        asked, max_depth, is_folded, getattr(_core.Ending, ending),
    )  # fmt: skip
    return Graph(cells, family, core, limits)


@within_memory()
def _list_unpickled(cells: Cells, family: Family, limits: Limits, max_depth: int | None, is_folded: bool) -> Graph:
    untimed = replace(limits, time_limit=None)
    graph = list_again(cells, replace(family, max_depth=max_depth), untimed, is_folded)
    return replace(graph, family=family, limits=limits)


def list_again(
    cells: Cells, family: Family, limits: Limits, is_folded: bool, on_progress: OnProgress | None = None
) -> Graph:
    """Return a graph that has been built before, whose depth the family has; an error if the limits end it above."""
    graph = list_graph(cells, family, limits, on_progress, "always" if is_folded else "never")
    crossed, depth = crossed_limit(graph), family.max_depth
    if crossed is not None:
        trees = "all trees" if depth is None else f"the trees up to depth {depth}"
        raise crossed.error(f"listing {trees} of the model takes {crossed.budget}; {crossed.remedy}")
    return graph


def list_graph(
    cells: Cells,
    family: Family,
    limits: Limits,
    on_progress: OnProgress | None = None,
    folding: Folding = "automatic",
) -> Graph:
    """Do what `build_graph` does, but say nothing of a limit that was crossed."""
    report = None if on_progress is None else lambda *counts: on_progress(Progress(*counts))
    try:
        core = list_boxes(cells, family, limits, folding, report)
    except MemoryError:
        raise MemoryBudgetError("the system has no more memory to give; lower max_bins or use fewer features") from None
    graph = Graph(cells, family, core, limits)
    crossed = crossed_limit(graph)
    if crossed is not None and not graph.max_depth:
        raise crossed.error(
            f"listing the trees of depth 1 alone takes {crossed.budget}; lower max_bins, use fewer features, or "
            f"{crossed.remedy}"
        )
    return graph


@within_memory()
def build_graph(
    cells: Cells,
    family: Family | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
    folding: Folding = "automatic",
) -> Graph:
    """List all boxes and splits of a family of trees, layer by layer.

    When a limit would be crossed, the deepest complete layer stands: the graph then holds every tree of the family up
    to `Graph.max_depth`, and a `DepthLimitedWarning` says so.

    Parameters
    ----------
    cells : Cells
    family : Family, optional
    limits : Limits, optional
    on_progress : callable, optional
        Called now and then (at most every 50 ms) with a `Progress`; an exception ends the build.
    folding : {"automatic", "never", "always"}
        Where depth is limited, whether the last two levels of splits are left out of the graph, and found again when
        they are needed. That takes little memory, and more time for each answer.

    Raises
    ------
    MemoryBudgetError, TimeBudgetError
        If not even trees of depth 1 can be listed within the limits.

    Examples
    --------
    >>> build_graph(Cells(codes=[[0], [1], [2]], statistics=[[1, 0], [0, 1], [1, 0]]))
    <Graph of all trees: 3 cells, 6 boxes, 4 splits>
    """
    family, limits = family or Family(), limits or Limits()
    start = time.monotonic()
    graph = list_graph(cells, family, limits, on_progress, folding)
    if crossed_limit(graph) is not None:
        cost = None if _is_in_a_hurry(limits.after(start)) else _predicted(graph)
        warnings.warn(tell_depth(graph, cost), DepthLimitedWarning, stacklevel=_stack_level())
    return graph


class Crossed(NamedTuple):
    """The limit that ended a build: its error, what it takes, and what to do."""

    error: type[BcartError]
    budget: str
    remedy: str


def crossed_limit(graph: Graph) -> Crossed | None:
    """Return the limit that ended a build before all trees of the family were listed; None if none did."""
    memory, seconds = format_bytes(int(graph.limits.max_memory)), graph.limits.time_limit
    return {
        _core.Ending.MEMORY: Crossed(MemoryBudgetError, f"more than max_memory={memory}", "raise max_memory"),
        _core.Ending.TIME: Crossed(TimeBudgetError, f"longer than time_limit={seconds} s", "raise time_limit"),
        _core.Ending.SYSTEM: Crossed(MemoryBudgetError, "more memory than the system gives", "use a larger machine"),
        _core.Ending.NUMBERS: Crossed(MemoryBudgetError, "more boxes than can be numbered", "use fewer rows"),
    }.get(graph.core.ending)


def tell_depth(graph: Graph, cost: CostEstimate | None) -> str:
    """Say up to which depth a graph that a limit ended is exact, and what deeper ones cost if that is known."""
    crossed, depth = crossed_limit(graph), graph.max_depth
    assert crossed is not None
    assert depth is not None
    told = (
        f"listing all trees takes {crossed.budget}; the posterior is exact for trees up to depth {depth}. To go "
        f"deeper, lower max_bins, raise min_samples_leaf or {crossed.remedy}; max_depth={depth} asks for just this"
    )
    if cost is None or not cost.by_depth:
        return told
    deeper = [part for part in cost.by_depth if (part.depth or 0) > depth]
    return "\n  ".join([f"{told}. Expected:", *map(str, [*deeper, cost.all_trees])])


def _is_in_a_hurry(limits: Limits) -> bool:
    """Tell whether there is no time to predict a cost."""
    return limits.seconds is not None and limits.seconds - _SECONDS_TO_PREDICT < (limits.time_limit or 0.0) / 2


def _predicted(graph: Graph) -> CostEstimate | None:
    """Return what deeper trees will cost; None if there is no memory to find it out, since the graph stands without."""
    try:
        return predict_cost(graph.cells, graph.family, graph.limits.beside(graph.n_bytes), n_runs=1)
    except MemoryError:
        return None


def _stack_level() -> int:
    """Return how far up the caller outside of bcart is."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "bcart":
        frame, level = frame.f_back, level + 1
    return level
