"""The answers of the ensemble, against hand, against integrals, and against each other."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.testing.strategies import Problem, problems, queries

MIXED = [[0.0, 1.0], [1.0, 2.0], [2.0, 2.0], [math.nan, 1.0]]  # numbers with a missing one, and labels
NORMAL = enumerate_posterior(
    MIXED, [0.0, 4.0, 5.0, 1.0], nominal=[1], leaf="normal", prior_weight=0.1, noise_shape=3, log_phi=0
)
POISSON = enumerate_posterior(MIXED, [0, 4, 5, 1], nominal=[1], leaf="poisson", prior_mean=2.0, log_phi=0)
ROWS = [[0.5, 1.0], [7.0, 2.0], [math.nan, 3.0], [0.0, math.nan]]
PAIR = enumerate_posterior([[0.0], [1.0]], [0, 1], log_phi=0.0)  # weights 1/6 and 1/4: it stops with probability 0.4


def enumerate_problem(problem: Problem) -> EnumeratedPosterior:
    return enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **problem.settings)


def parameter_in(tree_statistics: np.ndarray, problem: Problem, output: int, n_classes: int) -> object:
    """Return scipy's distribution of a leaf's parameter."""
    if problem.leaf == "dirichlet":
        updated = tree_statistics + np.broadcast_to(problem.alpha, n_classes)
        return stats.beta(updated[output], updated.sum() - updated[output])
    n, m, k = tree_statistics[0], problem.prior_mean, problem.prior_weight
    if problem.leaf == "poisson":
        return stats.gamma(m * k + tree_statistics[1], scale=1 / (k + n))
    mean, squares = tree_statistics[1:]
    a, b = problem.noise_shape + n / 2, problem.noise_scale + squares / 2 + k * n * (mean - m) ** 2 / (2 * (k + n))
    return stats.t(2 * a, (k * m + n * mean) / (k + n), math.sqrt(b / a / (k + n)))


# Against scipy, tree by tree


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([0.5, 0.95]))
def test_uncertainty_is_that_of_the_mixture_over_trees(data, level):
    problem = data.draw(problems(max_depth=st.sampled_from([1, 2])))
    posterior, X = enumerate_problem(problem), data.draw(queries(problem, max_rows=1))
    known, n_outputs = posterior.uncertainty(X, level), posterior.map_tree.predictive.shape[1]
    assume(n_outputs > 1 or problem.leaf != "dirichlet")  # a class that is alone has no Beta distribution
    output = data.draw(st.integers(0, n_outputs - 1))
    p = posterior.probabilities
    leaves = [tree.statistics[tree.apply(X)[0]] for tree in posterior.trees]
    parts = [parameter_in(leaf, problem, output, n_outputs) for leaf in leaves]

    def cdf(x: float) -> float:
        return p @ [part.cdf(x) for part in parts]

    # Where the mixture is steep, no number may come closer; where it is flat, many come close.
    for end, tail in ((known.low[0, output], (1 - level) / 2), (known.high[0, output], (1 + level) / 2)):
        slack = 1e-11 * max(1, abs(end))
        assert cdf(end - slack) - 1e-9 <= tail <= cdf(end + slack) + 1e-9
    centres = np.array([part.median() if problem.leaf == "normal" else part.mean() for part in parts])
    assert known.mean[0, output] == pytest.approx(p @ centres)
    assert known.between_trees[0, output] == pytest.approx(p @ (centres - p @ centres) ** 2, abs=1e-12)
    variances = np.array([part.var() for part in parts])
    within = p @ np.where(np.isnan(variances), np.inf, variances)
    assert known.within_leaf[0, output] == pytest.approx(within)
    assert known.std[0, output] ** 2 == pytest.approx((known.between_trees + known.within_leaf)[0, output])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_response_is_the_average_of_the_trees(data):
    problem = data.draw(problems())
    posterior, X = enumerate_problem(problem), data.draw(queries(problem))
    responses = [tree.predictive[tree.apply(X)] for tree in posterior.trees]
    expected = np.einsum("t,tro->ro", posterior.probabilities, responses)
    np.testing.assert_allclose(posterior.predictive_mean(X), expected, rtol=1e-10, atol=1e-12)


# The next row


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_predictive_probability_is_what_the_row_adds_to_the_evidence(data):
    # A row of a cell that is there already leaves the trees as they are, if weights do not restrict them.
    problem = dataclasses.replace(data.draw(problems()), min_samples_leaf=1e-9, min_samples_split=1e-9)
    weights, present = problem.weights, np.flatnonzero(problem.weights > 0)
    row, target = data.draw(st.tuples(*[st.sampled_from(present.tolist())] * 2))
    longer = dataclasses.replace(
        problem,
        X=np.vstack([problem.X, problem.X[row]]),
        y=np.append(problem.y, problem.y[target]),
        sample_weight=np.append(weights, 1.0),
    )
    before, after = enumerate_problem(problem), enumerate_problem(longer)
    assert before.n_trees == after.n_trees
    (predictive,) = before.log_predictive(problem.X[[row]], problem.y[[target]])
    assert predictive == pytest.approx(after.log_evidence - before.log_evidence, rel=1e-9, abs=1e-9)


def integral_beyond(end: float, sign: int, row: list[float], power: int = 0) -> float:
    """Integrate ``y ** power`` over the predictive density of `NORMAL` from `end` to plus or minus infinity."""
    log_distance = np.linspace(-25, 15, 801)
    distance = np.exp(log_distance)
    targets = end + sign * distance
    density = np.exp(NORMAL.log_predictive([row] * len(targets), targets))
    return integrate.trapezoid(targets**power * density * distance, log_distance)


@pytest.mark.parametrize("row", ROWS)
def test_predictive_density_has_the_mean_the_variance_and_the_quantiles(row):
    known = NORMAL.uncertainty([row])
    total, mean, square = (integral_beyond(0, -1, row, power) + integral_beyond(0, 1, row, power) for power in range(3))
    assert total == pytest.approx(1, rel=1e-9)
    assert known.mean == pytest.approx(mean, rel=1e-9)
    assert known.between_trees + known.within_leaf + known.noise == pytest.approx(square - mean**2, rel=1e-9)
    low, high = NORMAL.predictive_interval([row], 0.8)[0]
    assert integral_beyond(low, -1, row) == pytest.approx(0.1, rel=1e-9)
    assert integral_beyond(high, 1, row) == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize("row", ROWS)
def test_predictive_counts_have_the_mean_the_variance_and_the_quantiles(row):
    counts = np.arange(300)
    chances = np.exp(POISSON.log_predictive([row] * len(counts), counts))
    known = POISSON.uncertainty([row])
    assert chances.sum() == pytest.approx(1)
    assert known.mean == pytest.approx(chances @ counts)
    variance = chances @ (counts - chances @ counts) ** 2
    assert known.between_trees + known.within_leaf + known.noise == pytest.approx(variance)
    cumulative = np.cumsum(chances)
    low, high = POISSON.predictive_interval([row], 0.8)[0].astype(int)
    assert low == np.argmax(cumulative >= 0.1)
    assert high == np.argmax(cumulative >= 0.9)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_class_probabilities_leave_their_own_variance(data):
    problem = data.draw(problems(leaf=st.just("dirichlet")))
    posterior, X = enumerate_problem(problem), data.draw(queries(problem))
    p, known = posterior.predict_proba(X), posterior.uncertainty(X)
    np.testing.assert_allclose(known.between_trees + known.within_leaf + known.noise, p * (1 - p), atol=1e-12)
    assert (known.low <= known.high).all()
    for output, label in enumerate(posterior.classes):
        np.testing.assert_allclose(np.exp(posterior.log_predictive(X, [label] * len(X))), p[:, output])


# By hand


def test_credible_interval_of_two_trees_by_hand():
    known = PAIR.uncertainty([[0.0]], level=0.9)
    for end, tail in ((known.low[0, 0], 0.05), (known.high[0, 0], 0.95)):
        # Beta(2, 2) in the tree that stops, Beta(2, 1) in the one that does not.
        assert 0.4 * (3 * end**2 - 2 * end**3) + 0.6 * end**2 == pytest.approx(tail, abs=1e-12)
    np.testing.assert_allclose(known.low[0, 1], 1 - known.high[0, 0])
    np.testing.assert_allclose(known.mean, [[0.6, 0.4]])
    np.testing.assert_allclose(known.between_trees, 0.4 * 0.6 * (2 / 3 - 1 / 2) ** 2)
    np.testing.assert_allclose(known.within_leaf, 0.4 * (1 / 20) + 0.6 * (1 / 18))
    np.testing.assert_allclose(known.noise, 0.4 * (1 / 5) + 0.6 * (1 / 6))


def test_a_missing_value_that_was_never_seen_goes_to_the_heavier_side():
    posterior = enumerate_posterior([[0.0], [1.0]], [0, 1], sample_weight=[1, 2])
    queried, seen = posterior.predict_proba([[math.nan], [1.0]])
    assert queried.tolist() == seen.tolist()


def test_a_label_that_was_never_seen_is_none_of_the_known():
    posterior = enumerate_posterior([[3.0], [5.0]], [0, 1], nominal=[0])
    queried, seen = posterior.predict_proba([[0.0], [5.0]])  # the only test asks for 3.0
    assert queried.tolist() == seen.tolist()


def test_a_class_that_was_never_seen_has_no_probability():
    assert PAIR.log_predictive([[0.0], [0.0]], [0, 7]).tolist() == [pytest.approx(math.log(0.6)), -math.inf]


def test_a_leaf_without_a_variance_matters_only_where_rows_fall_into_it():
    # On the left the leaf of shape 0.5 + 0.1 / 2, on the right one of 0.5 + 9 / 2; the root would have both rows.
    X, y, weights = [[0.0], [1.0]], [0.0, 5.0], [0.1, 9.0]
    posterior = enumerate_posterior(X, y, sample_weight=weights, leaf="normal", noise_shape=0.5, min_samples_leaf=0.1)
    known = posterior.uncertainty(X)
    assert np.isinf(known.std[0])
    assert np.isfinite(known.std[1])


# Refusals


def test_questions_that_a_family_cannot_answer_are_refused():
    with pytest.raises(InvalidModelError, match="predictive_mean"):
        NORMAL.predict_proba(ROWS)
    with pytest.raises(InvalidModelError, match="predict_proba"):
        PAIR.predictive_interval([[0.0]])


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_levels_lie_between_0_and_1(level):
    with pytest.raises(InvalidModelError, match="level"):
        PAIR.uncertainty([[0.0]], level)


def test_every_row_needs_its_target():
    with pytest.raises(InvalidDataError):
        PAIR.log_predictive([[0.0], [1.0]], [0])
