"""The library against the list of every tree, and against itself under changes that must not matter."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bcart
from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.testing.strategies import Problem, problems
from bcart.tree import Tree

hundreds = settings(max_examples=300, deadline=None)

increasing = st.sampled_from([np.cbrt, np.arctan, lambda x: x**3, lambda x: 3.5 * x - 20.0])


def fit(problem: Problem, **parameters: object) -> bcart.BayesianTreeClassifier:
    classifier = bcart.BayesianTreeClassifier(max_bins=10, **{"n_jobs": 1, **problem.settings, **parameters})
    return classifier.fit(problem.X, problem.y, sample_weight=problem.sample_weight)


def enumerate_problem(problem: Problem, **parameters: object) -> EnumeratedPosterior:
    settings_ = {**problem.settings, **parameters}
    return enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **settings_)


def close(expected: float) -> object:
    """Equal to 1e-10 of the value, or of 1 for small values: logs of order 1 come from sums of larger ones."""
    return pytest.approx(expected, rel=1e-10, abs=1e-10)


def map_log_score(posterior: bcart.Posterior) -> float:
    return posterior.log_probability(posterior.map_tree()) + posterior.log_score


# Against the list of all trees


@hundreds
@given(problems())
def test_score_is_the_sum_over_all_trees(problem):
    assert fit(problem).posterior_.log_score == close(enumerate_problem(problem).log_score)


@hundreds
@given(problems())
def test_prior_mass_is_the_sum_over_all_trees(problem):
    assert fit(problem).posterior_.log_prior_mass == close(enumerate_problem(problem).log_prior_mass)


@hundreds
@given(problems())
def test_evidence_is_the_sum_over_all_trees(problem):
    assert fit(problem).posterior_.log_evidence == close(enumerate_problem(problem).log_evidence)


@hundreds
@given(problems())
def test_every_tree_is_counted_once(problem):
    assert fit(problem).posterior_.log_n_trees == close(enumerate_problem(problem).log_n_trees)


@hundreds
@given(problems())
def test_the_graph_holds_the_boxes_and_splits_of_all_trees(problem):
    posterior, listed = fit(problem).posterior_, enumerate_problem(problem)
    assert (posterior.n_boxes, posterior.n_splits) == (listed.n_boxes, listed.n_splits)


@hundreds
@given(problems())
def test_every_tree_has_the_probability_of_the_list(problem):
    posterior, listed = fit(problem).posterior_, enumerate_problem(problem)
    for tree in listed.trees:
        assert posterior.log_probability(tree) == close(tree.log_probability)


@hundreds
@given(problems())
def test_no_tree_is_more_probable_than_the_map_tree(problem):
    posterior, listed = fit(problem).posterior_, enumerate_problem(problem)
    assert map_log_score(posterior) == close(listed.map_log_score)
    assert posterior.map_tree().log_probability == close(posterior.log_probability(posterior.map_tree()))


@hundreds
@given(problems())
def test_ties_for_the_map_tree_go_to_the_first_of_the_list(problem):
    classifier, listed = fit(problem), enumerate_problem(problem)
    assert classifier.tree_ == classifier.posterior_.map_tree() == listed.map_tree
    np.testing.assert_allclose(classifier.tree_.statistics, listed.map_tree.statistics, atol=1e-12)
    np.testing.assert_allclose(classifier.predict_proba(problem.X), listed.map_tree.predict_proba(problem.X))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([10, 30, 60, 300]), st.sampled_from([1, 2, 5]))
def test_boxes_of_many_cells_are_split_by_the_same_rules(seed, n_rows, min_samples_leaf):
    # All trees of depth 2 can be listed even on hundreds of rows; the mirrored column makes every first test double.
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n_rows, 3)).astype(float)
    problem = Problem(
        X=np.column_stack([X, -X[:, 0]]),
        y=rng.integers(0, 3, n_rows),
        sample_weight=rng.choice([0.0, 0.5, 1.0, 3.0], n_rows),
        max_depth=2,
        min_samples_leaf=min_samples_leaf,
    )
    posterior, listed = fit(problem).posterior_, enumerate_problem(problem)
    assert (posterior.n_boxes, posterior.n_splits) == (listed.n_boxes, listed.n_splits)
    assert posterior.log_score == close(listed.log_score)
    assert posterior.log_prior_mass == close(listed.log_prior_mass)
    assert posterior.map_tree() == listed.map_tree


@hundreds
@given(problems())
def test_the_rules_of_each_box_sum_to_one(problem):
    posterior = fit(problem).posterior_
    for box in range(posterior.n_boxes):
        stop, splits = posterior.rule_probabilities(box)
        assert stop + splits.sum() == close(1.0)
    for splits_left in range(0 if posterior.max_depth is None else posterior.max_depth + 1):
        stop, splits = posterior.rule_probabilities(0, splits_left)
        assert stop + splits.sum() == close(1.0)


@hundreds
@given(problems())
def test_the_rules_of_the_root_are_the_first_steps_of_all_trees(problem):
    listed = enumerate_problem(problem)
    # The list is ordered, so the first steps come in the order of the rules.
    first_steps: dict[tuple[int, float], float] = {}
    for tree, probability in zip(listed.trees[1:], listed.probabilities[1:], strict=True):
        test = (int(tree.feature[0]), float(tree.threshold[0]))
        first_steps[test] = first_steps.get(test, 0.0) + probability
    stop, splits = fit(problem).posterior_.rule_probabilities()
    assert stop == close(listed.probabilities[0])
    np.testing.assert_allclose(splits, list(first_steps.values()), rtol=1e-10, atol=1e-12)


@hundreds
@given(problems(), st.integers(0, 2**32 - 1))
def test_samples_are_among_the_listed_trees(problem, seed):
    listed = {tree: tree for tree in enumerate_problem(problem).trees}
    for tree in fit(problem).posterior_.sample(5, seed):
        assert tree in listed
        assert tree.log_probability == close(listed[tree].log_probability)
        np.testing.assert_allclose(tree.statistics, listed[tree].statistics, atol=1e-12)
        np.testing.assert_allclose(tree.predictive, listed[tree].predictive, atol=1e-12)


@hundreds
@given(problems())
def test_trees_outside_the_family_have_no_probability(problem):
    free = enumerate_problem(problem, max_depth=None, min_samples_leaf=1e-9, min_samples_split=1e-9)
    outside = set(free.trees) - set(enumerate_problem(problem).trees)
    assume(outside)
    posterior = fit(problem).posterior_
    for tree in outside:
        assert posterior.log_probability(tree) == -math.inf


@hundreds
@given(problems(), st.data())
def test_trees_with_an_empty_side_have_no_probability(problem, data):
    feature = data.draw(st.integers(0, problem.X.shape[1] - 1))
    beyond = data.draw(st.sampled_from([-1e9, 1e9]))
    posterior = fit(problem).posterior_
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


# Changing the model without building the graph again


@hundreds
@given(problems(), st.floats(-3.0, 6.0))
def test_another_prior_on_the_same_graph_is_a_fresh_fit(problem, log_phi):
    changed = fit(problem).posterior_.with_prior(log_phi=log_phi)
    fresh = fit(problem, log_phi=log_phi).posterior_
    assert (changed.log_score, changed.log_prior_mass) == (fresh.log_score, fresh.log_prior_mass)
    assert changed.map_tree() == fresh.map_tree()
    assert changed.sample(3, 0) == fresh.sample(3, 0)


@hundreds
@given(problems(), st.floats(0.1, 5.0))
def test_another_leaf_model_on_the_same_graph_is_a_fresh_fit(problem, alpha):
    changed = fit(problem).posterior_.with_leaf(alpha=alpha)
    fresh = fit(problem, alpha=alpha).posterior_
    assert (changed.log_score, changed.log_prior_mass) == (fresh.log_score, fresh.log_prior_mass)
    assert changed.map_tree() == fresh.map_tree()
    np.testing.assert_array_equal(changed.map_tree().predictive, fresh.map_tree().predictive)


# What must not matter


def assert_same_answers(one: bcart.Posterior, other: bcart.Posterior) -> None:
    assert one.log_score == close(other.log_score)
    assert one.log_evidence == close(other.log_evidence)
    assert map_log_score(one) == close(map_log_score(other))
    assert (one.n_boxes, one.n_splits) == (other.n_boxes, other.n_splits)


def reordered(problem: Problem, order: list[int]) -> Problem:
    weights = None if problem.sample_weight is None else problem.sample_weight[order]
    return dataclasses.replace(problem, X=problem.X[order], y=problem.y[order], sample_weight=weights)


@hundreds
@given(problems(), st.data())
def test_the_order_of_rows_does_not_matter(problem, data):
    order = data.draw(st.permutations(range(len(problem.X))))
    assert_same_answers(fit(problem).posterior_, fit(reordered(problem, order)).posterior_)


@hundreds
@given(problems(n_features=st.integers(2, 4)), st.data())
def test_the_order_of_features_does_not_matter(problem, data):
    order = data.draw(st.permutations(range(problem.X.shape[1])))
    permuted = dataclasses.replace(problem, X=problem.X[:, order])
    assert_same_answers(fit(problem).posterior_, fit(permuted).posterior_)


@hundreds
@given(problems(), increasing, st.integers(0, 2**32 - 1))
def test_only_the_order_of_values_matters(problem, transform, seed):
    transformed = dataclasses.replace(problem, X=transform(problem.X))
    one, other = fit(problem).posterior_, fit(transformed).posterior_
    assert one.log_score == other.log_score
    for tree, twin in zip(
        [one.map_tree(), *one.sample(5, seed)], [other.map_tree(), *other.sample(5, seed)], strict=True
    ):
        np.testing.assert_array_equal(tree.feature, twin.feature)
        np.testing.assert_array_equal(tree.statistics, twin.statistics)


@hundreds
@given(problems(weights=st.just("integer")))
def test_integer_weights_are_repeated_rows(problem):
    times = problem.sample_weight.astype(int)
    repeated = dataclasses.replace(
        problem, X=np.repeat(problem.X, times, axis=0), y=np.repeat(problem.y, times), sample_weight=None
    )
    assert_same_answers(fit(problem).posterior_, fit(repeated).posterior_)


@hundreds
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_number_of_threads_changes_no_bit(problem, seed):
    one, two = fit(problem, n_jobs=1).posterior_, fit(problem, n_jobs=2).posterior_
    assert (one.log_score, one.log_prior_mass, one.log_n_trees) == (two.log_score, two.log_prior_mass, two.log_n_trees)
    assert one.map_tree() == two.map_tree()
    assert one.sample(5, seed) == two.sample(5, seed)
    assert [tree.log_probability for tree in one.sample(5, seed)] == [t.log_probability for t in two.sample(5, seed)]
