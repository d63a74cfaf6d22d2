"""One decision tree, as immutable flat arrays in preorder: the root is node 0, left subtrees come first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray, as_floats

IntArray = npt.NDArray[np.int32]

NO_CHILD = -1


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A classification tree with the evidence in each of its nodes.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Index of the feature that a node tests, -1 for a leaf.
    threshold : array of shape (n_nodes,)
        A row goes left when ``x[feature] < threshold``; NaN for a leaf.
    left, right : arrays of shape (n_nodes,)
        Children, -1 for a leaf.
    statistics : array of shape (n_nodes, n_classes)
        Weighted class counts of the training rows in each node.
    predictive : array of shape (n_nodes, n_classes)
        Posterior predictive class probabilities, were the node a leaf.
    feature_names : tuple of str
    classes : array of shape (n_classes,)
    log_probability : float
        Log posterior probability of the tree under the posterior it came from.

    Notes
    -----
    Two trees are equal, and hash alike, when they make the same tests in the same places.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    statistics: FloatArray
    predictive: FloatArray
    feature_names: tuple[str, ...]
    classes: npt.NDArray[np.generic]
    log_probability: float = field(default=float("nan"))

    def __post_init__(self) -> None:
        for name, dtype in _ARRAY_TYPES.items():
            array: npt.NDArray[np.generic] = np.array(getattr(self, name), dtype=dtype, order="C")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        self._check_shape()

    def _check_shape(self) -> None:
        n_nodes, n_classes = len(self.feature), len(self.classes)
        per_node: tuple[npt.NDArray[Any], ...] = (self.threshold, self.left, self.right)
        is_split = self.feature >= 0
        nodes = np.arange(n_nodes)
        if (
            n_nodes == 0
            or any(len(array) != n_nodes for array in per_node)
            or not self.statistics.shape == self.predictive.shape == (n_nodes, n_classes)
            or (self.feature >= len(self.feature_names)).any()
            or (self.left[is_split] != nodes[is_split] + 1).any()
            or (self.right[is_split] <= self.left[is_split]).any()
            or (self.right[is_split] >= n_nodes).any()
        ):
            raise InvalidModelError("the arrays of a tree must describe its nodes in preorder, one entry a node")

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.feature < 0))

    @cached_property
    def depth(self) -> int:
        """Number of tests on the longest way from the root to a leaf."""
        depths = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.feature >= 0):
            depths[[self.left[node], self.right[node]]] = depths[node] + 1
        return int(depths.max())

    def apply(self, X: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the leaf that each row of `X` falls into, as a node number."""
        rows = self._as_rows(X)
        node = np.zeros(len(rows), dtype=np.int64)
        for _ in range(self.depth):
            active = np.flatnonzero(self.feature[node] >= 0)
            here = node[active]
            goes_left = rows[active, self.feature[here]] < self.threshold[here]
            node[active] = np.where(goes_left, self.left[here], self.right[here])
        return node

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the predictive class probabilities of the leaf that each row falls into."""
        return self.predictive[self.apply(X)]

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.generic]:
        """Return the most probable class of each row; the first of equals."""
        return np.asarray(self.classes[np.argmax(self.predict_proba(X), axis=1)])

    def _as_rows(self, X: npt.ArrayLike) -> FloatArray:
        rows = as_floats(X, "X")
        if rows.ndim != 2 or rows.shape[1] != len(self.feature_names):
            raise InvalidDataError(
                f"the tree was made from {len(self.feature_names)} features "
                f"({', '.join(self.feature_names)}), but X has shape {rows.shape}"
            )
        if np.isnan(rows).any():
            column = int(np.flatnonzero(np.isnan(rows).any(axis=0))[0])
            raise InvalidDataError(
                f"column {self.feature_names[column]!r} contains NaN; fill in or drop missing values"
            )
        return rows

    @cached_property
    def _structure(self) -> tuple[bytes, bytes]:
        return self.feature.tobytes(), self.threshold.tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._structure == other._structure

    def __hash__(self) -> int:
        return hash(self._structure)

    def __repr__(self) -> str:
        return f"<Tree: {self._summary()}>"

    def __str__(self) -> str:
        return "\n".join([f"Tree with {self._summary()}", *self._lines()])

    def _summary(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        known = "" if np.isnan(self.log_probability) else f", posterior probability {np.exp(self.log_probability):.3g}"
        return f"{leaves}, depth {self.depth}{known}"

    def _lines(self) -> Iterator[str]:
        waiting = [(0, "", "")]
        while waiting:
            node, lead, indent = waiting.pop()
            if self.feature[node] < 0:
                yield lead + self._describe_leaf(node)
                continue
            yield f"{lead}{self.feature_names[self.feature[node]]} < {self.threshold[node]:.10g}"
            waiting.append((self.right[node], f"{indent}└─ no:  ", f"{indent}   "))
            waiting.append((self.left[node], f"{indent}├─ yes: ", f"{indent}│  "))

    def _describe_leaf(self, node: int) -> str:
        """Name the most probable class and its probability, then counts (and all probabilities, if more than two)."""
        counts, chances = self.statistics[node], self.predictive[node]
        best = int(np.argmax(chances))
        shown = np.sort(np.argsort(-chances, kind="stable")[:_MOST_CLASSES])
        listed = ", ".join(f"{self.classes[c]}: {counts[c]:,.10g}" for c in shown)
        if len(counts) > 2:
            listed += "; p = " + ", ".join(f"{chances[c]:.3f}" for c in shown)
        more = ", …" if len(counts) > _MOST_CLASSES else ""
        return f"{self.classes[best]}  p={chances[best]:.3f}  ({listed}{more})"


_MOST_CLASSES = 5  # that a leaf names when it is printed
_ARRAY_TYPES: dict[str, type | None] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "statistics": np.float64,
    "predictive": np.float64,
    "classes": None,
}
