"""What all writers ask of the nodes of a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from bcart.parse import FloatArray
from bcart.tree import Tree

T = TypeVar("T")
Kind = Literal["below", "label", "missing"]


@dataclass(frozen=True)
class Question:
    """What a node asks of one feature: is it below a threshold, is it a certain label, is it missing? Yes goes left."""

    feature: int
    kind: Kind
    threshold: float
    label: int  # its place among those of the feature
    missing_left: bool
    saw_missing: bool


def question_of(tree: Tree, node: int) -> Question:
    """Return the question of a node that is no leaf."""
    threshold, label = float(tree.threshold[node]), int(tree.category[node])
    kind: Kind = "label" if label >= 0 else "missing" if threshold == -np.inf else "below"
    missing_left, saw_missing = bool(tree.missing_left[node]), bool(tree.saw_missing[node])
    return Question(int(tree.feature[node]), kind, threshold, label, missing_left, saw_missing)


def label_of(tree: Tree, question: Question) -> Any:
    """Return the label that a question is about."""
    labels = tree.categories[question.feature]
    assert labels is not None
    return labels[question.label]


def fold(tree: Tree, at_leaf: Callable[[int], T], at_split: Callable[[int, T, T], T]) -> T:
    """Make something of each leaf, then of each split and what was made of its children; return that of the root."""
    made: dict[int, T] = {}
    for node in reversed(range(tree.n_nodes)):
        if tree.feature[node] < 0:
            made[node] = at_leaf(node)
        else:
            made[node] = at_split(node, made.pop(int(tree.left[node])), made.pop(int(tree.right[node])))
    return made[0]


def leaves_of(tree: Tree) -> list[int]:
    """Return the leaves from left to right."""
    return [int(node) for node in np.flatnonzero(tree.feature < 0)]


def weights_of(tree: Tree) -> FloatArray:
    """Return the weight of the training rows in each node, NaN where nobody knows."""
    if not np.isnan(tree.n_rows).any():
        return tree.n_rows
    if tree.leaf is not None:
        return tree.leaf.n_rows(tree.statistics)
    if tree.classes is not None and tree.statistics.shape == tree.predictive.shape:
        return np.asarray(tree.statistics.sum(axis=1))
    return tree.n_rows
