"""Trees as rules, one a leaf."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bcart.export.nodes import question_of
from bcart.export.ranges import OR_MISSING, Range
from bcart.export.wording import Wording
from bcart.memory import within_memory
from bcart.tree import Tree

_MOST_CLASSES = 5  # that a rule names
_ABOUT_MISSING = "If a value is missing and no rule says so, take the side that had more rows."


@within_memory()
def write_text(tree: Tree, level: float = 0.95) -> str:
    """Return a line for each leaf: conditions, prediction, credible interval, number of rows."""
    wording = Wording(tree, level)
    rules = [f"{_describe(tree, ranges)}: {_prediction(wording, leaf)}" for leaf, ranges in _ways(tree)]
    is_silent = any(_is_silent(tree, node) for node in range(tree.n_nodes))
    return "\n".join([*rules, *([_ABOUT_MISSING] if is_silent else [])])


def _ways(tree: Tree) -> Iterator[tuple[int, dict[int, Range]]]:
    """Yield the leaves, each with the ranges of the features that were asked for on the way, in order of first ask."""
    waiting: list[tuple[int, dict[int, Range]]] = [(0, {})]
    while waiting:
        node, ranges = waiting.pop()
        if tree.feature[node] < 0:
            yield node, ranges
            continue
        asked = question_of(tree, node)
        before = ranges.get(asked.feature, Range())
        for child, answer in ((tree.right[node], False), (tree.left[node], True)):
            waiting.append((int(child), {**ranges, asked.feature: before.after(asked, answer)}))


def _describe(tree: Tree, ranges: dict[int, Range]) -> str:
    if not ranges:
        return "always"
    conditions = [
        within.describe(tree.feature_names[feature], tree.categories[feature]) for feature, within in ranges.items()
    ]
    if len(conditions) > 1:
        conditions = [f"({text})" if text.endswith(OR_MISSING) else text for text in conditions]
    return "if " + " and ".join(conditions)


def _prediction(wording: Wording, leaf: int) -> str:
    what = wording.name(leaf)
    if wording.tree.classes is None:
        what = f"expected target {what}"
    else:
        what += f" with probability {wording.number(wording.tree.predictive[leaf].max())}"
    ends = wording.ends(leaf)
    parts = [what if ends is None else f"{what} ({wording.percent}: {ends[0]} to {ends[1]})"]
    if wording.tree.classes is None:
        std = wording.tree.std[leaf]
        parts += [f"standard deviation {std:.3g}"] if np.isfinite(std) else []
    else:
        parts += _other_classes(wording, leaf)
    return ", ".join([*parts, *([f"n = {wording.rows(leaf)}"] if wording.rows(leaf) else [])])


def _other_classes(wording: Wording, leaf: int) -> list[str]:
    """Write the next classes; of two, the probability of one says that of the other."""
    chances, classes = wording.tree.predictive[leaf], wording.tree.classes
    if classes is None or len(classes) <= 2:
        return []
    others = np.argsort(-chances, kind="stable")[1:_MOST_CLASSES]
    return [f"{classes[c]} {wording.number(chances[c])}" for c in others] + ["…"] * (len(classes) > _MOST_CLASSES)


def _is_silent(tree: Tree, node: int) -> bool:
    """Tell whether a test does not say where missing values go."""
    return bool(np.isfinite(tree.threshold[node]) and not tree.saw_missing[node])
