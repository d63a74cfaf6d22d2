"""What a model file says of the data it was fitted to and of its posterior, as plain JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bcart.estimators.comparison import Score
from bcart.files.columns import ColumnReport
from bcart.files.features import unit_of
from bcart.files.targets import Target
from bcart.files.training import TrainingFile
from bcart.overview import Overview
from bcart.tree import Tree

_MOST_LABELS = 4
_MOST_CLASSES = 6
_MOST_TESTS = 3

Notes = dict[str, Any]


def note_data(training: TrainingFile) -> Notes:
    """Return what the file is, and what its columns were taken for."""
    target, rows = training.target, training.target.rows
    return {
        "file": training.source.path.name,
        "target": target.name,
        "task": target.task,
        "is_guessed": target.is_guessed and unit_of(training.source.types[target.name]) == "number",
        "target_values": _describe_target(target),
        "weight": rows.weight,
        "n_rows": rows.n_rows,
        "n_without_target": rows.n_without_target,
        "n_without_weight": rows.n_without_weight,
        "columns": [_note_column(column) for column in training.columns],
    }


def _describe_target(target: Target) -> str:
    if target.moments is not None:
        y = target.moments
        return f"{y.lowest:.6g} to {y.highest:.6g}, mean {y.mean:.6g}"
    assert target.classes is not None
    pairs = [f"{label} ({count:,.10g})" for label, count in zip(target.classes.tolist(), target.counts, strict=True)]
    return _few(pairs, _MOST_CLASSES)


def _note_column(column: ColumnReport) -> Notes:
    feature = column.feature
    reading = {"name": column.name} if feature is None else feature.to_json()
    about = {"note": "" if feature is None else feature.note, "n_missing": column.n_missing}
    return {**reading, "role": column.role, "reason": column.reason, "values": _describe_values(column), **about}


def _describe_values(column: ColumnReport) -> str:
    if column.role == "nominal":
        labels = [str(label) for label in column.distinct or ()]
        return f"{len(labels)} labels: {_few(labels, _MOST_LABELS)}"
    return "" if column.role == "dropped" else f"{column.lowest:.6g} to {column.highest:.6g}"


def note_overview(overview: Overview) -> Notes:
    """Return the top of the posterior."""
    best = overview.top[0]
    return {
        "n_samples": overview.n_samples,
        "leaves": {str(n): share for n, share in overview.leaves.items()},
        "top": [_note_tree(tree, best) for tree in overview.top],
    }


def _note_tree(tree: Tree, best: Tree) -> Notes:
    return {
        "probability": math.exp(tree.log_probability),
        "n_leaves": tree.n_leaves,
        "depth": tree.depth,
        "difference": _describe_difference(_tests(tree), _tests(best)),
    }


def _tests(tree: Tree) -> Counter[str]:
    return Counter(tree.describe_test(node) for node in range(tree.n_nodes) if tree.feature[node] >= 0)


def _describe_difference(tests: Counter[str], best: Counter[str]) -> str:
    """Write which tests a tree does not make that the best one does, and which it makes besides."""
    without, besides = list((best - tests).elements()), list((tests - best).elements())
    if not without and not besides:
        return "the same tests in another order"
    lost, new = _few(without, _MOST_TESTS), _few(besides, _MOST_TESTS)
    return f"{new} instead of {lost}" if new and lost else f"also {new}" if new else f"without {lost}"


def note_scores(scores: Sequence[Score], n_folds: int, n_rows: int, n_known: int, n_tested: int) -> Notes:
    """Return cross-validated scores on some of the known rows, of which not all may have been predicted."""
    listed = [{"model": score.model, "n_leaves": score.n_leaves, **score.values} for score in scores]
    counts = {"n_rows": n_rows, "n_known": n_known, "n_tested": n_tested}
    return {"n_folds": n_folds, **counts, "models": listed}


def _few(parts: Sequence[str], most: int) -> str:
    return ", ".join(parts[:most]) + (", …" if len(parts) > most else "")
