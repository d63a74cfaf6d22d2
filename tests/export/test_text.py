"""Trees as rules."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcart
from bcart import Tree
from bcart.datasets import load_haberman
from bcart.testing.trees import random_rows, random_tree

CATEGORIES = (None, ("north", "south", "west"))


def chain(*tests, predictive=None, **changes):
    """A tree whose questions follow from no, with the n-th leaf predicting n; a test is (feature, threshold, label)."""
    n_nodes = 2 * len(tests) + 1
    feature, threshold, category = np.full(n_nodes, -1), np.full(n_nodes, np.nan), np.full(n_nodes, -1)
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    for place, (tested, below, label) in enumerate(tests):
        node = 2 * place
        feature[node], threshold[node], category[node] = tested, below, label
        left[node], right[node] = node + 1, node + 2
    parts = {
        "feature": feature,
        "threshold": threshold,
        "left": left,
        "right": right,
        "category": category,
        "missing_left": threshold == -np.inf,
        "statistics": np.zeros((n_nodes, 3)),
        "predictive": np.arange(n_nodes, dtype=float)[:, None],
        "feature_names": ("age", "ward"),
        "categories": CATEGORIES,
    }
    return Tree(**{**parts, **changes})


def conditions(tree):
    return [line.split(": ")[0].removeprefix("if ") for line in tree.to_text().splitlines() if ": " in line]


def test_a_rule_says_class_probability_interval_and_rows():
    haberman = load_haberman()
    tree = bcart.BayesianTreeClassifier().fit(haberman.data, haberman.target).tree_
    low, high = tree.interval(0.9)
    lines = tree.to_text(level=0.9).splitlines()
    leaves = np.flatnonzero(tree.feature < 0)
    for line, leaf in zip(lines, leaves, strict=False):
        best = int(np.argmax(tree.predictive[leaf]))
        assert line.endswith(
            f": {tree.classes[best]} with probability {tree.predictive[leaf, best]:.3f} "
            f"(90 %: {low[leaf, best]:.3f} to {high[leaf, best]:.3f}), n = {tree.n_rows[leaf]:.0f}"
        )


def test_conditions_on_one_feature_become_one_range():
    tree = chain((0, 40.0, -1), (0, 60.0, -1), (1, np.nan, 2), (0, 80.5, -1))
    assert conditions(tree) == [
        "age < 40",
        "40 ≤ age < 60",
        "age ≥ 60 and ward is west",
        "60 ≤ age < 80.5 and ward is not west",
        "age ≥ 80.5 and ward is not west",
    ]


def test_labels_that_were_said_no_to_are_named_together():
    tree = chain((1, np.nan, 0), (1, np.nan, 1), (1, -np.inf, -1))
    assert conditions(tree) == [
        "ward is north",
        "ward is south",
        "ward is missing",
        "ward is neither north, south nor missing",
    ]


def test_missing_values_are_named_where_the_data_said_where_they_go():
    tree = chain((0, 40.0, -1), (0, 60.0, -1), missing_left=[False, False, True, False, False], saw_missing=[True] * 5)
    assert conditions(tree) == ["age < 40", "40 ≤ age < 60 or missing", "age ≥ 60"]
    asked = chain((0, -np.inf, -1), (0, 60.0, -1))
    assert conditions(asked) == ["age is missing", "age < 60", "age ≥ 60"]
    assert conditions(chain((0, -np.inf, -1))) == ["age is missing", "age is not missing"]


def test_where_the_data_did_not_say_a_last_line_does():
    tree = chain((0, 40.0, -1))
    assert tree.to_text().splitlines()[-1] == (
        "If a value is missing and no rule says so, take the side that had more rows."
    )
    assert conditions(tree) == ["age < 40", "age ≥ 40"]
    assert len(chain((0, -np.inf, -1), (1, np.nan, 0)).to_text().splitlines()) == 3


def test_a_tree_of_one_leaf_has_one_rule_that_always_holds():
    leaf = bcart.BayesianTreeClassifier(log_phi=50.0).fit([[0.0], [1.0]], ["a", "b"]).tree_
    assert leaf.to_text() == "always: a with probability 0.500 (95 %: 0.094 to 0.906), n = 2"


def test_many_classes_are_named_in_the_order_of_their_probability():
    y = ["a"] * 8 + ["b"] * 2 + ["c"] * 4
    tree = bcart.BayesianTreeClassifier().fit(np.zeros((14, 1)), y).tree_
    assert ", c 0.294, b 0.176, n = 14" in tree.to_text()


def test_a_rule_for_numbers_says_mean_interval_and_standard_deviation():
    X = np.arange(40.0)[:, None]
    tree = bcart.BayesianTreeRegressor().fit(X, np.where(X[:, 0] < 20, 5.0, 9.0)).tree_
    low, high = tree.interval()
    first = tree.to_text().splitlines()[0]
    assert first.startswith("if x0 < 19.5: expected target ")
    assert f"(95 %: {low[1, 0]:.5g} to {high[1, 0]:.5g}), standard deviation {tree.std[1]:.3g}, n = 20" in first


def test_a_tree_without_leaf_model_has_rules_without_intervals():
    assert chain((0, 40.0, -1), n_rows=[3, 2, 1], saw_missing=[1, 0, 0]).to_text().splitlines() == [
        "if age < 40: expected target 1, n = 2",
        "if age ≥ 40 or missing: expected target 2, n = 1",
    ]


def test_a_level_that_is_none_is_refused():
    tree = bcart.BayesianTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    with pytest.raises(bcart.InvalidModelError, match="level=1"):
        tree.to_text(level=1)


def holds(condition, value):
    """Whether a condition of a rule holds, read as a person reads it."""
    is_missing = value is None
    if condition.endswith((" or missing", " or missing)")):
        return is_missing or holds(condition.removeprefix("(").split(" or ")[0], value)
    if match := re.fullmatch(r"(?:(\S+) ≤ )?.+ < (\S+)", condition):
        return not is_missing and float(match[1] or "-inf") <= value < float(match[2])
    if match := re.fullmatch(r".+ ≥ (\S+)", condition):
        return not is_missing and value >= float(match[1])
    word = "missing" if is_missing else str(value)
    if match := re.fullmatch(r".+ is neither (.+) nor (.+)", condition):
        return word not in [*match[1].split(", "), match[2]]
    if match := re.fullmatch(r".+ is not (.+)", condition):
        return word != match[1]
    match = re.fullmatch(r".+ is (.+)", condition)
    return word == match[1]


def feature_of(condition, tree):
    """The place of the feature that a condition is about."""
    (name,) = [n for n in tree.feature_names if re.search(rf"(^|[( ]){re.escape(n)} (<|≥|is) ", condition)]
    return tree.feature_names.index(name)


def fulfils(row, rule, tree):
    parts = rule.split(": ")[0].removeprefix("if ").split(" and ")
    return all(holds(part, row[feature_of(part, tree)]) for part in parts)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_a_row_fulfils_the_conditions_of_its_leaf_and_of_no_other(seed, n_leaves):
    rng = np.random.default_rng(seed)
    drawn = random_tree(rng, n_leaves, classes=None)
    tree = replace(drawn, saw_missing=np.ones(drawn.n_nodes), threshold=[float(f"{t:.6g}") for t in drawn.threshold])
    rows, rules = random_rows(rng, tree, 20), tree.to_text().splitlines()
    leaves = np.flatnonzero(tree.feature < 0).tolist()
    for row, leaf in zip(rows, tree.apply(rows), strict=True):
        assert [place for place, rule in enumerate(rules) if fulfils(row, rule, tree)] == [leaves.index(leaf)]
