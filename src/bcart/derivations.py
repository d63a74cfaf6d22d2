"""From derivations of the grammar, which are numbers of boxes and tests, to trees that people can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.graph import Graph
from bcart.leaves import LeafModel
from bcart.routing import Routing
from bcart.tree import NO_CHILD, Tree

_SHORT = 1e-9  # as in the core: one part in a billion less weight is not less


@dataclass(frozen=True, eq=False)
class TreeMaker:
    """Makes the trees of one posterior."""

    graph: Graph
    leaf: LeafModel
    routing: Routing
    classes: npt.NDArray[Any] | None
    log_score: float

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
                log_probability=log_weight - self.log_score,
            )
            begin = end

    def _arrays(self, derivations: _core.Derivations) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all trees, one behind the other."""
        test, right = np.asarray(derivations.test), np.asarray(derivations.right)
        ends = np.asarray(derivations.tree_ends).astype(np.intp)
        n_nodes = np.diff(ends, prepend=0)
        node, root = np.arange(len(test)), np.repeat(ends - n_nodes, n_nodes)
        is_leaf = test < 0
        statistics = self.graph.core.statistics[derivations.box]
        n_rows = self.leaf.n_rows(statistics)
        form = _look_up(self.graph.tests.form.astype(np.int64), test, -1)
        learned_left = (form == _core.Form.MISSING_LEFT) | _look_up(self.routing.asks_for_missing, test, False)
        heavier_left = np.zeros(len(test), dtype=np.bool_)
        left_rows, right_rows = n_rows[node[~is_leaf] + 1], n_rows[(root + right)[~is_leaf]]
        heavier_left[~is_leaf] = left_rows * (1 + _SHORT) >= right_rows
        arrays: dict[str, npt.NDArray[Any]] = {
            "feature": _look_up(self.graph.tests.feature.astype(np.int32), test, NO_CHILD),
            "threshold": _look_up(self.routing.threshold, test, np.nan),
            "left": np.where(is_leaf, NO_CHILD, node - root + 1).astype(np.int32),
            "right": right.astype(np.int32),
            "statistics": statistics,
            "predictive": self.leaf.predictive(statistics),
            "category": _look_up(self.routing.category, test, -1),
            "missing_left": np.where(form == _core.Form.BELOW, heavier_left, learned_left),
            "saw_missing": learned_left | (form == _core.Form.MISSING_RIGHT),
            "n_rows": n_rows,
            "std": np.full(len(test), np.nan)
            if self.classes is not None
            else self.leaf.predictive_std(statistics)[:, 0],
        }
        for array in arrays.values():
            array.flags.writeable = False
        return arrays


def _look_up(values: npt.NDArray[Any], test: npt.NDArray[np.int64], for_leaves: Any) -> npt.NDArray[Any]:
    """Return the value of each node's test."""
    found = np.full(len(test), for_leaves, dtype=values.dtype)
    found[test >= 0] = values[test[test >= 0]]
    return found
