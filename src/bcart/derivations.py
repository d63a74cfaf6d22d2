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
        """Yield the derived trees; equal ones are one object."""
        made: dict[bytes, Tree] = {}
        begin = 0
        for end, log_weight in zip(derivations.tree_ends, derivations.log_weight, strict=True):
            nodes, begin = slice(begin, int(end)), int(end)
            box, test = np.asarray(derivations.box[nodes]), np.asarray(derivations.test[nodes])
            key = box.tobytes() + test.tobytes()
            if key not in made:
                right = np.asarray(derivations.right[nodes])
                made[key] = self._tree(box, test, right, float(log_weight) - self.log_score)
            yield made[key]

    def _tree(
        self,
        box: npt.NDArray[np.uint32],
        test: npt.NDArray[np.int64],
        right: npt.NDArray[np.int32],
        log_probability: float,
    ) -> Tree:
        is_leaf = test < 0
        left = np.where(is_leaf, NO_CHILD, np.arange(1, len(test) + 1))
        statistics = self.graph.core.statistics[box]
        n_rows, moments = self.leaf.n_rows(statistics), self.leaf.moments(statistics)
        form = _look_up(self.graph.tests.form.astype(np.int64), test, -1)
        learned_left = (form == _core.Form.MISSING_LEFT) | _look_up(self.routing.asks_for_missing, test, False)
        heavier_left = n_rows[left] * (1 + _SHORT) >= n_rows[right]
        return Tree(
            feature=_look_up(self.graph.tests.feature.astype(np.int32), test, NO_CHILD),
            threshold=_look_up(self.routing.threshold, test, np.nan),
            left=left,
            right=right,
            statistics=statistics,
            predictive=moments.mean,
            feature_names=self.routing.grid.feature_names,
            classes=self.classes,
            categories=self.routing.grid.categories,
            category=_look_up(self.routing.category, test, -1),
            missing_left=np.where(form == _core.Form.BELOW, heavier_left, learned_left),
            saw_missing=learned_left | (form == _core.Form.MISSING_RIGHT),
            n_rows=n_rows,
            std=np.sqrt(moments.variance + moments.noise)[:, 0] if self.classes is None else np.full(len(box), np.nan),
            log_probability=log_probability,
        )


def _look_up(values: npt.NDArray[Any], test: npt.NDArray[np.int64], for_leaves: Any) -> npt.NDArray[Any]:
    """Return the value of each node's test."""
    found = np.full(len(test), for_leaves, dtype=values.dtype)
    found[test >= 0] = values[test[test >= 0]]
    return found
