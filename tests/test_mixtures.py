"""Quantiles of mixtures of leaves, also where they are tiny beside the interval that they are looked for in."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv
from scipy.stats import gamma

from bcart.leaves import DirichletLeaf, NormalLeaf, PoissonLeaf, central_interval
from bcart.leaves.model import BYTES_AT_ONCE
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


def many_leaves(leaf, ends, n_bytes_at_once=BYTES_AT_ONCE):
    rng = np.random.default_rng(0)
    n_rows, counts = rng.integers(1, 20, ends[-1]).astype(float), rng.integers(0, 9, (ends[-1], 3)).astype(float)
    statistics = {
        "dirichlet": counts,
        "normal": np.column_stack([n_rows, n_rows * counts[:, 0], n_rows * (counts[:, 0] ** 2 + 1)]),
        "poisson": np.column_stack([n_rows, counts[:, 0], np.zeros(len(counts))]),
    }[leaf.family]
    weights = rng.random(ends[-1]) / np.repeat(np.diff(ends, prepend=0), np.diff(ends, prepend=0))
    return Mixtures(np.array(ends), statistics, weights, leaf, n_bytes_at_once)


def answers(mixtures):
    y, rows = np.array([2.0, 0.0, 1.0, 1.0, 1.0, 1.0]), np.array([0, 0, 0, 0, 1, 2])
    yield mixtures.log_density(y, rows)
    yield from mixtures.output_interval(0.1)
    if not mixtures.leaf.outputs_sum_to_one:
        yield mixtures.target_quantile(0.3)


@pytest.mark.parametrize("leaf", [DirichletLeaf((1.0, 0.5, 2.0)), NormalLeaf(), PoissonLeaf()])
def test_leaves_are_answered_alike_however_many_are_looked_at_together(leaf):
    ends = [3, 4, 204]
    for n_bytes in (1, 3000, 50_000):
        both = answers(many_leaves(leaf, ends, n_bytes)), answers(many_leaves(leaf, ends))
        for found, expected in zip(*both, strict=True):
            np.testing.assert_array_equal(found, expected)


class Watched(NormalLeaf):
    """Notes how many leaves are looked at."""

    def log_density(self, y, statistics):
        SEEN.append(len(statistics))
        return super().log_density(y, statistics)

    def output_cdf(self, x, statistics, output=0):
        SEEN.append(len(statistics))
        return super().output_cdf(x, statistics, output)


SEEN = []


@pytest.mark.parametrize("ask", ["output_interval", "log_density"])
def test_few_of_many_leaves_are_looked_at_together(ask):
    mixtures = many_leaves(Watched(), [150_000, 150_010])
    SEEN.clear()
    mixtures.output_interval(0.1) if ask == "output_interval" else mixtures.log_density(np.zeros(2), np.arange(2))
    assert max(SEEN) <= BYTES_AT_ONCE / mixtures.leaf.n_bytes_a_leaf < 50_000


def test_equal_targets_of_a_row_are_answered_once():
    mixtures = many_leaves(Watched(), [100, 200])
    SEEN.clear()
    found = mixtures.log_density(np.repeat([1.0, 2.0, 2.0], 1000), np.repeat([0, 0, 1], 1000))
    assert sum(SEEN) == 300
    assert [len(set(found[start : start + 1000])) for start in (0, 1000, 2000)] == [1, 1, 1]
