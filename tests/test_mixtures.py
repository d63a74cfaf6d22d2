"""Quantiles of mixtures of leaves, also where they are tiny beside the interval that they are looked for in."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import gamma

from bcart.leaves import DirichletLeaf, PoissonLeaf, central_interval
from bcart.mixtures import Mixtures

LEVELS = (0.01, 0.4999995, 0.5, 0.5000005, 0.99)


def one_leaf(counts, alpha):
    return Mixtures(np.array([1]), np.array([counts], dtype=float), np.ones(1), DirichletLeaf((alpha,) * len(counts)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("counts", "alpha"),
    [
        ((7, 3), 1.0),
        ((0, 1e29, 1.0), 1.0),
        ((3, 1e30, 1.0), 1.0),
        ((0, 1e15), 0.05),
        ((0, 5), 0.01),
        ((1e8, 0), 2.5),
    ],
)
def test_the_interval_of_one_leaf_is_that_of_its_beta_distribution(counts, alpha, level):
    found = one_leaf(counts, alpha).output_quantile(level, 0)
    expected = betaincinv(counts[0] + alpha, sum(counts[1:]) + alpha * (len(counts) - 1), level)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_quantiles_of_leaves_of_very_different_weight_rise_with_the_level():
    counts = np.array([[3.0, 1e30], [0.0, 1e12], [2.0, 4.0]])
    mixtures = Mixtures(np.array([3]), counts, np.array([0.3, 0.3, 0.4]), DirichletLeaf((1.0, 1.0)))
    found = [float(mixtures.output_quantile(level, 0)[0]) for level in np.linspace(0.05, 0.95, 19)]
    assert np.all(np.diff(found) > 0)
    assert found[0] < 1e-29
    assert found[-1] > 0.1


def test_a_quantile_of_counts_is_found_where_they_are_too_large_to_be_told_from_their_neighbours():
    statistics = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # the prior's geometric distribution, and one of shape 2
    found = Mixtures(np.array([2]), statistics, np.full(2, 0.5), PoissonLeaf(1.0, 1e-17)).target_quantile(0.9)
    expected = brentq(lambda x: (gamma.cdf(x, 1) + gamma.cdf(x, 2)) / 2 - 0.9, 0, 9)
    np.testing.assert_allclose(found, 1e17 * expected, rtol=1e-9)


def test_the_ends_of_an_interval_are_in_order_where_rounding_has_crossed_the_quantiles():
    low, high = central_interval(lambda level: np.array([0.5 - 1e-9 * level, level]), 0.25)
    assert low.tolist() == [0.5 - 0.25e-9, 0.25]
    assert high.tolist() == [0.5 - 0.25e-9, 0.75]
