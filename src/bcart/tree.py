"""One decision tree, as immutable flat arrays in preorder: the root is node 0, left subtrees come first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError
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
        return "\n".join([f"Tree with {self._summary()}", *self._lines(0, "", "")])

    def _summary(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        known = "" if np.isnan(self.log_probability) else f", posterior probability {np.exp(self.log_probability):.3g}"
        return f"{leaves}, depth {self.depth}{known}"

    def _lines(self, node: int, lead: str, indent: str) -> Iterator[str]:
        yield lead + (self._test(node) if self.feature[node] >= 0 else self._leaf(node))
        if self.feature[node] >= 0:
            yield from self._lines(self.left[node], f"{indent}├─ yes: ", f"{indent}│  ")
            yield from self._lines(self.right[node], f"{indent}└─ no:  ", f"{indent}   ")

    def _test(self, node: int) -> str:
        return f"{self.feature_names[self.feature[node]]} < {self.threshold[node]:.10g}"

    def _leaf(self, node: int) -> str:
        best = int(np.argmax(self.predictive[node]))
        counts = ", ".join(
            f"{label} {count:,.10g}"
            for label, count in zip(self.classes, self.statistics[node], strict=True)
            if count > 0
        )
        return f"{self.classes[best]}  p={self.predictive[node, best]:.3f}  ({counts or 'no rows'})"


_ARRAY_TYPES: dict[str, type | None] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "statistics": np.float64,
    "predictive": np.float64,
    "classes": None,
}
