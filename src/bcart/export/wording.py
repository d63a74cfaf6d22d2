"""What a node says, in words and numbers for people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bcart.cached import cached_property
from bcart.export.nodes import weights_of
from bcart.parse import FloatArray
from bcart.tree import Tree


@dataclass(frozen=True, eq=False)
class Wording:
    """Writes the predictions of a tree's nodes, with credible intervals of some level where the leaf model is known."""

    tree: Tree
    level: float

    @cached_property
    def interval(self) -> tuple[FloatArray, FloatArray] | None:
        """The ends of the intervals of all nodes and outputs."""
        return None if self.tree.leaf is None else self.tree.interval(self.level)

    @cached_property
    def weights(self) -> FloatArray:
        """The weight of the rows in each node."""
        return weights_of(self.tree)

    @property
    def percent(self) -> str:
        """The level."""
        return f"{100 * self.level:.10g} %"

    def best(self, node: int) -> int:
        """Return the number of the most probable class; of the only output in regression."""
        return int(np.argmax(self.tree.predictive[node]))

    def name(self, node: int) -> str:
        """Return the most probable class, or the expected target."""
        if self.tree.classes is None:
            return self.number(self.tree.predictive[node, 0])
        return str(self.tree.classes[self.best(node)])

    def ends(self, node: int) -> tuple[str, str] | None:
        """Return the ends of the interval of what `name` names."""
        if self.interval is None:
            return None
        low, high = (self.number(end[node, self.best(node)]) for end in self.interval)
        return low, high

    def rows(self, node: int) -> str:
        """Return the number of rows, empty if it is not known."""
        weight = float(self.weights[node])
        return "" if np.isnan(weight) else f"{weight:,.10g}"

    def number(self, value: float) -> str:
        """Write a probability, or a target."""
        return f"{value:.5g}" if self.tree.classes is None else f"{value:.3f}"
