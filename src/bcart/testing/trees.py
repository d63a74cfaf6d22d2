"""Random trees that ask every kind of question, and rows at the edges of what they ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bcart.tree import Tree

Kind = Literal["below", "label", "missing"]
KINDS: tuple[Kind, ...] = ("below", "label", "missing")

N_NUMERIC = 3
LABELS: tuple[tuple[Any, ...], ...] = (("east", "it's", 'no "quotes"', "ünïcode"), (1, 2, 30))
UNSEEN: tuple[Any, ...] = ("never seen", 99)


def random_tree(
    rng: np.random.Generator,
    n_leaves: int,
    classes: Sequence[Any] | None = ("ill", "so-so", "well"),
    kinds: Sequence[Kind] = KINDS,
) -> Tree:
    """Return a tree over three numeric features and two nominal ones, for classes or (None) for regression.

    Examples
    --------
    >>> import numpy as np
    >>> random_tree(np.random.default_rng(0), 5).n_leaves
    5
    """
    tests, right = _random_shape(rng, n_leaves, kinds)
    n_nodes = len(tests)
    chances = rng.dirichlet(np.ones(1 if classes is None else len(classes)), n_nodes)
    arrays: dict[str, Any] = {name: [test[name] for test in tests] for name in _LEAF}
    return Tree(
        **arrays,
        left=[node + 1 if test["feature"] >= 0 else -1 for node, test in enumerate(tests)],  # type: ignore[arg-type]
        right=right,  # type: ignore[arg-type]
        statistics=rng.integers(0, 50, (n_nodes, chances.shape[1])),  # type: ignore[arg-type]
        predictive=rng.normal(0, 100, (n_nodes, 1)) if classes is None else chances,
        feature_names=("age", "dose (mg)", "x", "ward", "grade"),
        classes=None if classes is None else np.array(classes),
        categories=(None,) * N_NUMERIC + LABELS,
        n_rows=rng.integers(1, 1000, n_nodes),  # type: ignore[arg-type]
        std=rng.exponential(1, n_nodes),
    )


_LEAF: dict[str, Any] = {
    "feature": -1,
    "threshold": np.nan,
    "category": -1,
    "missing_left": False,
    "saw_missing": False,
}


def _random_shape(
    rng: np.random.Generator, n_leaves: int, kinds: Sequence[Kind]
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the tests of the nodes in preorder, and their right children."""
    tests: list[dict[str, Any]] = []
    right: list[int] = []
    waiting = [(n_leaves, -1)]
    while waiting:
        size, parent = waiting.pop()
        if parent >= 0:
            right[parent] = len(tests)
        if size > 1:
            n_left = int(rng.integers(1, size))
            waiting += [(size - n_left, len(tests)), (n_left, -1)]
        tests.append(_random_test(rng, kinds[int(rng.integers(len(kinds)))]) if size > 1 else _LEAF)
        right.append(-1)
    return tests, right


def _random_test(rng: np.random.Generator, kind: Kind) -> dict[str, Any]:
    test = {**_LEAF, "missing_left": bool(rng.integers(2)), "saw_missing": bool(rng.integers(2))}
    if kind == "below":
        threshold = (rng.normal(), float(rng.integers(-3, 3)), rng.normal() * 10.0 ** rng.integers(-9, 9))
        return {**test, "feature": int(rng.integers(N_NUMERIC)), "threshold": threshold[rng.integers(3)]}
    if kind == "label":
        nominal = int(rng.integers(len(LABELS)))
        return {**test, "feature": N_NUMERIC + nominal, "category": int(rng.integers(len(LABELS[nominal])))}
    n_features = N_NUMERIC + len(LABELS)
    return {**test, "feature": int(rng.integers(n_features)), "threshold": -np.inf, "missing_left": True}


def random_rows(
    rng: np.random.Generator, tree: Tree, n_rows: int, missing: float = 0.15, precision: type = np.float64
) -> npt.NDArray[np.object_]:
    """Return rows at, beside and far from the thresholds of such a tree, with missing values and unseen labels.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> random_rows(rng, random_tree(rng, 5), 2).shape
    (2, 5)
    """
    rows = np.empty((n_rows, len(tree.feature_names)), dtype=object)
    for feature, labels in enumerate(tree.categories):
        if labels is None:
            rows[:, feature] = rng.choice(_edges(tree, feature, precision), n_rows)
        else:
            known = [*labels, UNSEEN[feature - N_NUMERIC]]
            rows[:, feature] = [known[place] for place in rng.integers(len(known), size=n_rows)]
        rows[rng.random(n_rows) < missing, feature] = None
    return rows


def _edges(tree: Tree, feature: int, precision: type) -> npt.NDArray[np.float64]:
    thresholds = tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)]
    near: npt.NDArray[Any] = np.concatenate([thresholds, [-1e6, -1.0, 0.0, 0.5, 1e6]]).astype(precision)
    beside = [np.nextafter(near, precision(end)) for end in (-np.inf, np.inf)]
    return np.concatenate([near, *beside]).astype(np.float64)
