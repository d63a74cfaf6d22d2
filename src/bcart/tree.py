"""One decision tree, as immutable flat arrays in preorder: the root is node 0, left subtrees come first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bcart.cached import cached_property
from bcart.deadline import steps
from bcart.errors import InvalidModelError
from bcart.leaves import LeafModel, central_interval
from bcart.memory import within_memory
from bcart.parse import FloatArray, Unchangeable, as_classes, as_exact, as_tail, as_tuple
from bcart.questions import describe_test
from bcart.tables import Labels, as_categories, as_numbers

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]

NO_CHILD = -1
_NOT_GIVEN: Any = None


@within_memory()
@dataclass(frozen=True, eq=False, repr=False)
class Tree(Unchangeable):
    """A decision tree with the evidence in each of its nodes.

    A node asks one of three questions, and a row goes left if the answer is yes: is a number below a threshold, is a
    label a certain one (`category`), is the value missing (then the threshold is minus infinity and `missing_left`
    holds). Labels that were never seen are not the one asked for, and go right.

    Parameters
    ----------
    feature : array of shape (n_nodes,)
        Index of the feature that a node tests, -1 for a leaf.
    threshold : array of shape (n_nodes,)
        A row goes left when ``x[feature] < threshold``; NaN for a leaf, and for a test of a label.
    left, right : arrays of shape (n_nodes,)
        Children, -1 for a leaf.
    statistics : array of shape (n_nodes, n_statistics)
        Sums over the training rows in each node, such as weighted class counts.
    predictive : array of shape (n_nodes, n_outputs)
        What a node would predict, were it a leaf: class probabilities, or the expected target.
    feature_names : tuple of str
    classes : array of shape (n_classes,), or None for regression
    categories : tuple with the labels of each nominal feature, and None for each numeric one
    category : array of shape (n_nodes,)
        Place of the label that a node asks for among the feature's categories, -1 where it asks for none.
    missing_left : array of shape (n_nodes,)
        Whether missing values go left.
    saw_missing : array of shape (n_nodes,)
        Whether the data said so, or the question does: who asks for a label sends them with the rest. False for a
        threshold whose training rows had no missing value on its feature; then the heavier side takes them.
    n_rows : array of shape (n_nodes,)
        Weight of the training rows in each node.
    std : array of shape (n_nodes,)
        Standard deviation of the target that a node would predict, for regression.
    log_probability : float
        Log posterior probability of the tree under the posterior it came from.
    leaf : LeafModel or None
        The model that made `predictive` of `statistics`, if it is known: it tells how sure a node is, see `interval`.

    Notes
    -----
    Two trees are equal, and hash alike, when they make the same tests in the same places.

    Examples
    --------
    >>> tree = Tree(feature=[0, -1, -1], threshold=[2.5, float("nan"), float("nan")], left=[1, -1, -1],
    ...             right=[2, -1, -1], statistics=[[3, 3], [3, 0], [0, 3]],
    ...             predictive=[[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]], feature_names=("dose",), classes=["ill", "well"])
    >>> print(tree)
    Tree with 2 leaves, depth 1
    dose < 2.5
    ├─ yes: ill  p=0.800  (ill: 3, well: 0)
    └─ no:  well  p=0.800  (ill: 0, well: 3)
    >>> tree.predict([[1.0], [3.0]]).tolist()
    ['ill', 'well']
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    statistics: FloatArray
    predictive: FloatArray
    feature_names: tuple[str, ...]
    classes: npt.NDArray[np.generic] | None = None
    categories: tuple[Labels | None, ...] = ()
    category: IntArray = _NOT_GIVEN
    missing_left: BoolArray = _NOT_GIVEN
    saw_missing: BoolArray = _NOT_GIVEN
    n_rows: FloatArray = _NOT_GIVEN
    std: FloatArray = _NOT_GIVEN
    log_probability: float = float("nan")
    leaf: LeafModel | None = None

    def __post_init__(self) -> None:
        names = as_tuple(self.feature_names, "feature_names")
        parts: dict[str, Any] = {"feature_names": names, "categories": as_categories(self.categories, len(names))}
        if self.classes is not None:
            parts["classes"] = as_classes(self.classes)
        n_nodes = as_exact(self.feature, "feature", np.int32).size
        for name, (dtype, default) in ARRAYS.items():
            given = getattr(self, name)
            array = np.full(n_nodes, default, dtype) if given is None else as_exact(given, name, dtype)
            array.flags.writeable = False
            parts[name] = array
        self.__dict__.update(parts)
        self._check_shape()

    @classmethod
    def _trusted(cls, **parts: Any) -> Tree:
        """Return a tree of parts that are known to be right: all of them, arrays of the right types."""
        tree = object.__new__(cls)
        tree.__dict__.update(parts)
        return tree

    def _check_shape(self) -> None:
        n_nodes, n_features = self.feature.size, len(self.feature_names)
        shapes = [getattr(self, name).shape[: 1 if name in _TABLES else None] for name in ARRAYS]
        if (
            n_nodes == 0
            or any(shape != (n_nodes,) for shape in shapes)
            or any(getattr(self, name).ndim != 2 for name in _TABLES)
            or (self.classes is not None and self.predictive.shape[1] != len(self.classes))
            or len(self.categories) != n_features
            or not ((self.feature >= NO_CHILD) & (self.feature < n_features)).all()
            or not self._is_preorder()
        ):
            raise InvalidModelError("the arrays of a tree must describe its nodes in preorder, one entry a node")
        self._check_questions(np.flatnonzero(self.feature >= 0))
        if not isinstance(self.leaf, LeafModel | None):
            raise InvalidModelError(f"leaf={self.leaf!r} must be a LeafModel, or None")
        if self.leaf is not None and self.leaf.n_statistics != self.statistics.shape[1]:
            raise InvalidModelError(f"the nodes have {self.statistics.shape[1]} statistics, but {self.leaf} has others")

    def _check_questions(self, nodes: npt.NDArray[np.intp]) -> None:
        for node in nodes:
            labels, category = self.categories[self.feature[node]], self.category[node]
            threshold = self.threshold[node]
            asks_for_label = labels is not None and 0 <= category < len(labels)
            is_below = labels is None and category < 0 and np.isfinite(threshold)
            asks_for_missing = category < 0 and threshold == -np.inf and self.missing_left[node]
            if not (asks_for_label or is_below or asks_for_missing):
                raise InvalidModelError(
                    f"node {node} must ask for a label of its feature, a finite threshold, or missing values"
                )

    def _is_preorder(self) -> bool:
        """Tell whether each subtree ends where the next one begins, and that of the root with the last node."""
        end = np.arange(1, self.n_nodes + 1).tolist()
        left, right = self.left.tolist(), self.right.tolist()
        for node in reversed(np.flatnonzero(self.feature >= 0).tolist()):
            if not (left[node] == node + 1 < right[node] < self.n_nodes) or end[node + 1] != right[node]:
                return False
            end[node] = end[right[node]]
        return bool(end[0] == self.n_nodes)

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
        columns = as_numbers(X, self.feature_names, self.categories)
        leaves = [self._apply(np.column_stack([column[rows] for column in columns])) for rows in steps(len(columns[0]))]
        return np.concatenate([np.empty(0, np.int64), *leaves])

    def _apply(self, rows: FloatArray) -> npt.NDArray[np.int64]:
        node = np.zeros(len(rows), dtype=np.int64)
        for _ in range(self.depth):
            active = np.flatnonzero(self.feature[node] >= 0)
            here = node[active]
            goes_left = self._answers(here, rows[active, self.feature[here]])
            node[active] = np.where(goes_left, self.left[here], self.right[here])
        return node

    def _answers(self, nodes: npt.NDArray[np.int64], values: FloatArray) -> BoolArray:
        """Tell for each node whether its value goes left."""
        is_label = self.category[nodes] >= 0
        known = np.where(is_label, values == self.category[nodes], values < self.threshold[nodes])
        return np.where(np.isnan(values), self.missing_left[nodes], known)

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the predictive class probabilities of the leaf that each row falls into."""
        if self.classes is None:
            raise InvalidModelError("a regression tree has no class probabilities; use predict")
        return self.predictive[self.apply(X)]

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[np.generic]:
        """Return the most probable class of each row, the first of equals; or the expected target."""
        predictive = self.predictive[self.apply(X)]
        return predictive[:, 0] if self.classes is None else np.asarray(self.classes[np.argmax(predictive, axis=1)])

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the central credible intervals of what each node predicts, were it a leaf.

        Two arrays of shape (n_nodes, n_outputs): of the probability of each class, or of the expected target. They hold
        if this tree is the right one; `Posterior.uncertainty` averages over all trees.
        """
        if self.leaf is None:
            raise InvalidModelError("a tree made by hand has no leaf model; give it one (leaf=) to ask for intervals")
        leaf, outputs = self.leaf, range(self.leaf.n_outputs)
        return central_interval(
            lambda end: np.column_stack([leaf.output_quantile(end, self.statistics, output) for output in outputs]),
            as_tail(level),
        )

    def _label(self, node: int) -> Any:
        """Return the label that a node asks for; None if it asks for none."""
        labels = self.categories[self.feature[node]]
        return None if labels is None or self.category[node] < 0 else labels[self.category[node]]

    @cached_property
    def _structure(self) -> tuple[Any, ...]:
        arrays = self.feature, self.threshold, self.category >= 0, self.missing_left
        labels = (self._label(node) for node in np.flatnonzero(self.category >= 0).tolist())
        return (*(array.tobytes() for array in arrays), *labels)

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
            yield lead + self.describe_test(node)
            waiting.append((self.right[node], f"{indent}└─ no:  ", f"{indent}   "))
            waiting.append((self.left[node], f"{indent}├─ yes: ", f"{indent}│  "))

    def describe_test(self, node: int) -> str:
        """Write the question that a node asks; yes goes left."""
        feature, learned_left = int(self.feature[node]), bool(self.missing_left[node] and self.saw_missing[node])
        name, labels = self.feature_names[feature], self.categories[feature]
        return describe_test(name, labels, self.threshold[node], int(self.category[node]), learned_left)

    def _describe_leaf(self, node: int) -> str:
        if self.classes is None:
            return f"{self.predictive[node, 0]:.6g} ± {self.std[node]:.3g}  (n = {self.n_rows[node]:,.10g})"
        return self._describe_classes(self.classes, self.statistics[node], self.predictive[node])

    @staticmethod
    def _describe_classes(classes: npt.NDArray[np.generic], counts: FloatArray, chances: FloatArray) -> str:
        """Name the most probable class and its probability, then counts (and all probabilities, if more than two)."""
        best = int(np.argmax(chances))
        shown = np.sort(np.argsort(-chances, kind="stable")[:_MOST_CLASSES])
        listed = ", ".join(f"{classes[c]}: {counts[c]:,.10g}" for c in shown)
        if len(counts) > 2:
            listed += "; p = " + ", ".join(f"{chances[c]:.3f}" for c in shown)
        more = ", …" if len(counts) > _MOST_CLASSES else ""
        return f"{classes[best]}  p={chances[best]:.3f}  ({listed}{more})"

    # -- doors to bcart.export -----------------------------------------------------------------------------------------

    def to_text(self, level: float = 0.95) -> str:
        """Write a rule for each leaf, on a line: conditions, prediction, credible interval of a level, number of rows.

        Conditions on one feature are put together. A tree without a leaf model has no intervals.
        """
        from bcart.export import write_text

        return write_text(self, level)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as nested dicts and lists of text and numbers; `bcart.export.plain` documents them."""
        from bcart.export import write_dict

        return write_dict(self)

    @staticmethod
    def from_dict(record: dict[str, Any]) -> Tree:
        """Return the tree that `to_dict` was asked of; `FormatError` if there is none."""
        from bcart.export import read_dict

        return read_dict(record)

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON."""
        from bcart.export import write_json

        return write_json(self, indent)

    @staticmethod
    def from_json(text: str | bytes) -> Tree:
        """Return the tree that `to_json` was asked of; `FormatError` if there is none."""
        from bcart.export import read_json

        return read_json(text)

    def to_dot(self, level: float = 0.95) -> str:
        """Draw the tree in the language of Graphviz: ``dot -Tsvg`` makes a picture of it."""
        from bcart.export import write_dot

        return write_dot(self, level)

    def to_sklearn(self) -> Any:
        """Return a fitted ``DecisionTreeClassifier`` or ``DecisionTreeRegressor`` that predicts the same.

        Its nodes have the same numbers. scikit-learn rounds values to single precision, so predictions are the same for
        all rows of float32; a number of double precision may differ if a threshold lies between it and its rounding.
        Missing values go the same way. Trees that ask for labels are refused.
        """
        from bcart.export import build_sklearn

        return build_sklearn(self)

    def to_sql(self, probability_of: Any = None) -> str:
        """Write a CASE expression of standard SQL for what `predict` returns, or for the probability of a class.

        Columns are named as features; NULL is a missing value, NaN (which sorts above all numbers) is not.

        Parameters
        ----------
        probability_of : label, optional
            The class whose probability is asked for.
        """
        from bcart.export import write_sql

        return write_sql(self, probability_of)

    def to_c(self, name: str = "predict", dtype: Literal["double", "float"] = "double") -> str:
        """Write a C99 function of the features of a row that needs no library and allocates nothing.

        It returns the number of the most probable class, or the expected target; for classes, a second function writes
        probabilities. Labels are given by their places in `categories`, -1 for others; NaN is a missing value.

        Parameters
        ----------
        name : str
            Of the function; the second one is called ``<name>_proba``.
        dtype : {"double", "float"}
            Type of features and results. For "float" the same holds as for `to_sklearn`.
        """
        from bcart.export import write_c

        return write_c(self, name, dtype)

    def _repr_html_(self) -> str:
        from bcart.export import write_html

        return write_html(self)


_MOST_CLASSES = 5  # that a leaf names when it is printed
_TABLES = ("statistics", "predictive")  # have a row a node
ARRAYS: dict[str, tuple[type, float]] = {  # with what stands for an array that is not given
    "feature": (np.int32, NO_CHILD),
    "threshold": (np.float64, np.nan),
    "left": (np.int32, NO_CHILD),
    "right": (np.int32, NO_CHILD),
    "statistics": (np.float64, 0),
    "predictive": (np.float64, 0),
    "category": (np.int32, -1),
    "missing_left": (np.bool_, False),
    "saw_missing": (np.bool_, False),
    "n_rows": (np.float64, np.nan),
    "std": (np.float64, np.nan),
}
