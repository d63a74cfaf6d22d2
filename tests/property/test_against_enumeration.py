"""The library against the list of every tree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bcart
from bcart.testing.both import compute, enumerate_all
from bcart.testing.strategies import Problem, problems
from bcart.tree import Tree

hundreds = settings(max_examples=300, deadline=None)


def close(expected: float) -> object:
    """Equal to 1e-10 of the value, or of 1 for small values: logs of order 1 come from sums of larger ones."""
    return pytest.approx(expected, rel=1e-10, abs=1e-10)


def map_log_score(posterior: bcart.Posterior) -> float:
    return posterior.log_probability(posterior.map_tree()) + posterior.log_score


@hundreds
@given(problems())
def test_score_is_the_sum_over_all_trees(problem):
    assert compute(problem).log_score == close(enumerate_all(problem).log_score)


@hundreds
@given(problems())
def test_prior_mass_is_the_sum_over_all_trees(problem):
    assert compute(problem).log_prior_mass == close(enumerate_all(problem).log_prior_mass)


@hundreds
@given(problems())
def test_evidence_is_the_sum_over_all_trees(problem):
    assert compute(problem).log_evidence == close(enumerate_all(problem).log_evidence)


@hundreds
@given(problems())
def test_every_tree_is_counted_once(problem):
    assert compute(problem).log_n_trees == close(enumerate_all(problem).log_n_trees)


@hundreds
@given(problems())
def test_the_graph_holds_the_boxes_and_splits_of_all_trees(problem):
    posterior, listed = compute(problem, is_folded=False), enumerate_all(problem)
    assert (posterior.n_boxes, posterior.n_splits) == (listed.n_boxes, listed.n_splits)


@hundreds
@given(problems())
def test_every_tree_has_the_probability_of_the_list(problem):
    posterior, listed = compute(problem), enumerate_all(problem)
    for tree in listed.trees:
        assert posterior.log_probability(tree) == close(tree.log_probability)


@hundreds
@given(problems())
def test_no_tree_is_more_probable_than_the_map_tree(problem):
    posterior, listed = compute(problem), enumerate_all(problem)
    assert map_log_score(posterior) == close(listed.map_log_score)
    assert posterior.map_tree().log_probability == close(posterior.log_probability(posterior.map_tree()))


@hundreds
@given(problems())
def test_ties_for_the_map_tree_go_to_the_first_of_the_list(problem):
    tree, listed = compute(problem).map_tree(), enumerate_all(problem).map_tree
    assert tree == listed
    np.testing.assert_allclose(tree.n_rows, listed.n_rows, rtol=1e-12)
    np.testing.assert_allclose(tree.predictive, listed.predictive, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(tree.std, listed.std, rtol=1e-9)
    np.testing.assert_array_equal(tree.saw_missing, listed.saw_missing)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([10, 30, 60, 300]), st.sampled_from([1, 2, 5]), st.booleans())
def test_boxes_of_many_cells_are_split_by_the_same_rules(seed, n_rows, min_samples_leaf, is_mixed):
    # All trees of depth 2 can be listed even on hundreds of rows; the mirrored column makes every first test double.
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n_rows, 3)).astype(float)
    if is_mixed:
        X[rng.random(X.shape) < 0.1] = np.nan
    problem = Problem(
        X=np.column_stack([X, -X[:, 0]]),
        y=rng.integers(0, 3, n_rows),
        sample_weight=rng.choice([0.0, 0.5, 1.0, 3.0], n_rows),
        nominal=(1,) if is_mixed else (),
        max_depth=2,
        min_samples_leaf=min_samples_leaf,
    )
    posterior, listed = compute(problem), enumerate_all(problem)
    assert (posterior.n_boxes, posterior.n_splits) == (listed.n_boxes, listed.n_splits)
    assert posterior.log_score == close(listed.log_score)
    assert posterior.log_prior_mass == close(listed.log_prior_mass)
    assert posterior.map_tree() == listed.map_tree


@hundreds
@given(problems())
def test_the_rules_of_each_symbol_sum_to_one(problem):
    grammar = compute(problem).grammar()
    symbols = list(grammar.nonterminals)
    assert len(symbols) == grammar.n_nonterminals == len(set(symbols))
    assert len(grammar) == sum(len(grammar.rules(symbol)) for symbol in symbols) == len(list(grammar))
    for symbol in symbols:
        assert sum(rule.probability for rule in grammar.rules(symbol)) == close(1.0)


@hundreds
@given(problems())
def test_the_rules_of_the_root_are_the_first_steps_of_all_trees(problem):
    listed = enumerate_all(problem)
    # The list is ordered, so the first steps come in the order of the rules.
    first_steps: dict[tuple[object, ...], float] = {}
    for tree, probability in zip(listed.trees[1:], listed.probabilities[1:], strict=True):
        test = tuple(str(getattr(tree, name)[0]) for name in ("feature", "threshold", "category", "missing_left"))
        first_steps[test] = first_steps.get(test, 0.0) + probability
    stop, *splits = compute(problem).grammar().rules()
    assert stop.probability == close(listed.probabilities[0])
    np.testing.assert_allclose([rule.probability for rule in splits], list(first_steps.values()), rtol=1e-9, atol=1e-12)


@hundreds
@given(problems(), st.integers(0, 2**32 - 1))
def test_samples_are_among_the_listed_trees(problem, seed):
    listed = {tree: tree for tree in enumerate_all(problem).trees}
    for tree in compute(problem).sample(5, seed):
        assert tree in listed
        assert tree.log_probability == close(listed[tree].log_probability)
        np.testing.assert_allclose(tree.n_rows, listed[tree].n_rows, rtol=1e-12)
        np.testing.assert_allclose(tree.predictive, listed[tree].predictive, rtol=1e-10, atol=1e-12)


@hundreds
@given(problems())
def test_trees_outside_the_family_have_no_probability(problem):
    free = enumerate_all(problem, max_depth=None, min_samples_leaf=1e-9, min_samples_split=1e-9)
    outside = set(free.trees) - set(enumerate_all(problem).trees)
    assume(outside)
    posterior = compute(problem)
    for tree in outside:
        assert posterior.log_probability(tree) == -math.inf


@hundreds
@given(problems(missing=st.just(False), nominal=st.just(False)), st.data())
def test_trees_with_an_empty_side_have_no_probability(problem, data):
    feature = data.draw(st.integers(0, problem.X.shape[1] - 1))
    beyond = data.draw(st.sampled_from([-1e9, 1e9]))
    posterior = compute(problem)
    root = posterior.map_tree()
    tree = Tree(
        feature=np.array([feature, -1, -1]),
        threshold=np.array([beyond, np.nan, np.nan]),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        statistics=np.repeat(root.statistics[:1], 3, axis=0),
        predictive=np.repeat(root.predictive[:1], 3, axis=0),
        feature_names=root.feature_names,
        classes=root.classes,
    )
    assert posterior.log_probability(tree) == -math.inf


def test_a_test_of_a_label_always_knows_where_missing_values_go():
    X = np.repeat([0.0, 1.0, np.nan], 3)[:, None]
    for rows in (X, X[:6]):  # with missing values and without
        problem = Problem(X=rows, y=np.repeat([0, 1, 1], 3)[: len(rows)], nominal=(0,))
        tree, listed = compute(problem).map_tree(), enumerate_all(problem).map_tree
        assert tree.category.tolist() == listed.category.tolist() == [0, -1, -1]
        assert tree.saw_missing.tolist() == listed.saw_missing.tolist() == [True, False, False]
