"""The prior weights of trees, against hand and literature."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.testing.strategies import problems

HALF = {"prior": "depth-decay", "split_alpha": 0.5, "split_beta": 1.0}  # 1/2, 1/4, 1/6, ...


def prior_weights(n_cells: int, **settings: object) -> np.ndarray:
    cells, labels = np.arange(n_cells)[:, None], np.arange(n_cells) % 2
    return np.exp(enumerate_posterior(cells, labels, **HALF, **settings).log_prior_weights)


@settings(max_examples=300, deadline=None)
@given(problems(prior=st.just("depth-decay")))
def test_depth_decay_is_a_distribution_over_the_trees_of_the_family(problem):
    weights, chosen = problem.sample_weight, problem.settings
    posterior = enumerate_posterior(problem.X, problem.y, sample_weight=weights, **chosen)
    assert posterior.log_prior_mass == pytest.approx(0.0, abs=1e-12)


def test_boxes_that_cannot_split_stop_for_certain():
    np.testing.assert_allclose(prior_weights(1), [1])
    np.testing.assert_allclose(prior_weights(2), [1 / 2, 1 / 2])


def test_depth_decay_on_three_cells():
    # Stop; either cut, after which the pair stops or goes on at depth 1.
    cut = 1 / 2 * 1 / 2
    np.testing.assert_allclose(prior_weights(3), [1 / 2, cut * 3 / 4, cut * 1 / 4, cut * 3 / 4, cut * 1 / 4])


@pytest.mark.parametrize("restriction", [{"max_depth": 1}, {"min_samples_split": 3}])
def test_restrictions_leave_nothing_to_decide(restriction):
    np.testing.assert_allclose(prior_weights(3, **restriction), [1 / 2, 1 / 4, 1 / 4])


def test_splits_are_counted_within_the_family():
    # Of the three cuts only the middle one leaves two rows on either side.
    np.testing.assert_allclose(prior_weights(4, min_samples_leaf=2), [1 / 2, 1 / 2])


def test_missing_values_add_splits_to_choose_from():
    posterior = enumerate_posterior([[0.0], [1.0], [math.nan]], [0, 1, 0], max_depth=1, **HALF)
    np.testing.assert_allclose(np.exp(posterior.log_prior_weights), [1 / 2, 1 / 6, 1 / 6, 1 / 6])


# The tree `x2 ? (x3 ? A : B) : C` with leaf counts (0, 19), (0, 10) and (11, 0), split_alpha .95 and split_beta .5, has
# log prior -5.638 and log likelihood -7.879 in the literature's own test suite. There a split of a box is a feature
# that separates it; here it is a bipartition, and features that divide a box alike are one split. The two agree where
# all features differ in every box, as they do below: four features separate the root, three the box x2 = 1, and every
# leaf could go on.

LITERATURE = {"prior": "depth-decay", "split_alpha": 0.95, "split_beta": 0.5}


def literature_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all rows of four binary features, with labels and weights that add up to the leaf counts."""
    X = np.array(list(product((0.0, 1.0), repeat=4)))
    is_a, is_c = (X[:, 2] == 1) & (X[:, 3] == 1), X[:, 2] == 0
    weights = np.select([is_a, is_c], [19 / 4, 11 / 8], 10 / 4)
    return X, np.where(is_c, 0, 1), weights


def log_prior_by_counts(*n_splits: int) -> float:
    """Return the log prior of the literature's tree from the number of splits of the root and of its box x2 = 1."""
    p = [0.95 * (1 + depth) ** -0.5 for depth in range(3)]
    log_of_splits = math.log(p[0] / n_splits[0]) + math.log(p[1] / n_splits[1])
    return log_of_splits + math.log(1 - p[1]) + 2 * math.log(1 - p[2])


def index_of_the_literature_tree(posterior: EnumeratedPosterior) -> int:
    (index,) = (i for i, tree in enumerate(posterior.trees) if tree.feature.tolist() == [2, -1, 3, -1, -1])
    return index


def test_the_tree_of_the_literature_has_its_number():
    X, y, weights = literature_data()
    # Leaves at depth 2 can still split when trees may be of depth 3; all depths would be too many trees.
    posterior = enumerate_posterior(X, y, sample_weight=weights, max_depth=3, **LITERATURE)
    index = index_of_the_literature_tree(posterior)
    tree, log_prior = posterior.trees[index], posterior.log_prior_weights[index]
    np.testing.assert_allclose(tree.statistics[tree.feature < 0], [[11, 0], [0, 10], [0, 19]])
    assert log_prior == pytest.approx(log_prior_by_counts(4, 3), rel=1e-12)
    assert log_prior == pytest.approx(-5.638, abs=5e-4)
    assert posterior.log_weights[index] - log_prior == pytest.approx(-math.log(12 * 11 * 20), rel=1e-12)
    assert posterior.log_weights[index] == pytest.approx(-5.638 - 7.879, abs=1e-3)


def test_equal_bipartitions_are_one_split_here_and_two_in_the_literature():
    X, y, weights = literature_data()
    doubled = np.column_stack([X, 1 - X[:, 0]])
    posterior = enumerate_posterior(doubled, y, sample_weight=weights, max_depth=3, **LITERATURE)
    log_prior = posterior.log_prior_weights[index_of_the_literature_tree(posterior)]
    assert log_prior == pytest.approx(log_prior_by_counts(4, 3), rel=1e-12)
    assert log_prior - log_prior_by_counts(5, 4) == pytest.approx(math.log(20 / 12))
