"""From derivations of the grammar, which are numbers of boxes and tests, to trees that people can read, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.graph import Graph
from bcart.grid import Grid
from bcart.leaves import LeafModel
from bcart.parse import FloatArray
from bcart.priors import TreePrior
from bcart.routing import Routing
from bcart.tree import NO_CHILD, Tree

_LEAST_ROOM = 1 << 20  # for trees that are made at once, however little is left
_SHORT = 1e-9  # as in the core: one part in a billion less weight is not less


@dataclass(frozen=True, eq=False)
class TreeMaker:
    """Makes the trees of one posterior."""

    graph: Graph
    leaf: LeafModel
    routing: Routing
    classes: npt.NDArray[Any] | None
    log_score: float

    def sample(self, grammar: _core.Grammar, seed: int, n: int, room: int, n_workers: int) -> Iterator[Tree]:
        """Yield the first n random trees of a seed; as many are made at once as there is room for besides them."""
        n_nodes, n_done = self._most_nodes, 0
        while n_done < n:
            n_bytes_each = n_nodes * self._bytes_a_node
            n_at_once = min(n - n_done, max(1, max(room // 2, _LEAST_ROOM) // n_bytes_each))
            rest = max(0, room - n_at_once * n_bytes_each)
            derivations = grammar.derive_samples(seed, n_at_once, rest, n_workers, n_done)
            yield from self.trees(derivations)
            n_done += n_at_once
            n_nodes = math.ceil(len(derivations.test) / n_at_once)

    @property
    def _most_nodes(self) -> int:
        """Return how many nodes a tree may have."""
        n_leaves = self.graph.cells.n_cells
        depth = self.graph.max_depth
        return 2 * (n_leaves if depth is None else min(n_leaves, 2 ** min(depth, n_leaves))) - 1

    @property
    def _bytes_a_node(self) -> int:
        """Return what a node takes until its tree is made, besides what the tree holds."""
        return 24 * self.leaf.n_statistics + 32 * self.leaf.n_outputs + 120

    def trees(self, derivations: _core.Derivations) -> Iterator[Tree]:
        """Yield the derived trees. Their arrays are made for all of them at once, and each gets its part."""
        arrays = self._arrays(derivations)
        begin = 0
        for end, log_weight in zip(derivations.tree_ends.tolist(), derivations.log_weight.tolist(), strict=True):
            yield Tree._trusted(
                **{name: array[begin:end] for name, array in arrays.items()},
                feature_names=self.routing.grid.feature_names,
                classes=self.classes,
                categories=self.routing.grid.categories,
                log_probability=min(0.0, log_weight - self.log_score),
                leaf=self.leaf,
            )
            begin = end

    def _arrays(self, derivations: _core.Derivations) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all trees, one behind the other."""
        test, right = np.asarray(derivations.test), np.asarray(derivations.right)
        ends = np.asarray(derivations.tree_ends).astype(np.intp)
        n_nodes = np.diff(ends, prepend=0)
        node, root = np.arange(len(test)), np.repeat(ends - n_nodes, n_nodes)
        is_leaf = test < 0
        statistics = np.array(derivations.statistics).reshape(-1, self.leaf.n_statistics)
        n_rows = self.leaf.n_rows(statistics)
        form = _look_up(self.graph.tests.form.astype(np.int64), test, -1)
        learned_left = (form == _core.Form.MISSING_LEFT) | _look_up(self.routing.asks_for_missing, test, False)
        heavier_left = _is_heavier_left(n_rows, root + right, is_leaf)
        arrays: dict[str, npt.NDArray[Any]] = {
            "feature": _look_up(self.graph.tests.feature.astype(np.int32), test, NO_CHILD),
            "threshold": _look_up(self.routing.threshold, test, np.nan),
            "left": np.where(is_leaf, NO_CHILD, node - root + 1).astype(np.int32),
            "right": right.astype(np.int32),
            "statistics": statistics,
            "predictive": self.leaf.predictive(statistics),
            "category": _look_up(self.routing.category, test, -1),
            "missing_left": np.where(form == _core.Form.BELOW, heavier_left, learned_left),
            "saw_missing": ~is_leaf & (form != _core.Form.BELOW),
            "n_rows": n_rows,
            "std": np.full(len(test), np.nan)
            if self.classes is not None
            else self.leaf.predictive_std(statistics)[:, 0],
        }
        for array in arrays.values():
            array.flags.writeable = False
        return arrays


def _is_heavier_left(
    weight: FloatArray, right: npt.NDArray[np.intp], is_leaf: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Tell for each node, with its right child by place, whether its left child has no less weight."""
    result = np.zeros(len(weight), dtype=np.bool_)
    split = np.flatnonzero(~is_leaf)
    result[split] = weight[split + 1] * (1 + _SHORT) >= weight[right[split]]
    return result


def _look_up(values: npt.NDArray[Any], test: npt.NDArray[np.int64], for_leaves: Any) -> npt.NDArray[Any]:
    """Return the value of each node's test."""
    found = np.full(len(test), for_leaves, dtype=values.dtype)
    found[test >= 0] = values[test[test >= 0]]
    return found


class _Spot(NamedTuple):
    """A node of a tree, and the box of a graph that it stands for."""

    node: int
    depth: int
    graph: Graph
    box: int
    cells: npt.NDArray[np.intp]  # of the graph


def log_weight(tree: Tree, graph: Graph, grid: Grid, prior: TreePrior, leaf: LeafModel) -> float:
    """Return the log of a tree's prior weight times its likelihood, -inf if it is not one of the family."""
    result = 0.0
    waiting = [_Spot(0, 0, graph, 0, np.arange(graph.cells.n_cells))]
    while waiting:
        spot = waiting.pop()
        if graph.is_in_fold(spot.depth):
            spot = _unfolded(spot)
        n_splits = 0 if spot.depth == graph.max_depth else len(spot.graph.splits_of(spot.box))
        if tree.feature[spot.node] < 0:
            statistics = np.asarray(spot.graph.core.statistics)[[spot.box]]
            result += float(leaf.log_marginal(statistics)[0]) + prior.log_stop(spot.depth, n_splits)
            continue
        is_left = _cells_on_the_left(tree, spot, grid)
        children = None if is_left is None or n_splits == 0 else spot.graph.find_split(spot.box, spot.cells, is_left)
        if is_left is None or children is None:
            return -np.inf
        result += prior.log_split(spot.depth, n_splits)
        sides = (tree.left, children[0], is_left), (tree.right, children[1], ~is_left)
        for child, box, is_here in sides:
            waiting.append(_Spot(int(child[spot.node]), spot.depth + 1, spot.graph, box, spot.cells[is_here]))
    return result


def _unfolded(spot: _Spot) -> _Spot:
    """Return the same spot where the splits of its box are listed."""
    graph = spot.graph.unfold(spot.cells)
    return spot._replace(graph=graph, box=0, cells=np.arange(graph.cells.n_cells))


def _cells_on_the_left(tree: Tree, spot: _Spot, grid: Grid) -> npt.NDArray[np.bool_] | None:
    """Tell which cells a node of a tree sends left; None if its threshold cuts through one of them."""
    node, feature = spot.node, int(tree.feature[spot.node])
    test = float(tree.threshold[node]), _place_of_label(tree, node, grid), bool(tree.missing_left[node])
    return grid.codes_on_the_left(feature, spot.graph.cells.codes[spot.cells, feature], *test)


def _place_of_label(tree: Tree, node: int, grid: Grid) -> int:
    """Return the place in a grid of the label that a node asks for; -1 if it asks for none, or for one not known."""
    asked, known = tree._label(node), grid.categories[tree.feature[node]] or ()
    return known.index(asked) if asked in known else -1
