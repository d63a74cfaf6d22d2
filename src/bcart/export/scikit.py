"""Trees as fitted decision trees of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as NativeTree

from bcart.errors import InvalidModelError
from bcart.export.nodes import weights_of
from bcart.memory import within_memory
from bcart.parse import FloatArray, name_features
from bcart.tree import Tree

_LEAF = -2  # stands for the feature and the threshold of a leaf


@within_memory()
def build_sklearn(tree: Tree) -> Any:
    """Return a fitted DecisionTreeClassifier or DecisionTreeRegressor; the numbers of its nodes are the same."""
    _refuse_labels(tree)
    estimator = DecisionTreeRegressor() if tree.classes is None else DecisionTreeClassifier()
    estimator.n_features_in_ = estimator.max_features_ = len(tree.feature_names)
    estimator.n_outputs_ = 1
    if tree.feature_names != name_features(len(tree.feature_names), None):
        estimator.feature_names_in_ = np.array(tree.feature_names, dtype=object)
    if tree.classes is not None:
        estimator.classes_ = np.array(tree.classes)
        estimator.n_classes_ = np.intp(len(tree.classes))
    estimator.tree_ = _native(tree)
    return estimator


def _refuse_labels(tree: Tree) -> None:
    asked = sorted({int(f) for f in tree.feature if f >= 0 and tree.categories[f] is not None})
    if asked:
        names = ", ".join(repr(tree.feature_names[feature]) for feature in asked)
        raise InvalidModelError(
            f"trees of scikit-learn cannot ask for labels, as this one does of {names}; turn each label into a column "
            "of 0 and 1 (OneHotEncoder) before fitting, which allows the same tests, or use another export"
        )


def _native(tree: Tree) -> NativeTree:
    n_classes = 1 if tree.classes is None else len(tree.classes)
    native = NativeTree(len(tree.feature_names), np.array([n_classes], dtype=np.intp), 1)
    native.__setstate__(
        {
            "max_depth": tree.depth,
            "node_count": tree.n_nodes,
            "nodes": _nodes(tree),
            "values": np.ascontiguousarray(tree.predictive[:, None, :]),
        }
    )
    return native


def _nodes(tree: Tree) -> npt.NDArray[np.void]:
    is_leaf = tree.feature < 0
    weights = _known_weights(tree)
    nodes = np.zeros(tree.n_nodes, dtype=NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"] = np.where(is_leaf, _LEAF, tree.feature)
    nodes["threshold"] = np.where(is_leaf, _LEAF, _largest_floats_below(tree.threshold))
    nodes["impurity"] = _variances(tree, weights) if tree.classes is None else _gini(tree)
    nodes["n_node_samples"] = np.maximum(np.round(weights), 1)
    nodes["weighted_n_node_samples"] = weights
    nodes["missing_go_to_left"] = tree.missing_left & ~is_leaf
    return nodes


def _largest_floats_below(thresholds: FloatArray) -> FloatArray:
    """Return the thresholds t with which ``x <= t`` says of numbers of single precision what ``x < threshold`` says."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = thresholds.astype(np.float32)
        below = np.where(nearest < thresholds, nearest, np.nextafter(nearest, np.float32(-np.inf)))
    return below.astype(np.float64)


def _known_weights(tree: Tree) -> FloatArray:
    """Return the weight of the rows in each node; if nobody knows, as if each leaf had held one row."""
    weights = weights_of(tree)
    return weights if not np.isnan(weights).any() else _sums_over_leaves(tree, np.ones(tree.n_nodes))


def _gini(tree: Tree) -> FloatArray:
    """Return the Gini impurity of the class counts."""
    counts = tree.statistics if tree.statistics.shape == tree.predictive.shape else tree.predictive
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, counts / np.where(totals > 0, totals, 1), tree.predictive)
    return np.asarray(1 - (shares**2).sum(axis=1))


def _variances(tree: Tree, weights: FloatArray) -> FloatArray:
    """Return the variance of the target in each node: that within the leaves below it, and that between them."""
    mean, std = tree.predictive[:, 0] - tree.predictive[0, 0], np.where(np.isfinite(tree.std), tree.std, 0)
    total, first, second = (
        _sums_over_leaves(tree, weights * power) for power in (np.ones_like(mean), mean, std**2 + mean**2)
    )
    known = np.where(total > 0, total, 1)
    return np.maximum(0, second / known - (first / known) ** 2)


def _sums_over_leaves(tree: Tree, values: FloatArray) -> FloatArray:
    """Return for each node the sum of the values of the leaves below it."""
    sums = np.where(tree.feature < 0, values, 0.0)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        sums[node] = sums[tree.left[node]] + sums[tree.right[node]]
    return sums
