"""Changes to a problem that must not matter to its answers, and changes to a model that need no new graph."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcart
from bcart.testing.both import compute
from bcart.testing.strategies import Problem, problems

hundreds = settings(max_examples=200, deadline=None)

increasing = st.sampled_from([np.cbrt, np.arctan, lambda x: x**3, lambda x: 3.5 * x - 20.0])


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-10, abs=1e-10)


def map_log_score(posterior: bcart.Posterior) -> float:
    return posterior.map_tree().log_probability + posterior.log_score


# Changing the model without building the graph again


@hundreds
@given(problems(), st.floats(-3.0, 6.0))
def test_another_prior_on_the_same_graph_is_a_fresh_fit(problem, log_phi):
    changed = compute(problem).with_prior(log_phi=log_phi)
    fresh = compute(problem, prior="leaf-count", log_phi=log_phi)
    assert (changed.log_score, changed.log_prior_mass) == (fresh.log_score, fresh.log_prior_mass)
    assert changed.map_tree() == fresh.map_tree()
    assert changed.sample(3, 0) == fresh.sample(3, 0)


@hundreds
@given(problems(leaf=st.just("dirichlet")), st.floats(0.1, 5.0))
def test_another_leaf_model_on_the_same_graph_is_a_fresh_fit(problem, alpha):
    changed = compute(problem).with_leaf(alpha=alpha)
    fresh = compute(problem, alpha=alpha)
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
    assert_same_answers(compute(problem), compute(reordered(problem, order)))


@hundreds
@given(problems(n_features=st.integers(2, 4)), st.data())
def test_the_order_of_features_does_not_matter(problem, data):
    order = data.draw(st.permutations(range(problem.X.shape[1])))
    nominal = tuple(place for place, column in enumerate(order) if column in problem.nominal)
    permuted = dataclasses.replace(problem, X=problem.X[:, order], nominal=nominal)
    assert_same_answers(compute(problem), compute(permuted))


@hundreds
@given(problems(nominal=st.just(False)), increasing, st.integers(0, 2**32 - 1))
def test_only_the_order_of_values_matters(problem, transform, seed):
    transformed = dataclasses.replace(problem, X=transform(problem.X))
    one, other = compute(problem), compute(transformed)
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
    assert_same_answers(compute(problem), compute(repeated))


@hundreds
@given(problems(), st.integers(0, 2**32 - 1))
def test_the_number_of_threads_changes_no_bit(problem, seed):
    one, two = compute(problem, n_jobs=1), compute(problem, n_jobs=2)
    assert (one.log_score, one.log_prior_mass, one.log_n_trees) == (two.log_score, two.log_prior_mass, two.log_n_trees)
    assert one.map_tree() == two.map_tree()
    assert one.sample(5, seed) == two.sample(5, seed)
    assert [tree.log_probability for tree in one.sample(5, seed)] == [t.log_probability for t in two.sample(5, seed)]
