"""The oracle itself, against cases small enough to work out by hand and against a second, even plainer program."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.testing.strategies import Problem, problems

THREE_ORDERED = ([[0.0], [1.0], [2.0]], ["a", "a", "b"])
XOR = ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])


def enumerate_problem(problem: Problem) -> EnumeratedPosterior:
    return enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **problem.settings)


def ordered(n_cells: int, **settings_: object) -> EnumeratedPosterior:
    return enumerate_posterior(np.arange(n_cells)[:, None], np.arange(n_cells) % 2, **settings_)


# What a tree weighs


@pytest.mark.parametrize("log_phi", [-1.0, 0.0, 2.0])
def test_two_cells_weigh_the_leaf_plus_the_pair_over_phi(log_phi):
    posterior = enumerate_posterior([[0.0], [1.0]], [0, 1], log_phi=log_phi)
    # B(2, 2) / B(1, 1) = 1/6 for the root, B(2, 1) / B(1, 1) = 1/2 for each side.
    assert posterior.log_score == pytest.approx(math.log(1 / 6 + (1 / 2) ** 2 / math.exp(log_phi)))
    assert posterior.log_prior_mass == pytest.approx(math.log(1 + 1 / math.exp(log_phi)))
    assert posterior.log_evidence == posterior.log_score - posterior.log_prior_mass


def test_three_ordered_cells_weigh_seven_twelfths():
    posterior = enumerate_posterior(*THREE_ORDERED, log_phi=0.0)
    # Stop; cut after the first cell: stop, go on; cut after the second: stop, go on.
    by_hand = [1 / 12, 1 / 2 * 1 / 6, 1 / 2 * 1 / 2 * 1 / 2, 1 / 3 * 1 / 2, 1 / 2 * 1 / 2 * 1 / 2]
    np.testing.assert_allclose(np.exp(posterior.log_weights), by_hand)
    np.testing.assert_allclose(posterior.probabilities, np.array(by_hand) / (7 / 12))
    np.testing.assert_allclose([tree.log_probability for tree in posterior.trees], np.log(posterior.probabilities))


def test_prior_mass_counts_leaves_only():
    phi = math.exp(0.7)
    assert ordered(3, log_phi=0.7).log_prior_mass == pytest.approx(math.log(1 + 2 / phi + 2 / phi**2))


def test_alpha_may_differ_between_classes():
    posterior = enumerate_posterior([[0.0], [0.0]], [0, 1], alpha=(2.0, 3.0))
    # B(3, 4) / B(2, 3) = (2! 3! / 6!) / (1! 2! / 4!) = 1/5
    assert posterior.log_score == pytest.approx(math.log(1 / 5))
    np.testing.assert_allclose(posterior.map_tree.predictive, [[3 / 7, 4 / 7]])


@pytest.mark.parametrize("n", [10, 10**6, 10**9, 10**12])
def test_large_counts_keep_their_digits(n):
    posterior = enumerate_posterior([[0.0], [0.0]], [0, 1], sample_weight=[n, 1])
    # n! 1! / (n + 2)!
    assert posterior.log_score == pytest.approx(-math.log(n + 1) - math.log(n + 2), rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_probabilities_sum_to_one(problem):
    posterior = enumerate_problem(problem)
    assert posterior.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    if problem.leaf == "dirichlet":
        np.testing.assert_allclose(posterior.predict_proba(problem.X).sum(axis=1), 1.0)


def log_marginal_by_moments(problem: Problem, weights: np.ndarray, targets: np.ndarray, labels: list) -> float:
    """Return the log marginal likelihood of a leaf from plain weighted sums."""
    if problem.leaf == "dirichlet":
        alpha = np.broadcast_to(problem.alpha, len(labels))
        updated = alpha + [weights[targets == label].sum() for label in labels]
        return gammaln(updated).sum() - gammaln(updated.sum()) - gammaln(alpha).sum() + gammaln(alpha.sum())
    n, s1, s2 = weights.sum(), weights @ targets, weights @ targets**2
    m, k = problem.prior_mean, problem.prior_weight
    if problem.leaf == "poisson":
        log_factorials = weights @ [math.log(math.factorial(int(count))) for count in targets]
        before, after = (m * k, k), (m * k + s1, k + n)
        return sum(sign * (gammaln(a) - a * np.log(b)) for sign, (a, b) in ((1, after), (-1, before))) - log_factorials
    a, b = problem.noise_shape, problem.noise_scale
    scale = b + (s2 + k * m**2 - (k * m + s1) ** 2 / (k + n)) / 2
    log_gammas = gammaln(a + n / 2) - gammaln(a)
    return log_gammas + a * np.log(b) - (a + n / 2) * np.log(scale) - np.log(1 + n / k) / 2 - n / 2 * np.log(2 * np.pi)


def sides_of_tests(problem: Problem, box: frozenset) -> Iterator[frozenset]:
    """Yield one side of every test, without any order: rows are tuples, with None for a missing value."""
    for f in range(problem.X.shape[1]):
        missing = frozenset(x for x in box if x[f] is None)
        yield missing
        for value in {x[f] for x in box} - {None}:
            if f in problem.nominal:
                yield frozenset(x for x in box if x[f] == value)
            else:
                below = frozenset(x for x in box if x[f] is not None and x[f] < value)
                yield from (below, below | missing)


def score_by_recursion(problem: Problem) -> float:
    """Return log Q(root) of the method's recursion, over sets of row values and with no other line in common."""
    keys = [tuple(None if math.isnan(v) else v for v in x) for x in problem.X.tolist()]
    rows = [row for row in zip(keys, problem.y.tolist(), problem.weights.tolist(), strict=True) if row[2] > 0]
    labels = sorted({label for _, label, _ in rows})

    def weight(box):
        return sum(w for x, _, w in rows if x in box)

    def log_leaf(box):
        weights, targets = np.array([(w, y) for x, y, w in rows if x in box]).T
        return log_marginal_by_moments(problem, weights, targets, labels)

    @cache
    def splits(box):
        if weight(box) < problem.min_samples_split - 1e-6:
            return []
        pairs = {frozenset((side, box - side)) for side in sides_of_tests(problem, box) if side and side != box}
        return [pair for pair in pairs if min(map(weight, pair)) > problem.min_samples_leaf - 1e-6]

    @cache
    def log_q(box, depth):
        pairs = splits(box) if depth != problem.max_depth else []
        log_stop, log_split = 0.0, -problem.log_phi
        if problem.prior == "depth-decay" and pairs:
            p = problem.split_alpha / (1 + depth) ** problem.split_beta
            log_stop, log_split = math.log(1 - p), math.log(p / len(pairs))
        terms = [log_split + sum(log_q(side, depth + 1) for side in pair) for pair in pairs]
        return np.logaddexp.reduce([log_stop + log_leaf(box), *terms])

    return float(log_q(frozenset(x for x, _, _ in rows), 0))


@settings(max_examples=300, deadline=None)
@given(problems())
def test_sum_over_all_trees_is_the_recursion_of_the_method(problem):
    assert enumerate_problem(problem).log_score == pytest.approx(score_by_recursion(problem), rel=1e-10, abs=1e-10)


# Which trees there are


@pytest.mark.parametrize("n_cells", range(1, 8))
def test_ordered_cells_have_the_binomial_transform_of_the_catalan_numbers(n_cells):
    posterior = ordered(n_cells)
    # Choose which of the gaps are cut, then the order of cutting: a binary tree over the chosen gaps.
    known = sum(math.comb(n_cells - 1, k) * math.comb(2 * k, k) // (k + 1) for k in range(n_cells))
    assert posterior.n_trees == known
    assert posterior.log_n_trees == math.log(known)
    assert len(set(posterior.trees)) == known


@pytest.mark.parametrize("n_cells", range(1, 7))
def test_boxes_of_ordered_cells_are_the_intervals(n_cells):
    posterior = ordered(n_cells)
    assert posterior.n_boxes == n_cells * (n_cells + 1) // 2
    assert posterior.n_splits == sum((n_cells - length + 1) * (length - 1) for length in range(1, n_cells + 1))


def test_three_cells_that_every_test_divides_differently_have_seven_trees():
    posterior = enumerate_posterior([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]], [0, 1, 0])
    # Three bipartitions of the root, each of which leaves one pair of cells.
    assert (posterior.n_trees, posterior.n_boxes, posterior.n_splits) == (7, 7, 6)


def test_square_of_cells_has_nine_trees():
    posterior = enumerate_posterior(*XOR)
    # Stop, or one of two tests with a free choice on either side.
    assert (posterior.n_trees, posterior.n_boxes, posterior.n_splits) == (9, 9, 6)


@pytest.mark.parametrize("copy", [lambda x: x, lambda x: 2 * x + 1, lambda x: -x])
def test_tests_that_divide_a_box_alike_are_one_split(copy):
    x = np.array([0.0, 1.0, 3.0])
    alone = enumerate_posterior(x[:, None], [0, 1, 1])
    twice = enumerate_posterior(np.column_stack([x, copy(x)]), [0, 1, 1])
    np.testing.assert_array_equal(twice.log_weights, alone.log_weights)
    assert twice.trees == alone.trees
    assert (twice.n_boxes, twice.n_splits) == (alone.n_boxes, alone.n_splits)


def test_max_depth_counts_the_tests_from_root_to_leaf():
    assert [ordered(4, max_depth=depth).n_trees for depth in range(5)] == [1, 4, 11, 15, 15]
    assert [ordered(4, max_depth=depth).n_boxes for depth in range(5)] == [1, 7, 10, 10, 10]
    assert [ordered(4, max_depth=depth).n_splits for depth in range(5)] == [0, 3, 9, 10, 10]
    assert max(tree.depth for tree in ordered(4, max_depth=2).trees) == 2


def test_both_sides_of_a_split_reach_the_least_weight_of_a_leaf():
    posterior = ordered(6, min_samples_leaf=2)
    leaves = np.vstack([tree.statistics[tree.feature < 0] for tree in posterior.trees])
    assert leaves.sum(axis=1).min() == 2
    assert posterior.n_trees == 6  # stop; 2|4, 2|(2|2), 3|3, 4|2, (2|2)|2


def test_light_boxes_are_not_split():
    assert ordered(3, min_samples_split=3).n_trees == 3
    assert ordered(3, min_samples_split=4).n_trees == 1


def test_weights_reach_a_minimum_up_to_rounding():
    tenths = enumerate_posterior([[0.0]] * 10 + [[1.0]] * 10, [0] * 20, sample_weight=[0.1] * 20)
    assert tenths.n_trees == 2
    assert enumerate_posterior([[0.0], [1.0]], [0, 1], sample_weight=[0.999, 5]).n_trees == 1


# What is in a tree


@settings(max_examples=100, deadline=None)
@given(problems(leaf=st.just("dirichlet")))
def test_every_tree_routes_the_rows_into_the_boxes_it_counts(problem):
    posterior = enumerate_problem(problem)
    present = problem.weights > 0  # other rows may hold labels and missing values that no box has
    rows, labels, weights = problem.X[present], problem.y[present], problem.weights[present]
    for tree in posterior.trees:
        counts = np.zeros_like(tree.statistics)
        for leaf, label, weight in zip(tree.apply(rows), labels, weights, strict=True):
            counts[leaf] += weight * (posterior.classes == label)
        for node in np.flatnonzero(tree.feature >= 0)[::-1]:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
        np.testing.assert_allclose(tree.statistics, counts, atol=1e-12)
        np.testing.assert_allclose(tree.n_rows, counts.sum(axis=1), atol=1e-12)
    assert len(set(posterior.trees)) == posterior.n_trees


def test_thresholds_lie_halfway_between_the_values_in_the_box():
    posterior = enumerate_posterior([[0.0, 0.0], [1.0, 1.0], [4.0, 0.0]], [0, 1, 2])
    tests = {tuple(zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)) for tree in posterior.trees}
    firsts = {test[0] for test in tests if len(test) > 1}
    assert firsts == {(0, 0.5), (0, 2.5), (1, 0.5)}
    # Once the middle cell is gone, its neighbours meet halfway.
    assert any((0, 2.0) in test for test in tests)


@pytest.mark.parametrize(("below", "above"), [(1.0, math.nextafter(1.0, 2.0)), (-1e308, 1.5e308), (-5e-324, 0.0)])
def test_thresholds_keep_apart_any_two_distinct_numbers(below, above):
    (tree,) = enumerate_posterior([[below], [above]], [0, 1]).trees[1:]
    assert below < tree.threshold[0] <= above


def test_negative_zero_is_zero():
    assert enumerate_posterior([[0.0], [-0.0]], [0, 1]).n_trees == 1


def test_ensemble_averages_the_trees():
    posterior = enumerate_posterior([[0.0], [1.0]], [0, 1], log_phi=0.0)
    stop = (1 / 6) / (1 / 6 + 1 / 4)
    zero_on_the_left = stop * 1 / 2 + (1 - stop) * 2 / 3
    expected = [[zero_on_the_left, 1 - zero_on_the_left], [1 - zero_on_the_left, zero_on_the_left]]
    np.testing.assert_allclose(posterior.predict_proba([[0.4], [7.0]]), expected)


# Ties


def test_stopping_wins_a_tie():
    # 1/6 for the leaf against 1/4 / phi for the pair.
    assert enumerate_posterior([[0.0], [1.0]], [0, 1], log_phi=math.log(3 / 2)).map_tree.n_leaves == 1
    assert enumerate_posterior([[0.0], [1.0]], [0, 1], log_phi=math.log(3 / 2) - 1e-6).map_tree.n_leaves == 2


def test_the_lowest_feature_wins_a_tie():
    posterior = enumerate_posterior(*XOR, log_phi=-3.0)
    assert posterior.map_tree.feature.tolist() == [0, 1, -1, -1, 1, -1, -1]
    assert posterior.map_log_score == pytest.approx(4 * math.log(1 / 2) + 3 * 3.0)


def test_the_lowest_cut_wins_a_tie():
    posterior = enumerate_posterior([[0.0], [1.0], [2.0]], [0, 1, 0], log_phi=-3.0)
    assert posterior.map_tree.threshold[0] == 0.5


# Rows


def test_rows_without_weight_are_absent_with_their_values_and_labels():
    present = enumerate_posterior([[0.0], [2.0]], ["a", "b"])
    padded = enumerate_posterior([[0.0], [1.0], [2.0]], ["a", "c", "b"], sample_weight=[1, 0, 1])
    assert padded.classes.tolist() == ["a", "b"]
    assert padded.trees == present.trees
    assert padded.log_score == present.log_score


def test_integer_weights_are_repeated_rows():
    weighted = enumerate_posterior([[0.0], [1.0]], [0, 1], sample_weight=[3, 2])
    repeated = enumerate_posterior([[0.0]] * 3 + [[1.0]] * 2, [0, 0, 0, 1, 1])
    np.testing.assert_allclose(weighted.log_weights, repeated.log_weights)
    np.testing.assert_array_equal(weighted.map_tree.statistics, repeated.map_tree.statistics)


def test_features_are_named_by_number_unless_given():
    assert enumerate_posterior([[0.0, 1.0]], [0]).feature_names == ("x0", "x1")
    assert enumerate_posterior([[0.0, 1.0]], [0], feature_names=["age", "sex"]).map_tree.feature_names == ("age", "sex")


# Refusals


def test_the_limit_on_trees_is_the_number_of_trees():
    assert ordered(5, max_trees=51).n_trees == 51
    with pytest.raises(InvalidModelError, match="over 50 trees"):
        ordered(5, max_trees=50)


def test_hopeless_lists_are_refused_at_once():
    with pytest.raises(InvalidModelError, match="over 100,000 trees"):
        ordered(500)


@pytest.mark.parametrize(
    ("X", "y", "weights"),
    [
        ([0.0, 1.0], [0, 1], None),
        ([[0.0], [math.inf]], [0, 1], None),
        ([[], []], [0, 1], None),
        ([[0.0], [1.0]], [0], None),
        ([[0.0], [1.0]], [0, 1], [1.0]),
        ([[0.0], [1.0]], [0, 1], [1.0, -1.0]),
        ([[0.0], [1.0]], [0, 1], [0.0, 0.0]),
    ],
)
def test_data_that_make_no_sense_are_refused(X, y, weights):
    with pytest.raises(InvalidDataError):
        enumerate_posterior(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"prior": "flat"},
        {"log_phi": math.inf},
        {"prior": "depth-decay", "split_alpha": 1.0},
        {"prior": "depth-decay", "split_alpha": 0.0},
        {"prior": "depth-decay", "split_beta": -0.1},
        {"leaf": "gamma"},
        {"leaf": "normal", "prior_mean": math.nan},
        {"leaf": "normal", "prior_weight": 0.0},
        {"leaf": "normal", "noise_shape": 0.0},
        {"leaf": "normal", "noise_scale": -1.0},
        {"leaf": "poisson", "prior_mean": 0.0},
        {"nominal": (1,)},
        {"nominal": (-1,)},
        {"alpha": 0.0},
        {"alpha": (1.0, 1.0, 1.0)},
        {"max_depth": -1},
        {"min_samples_leaf": 0},
        {"min_samples_split": 0},
        {"max_trees": 0},
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters):
    with pytest.raises(InvalidModelError):
        enumerate_posterior([[0.0], [1.0]], [0, 1], **parameters)


def test_feature_names_must_fit_the_columns():
    with pytest.raises(InvalidDataError):
        enumerate_posterior([[0.0], [1.0]], [0, 1], feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("leaf", "y"),
    [("normal", ["a", "b"]), ("normal", [0.0, math.nan]), ("poisson", [0, -1]), ("poisson", [0, 0.5])],
)
def test_targets_must_fit_the_leaves(leaf, y):
    with pytest.raises(InvalidDataError):
        enumerate_posterior([[0.0], [1.0]], y, leaf=leaf, prior_mean=1.0)
