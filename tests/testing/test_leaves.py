"""The leaf families, against integrals over their parameters and against scipy's distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bcart.testing import EnumeratedPosterior, enumerate_posterior

NORMAL = {"leaf": "normal", "prior_mean": 0.5, "prior_weight": 0.7, "noise_shape": 1.5, "noise_scale": 0.8}
POISSON = {"leaf": "poisson", "prior_mean": 1.5, "prior_weight": 0.6}
NUMBERS, COUNTS = np.array([0.3, -1.2, 2.5]), np.array([0, 3, 1])
WEIGHTS = [None, [1.0, 2.0, 0.3]]


def one_leaf(y: np.ndarray, sample_weight: list[float] | None = None, **settings: object) -> EnumeratedPosterior:
    posterior = enumerate_posterior(np.zeros((len(y), 1)), y, sample_weight=sample_weight, **settings)
    assert posterior.n_trees == 1
    return posterior


@pytest.mark.parametrize("weights", WEIGHTS)
def test_normal_marginal_is_the_integral_over_mean_and_variance(weights):
    # Over an even grid of log variances and of means in units of the deviation: smooth, and gone at the ends.
    log_variance, unit = np.linspace(-6, 20, 261)[:, None], np.linspace(-40, 40, 1601)
    variance, deviation = np.exp(log_variance), np.exp(log_variance / 2)
    mean = NORMAL["prior_mean"] + deviation * unit
    log_joint = stats.invgamma.logpdf(variance, NORMAL["noise_shape"], scale=NORMAL["noise_scale"])
    log_joint = log_joint + stats.norm.logpdf(mean, NORMAL["prior_mean"], deviation / math.sqrt(NORMAL["prior_weight"]))
    for y, weight in zip(NUMBERS, weights or np.ones(3), strict=True):
        log_joint += weight * stats.norm.logpdf(y, mean, deviation)
    by_variance = integrate.trapezoid(np.exp(log_joint) * deviation, unit, axis=1)
    marginal = integrate.trapezoid(by_variance * variance[:, 0], log_variance[:, 0])
    assert one_leaf(NUMBERS, weights, **NORMAL).log_score == pytest.approx(math.log(marginal), rel=1e-9)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_poisson_marginal_is_the_integral_over_the_rate(weights):
    shape, scale = POISSON["prior_weight"] * POISSON["prior_mean"], 1 / POISSON["prior_weight"]

    def joint(rate: float) -> float:
        log_likelihood = np.dot(weights or np.ones(3), stats.poisson.logpmf(COUNTS, rate))
        return float(stats.gamma.pdf(rate, shape, scale=scale) * np.exp(log_likelihood))

    marginal, _ = integrate.quad(joint, 0, 60, epsabs=0, epsrel=1e-10, limit=200)
    assert one_leaf(COUNTS, weights, **POISSON).log_score == pytest.approx(math.log(marginal), rel=1e-8)


def test_normal_leaf_by_hand():
    # n = 2, mean 3, squares 2: k = 1 + 2, m = (0 + 6) / 3, a = 2 + 1, b = 1 + 1 + 1 * 2 * 9 / 6.
    posterior = one_leaf(np.array([2.0, 4.0]), leaf="normal")
    k, m, a, b = 3, 2, 3, 5
    known = posterior.uncertainty([[0.0]])
    assert known.mean == pytest.approx(m)
    assert known.noise == pytest.approx(b / (a - 1))
    assert known.within_leaf == pytest.approx(b / ((a - 1) * k))
    assert known.between_trees == 0
    spread = math.sqrt(b / (a * k))
    assert (known.low[0, 0], known.high[0, 0]) == pytest.approx(tuple(stats.t.ppf([0.025, 0.975], 2 * a, m, spread)))
    wider = math.sqrt(b * (k + 1) / (a * k))
    np.testing.assert_allclose(posterior.predictive_interval([[0.0]], 0.5), [stats.t.interval(0.5, 2 * a, m, wider)])
    assert posterior.map_tree.std == pytest.approx(math.sqrt(b * (k + 1) / ((a - 1) * k)))
    assert posterior.map_tree.statistics.tolist() == [[2, 3, 2]]
    # Gamma(3) / Gamma(2) * 1**2 / 5**3 * sqrt(1 / 3) / (2 pi)
    assert math.exp(posterior.log_score) == pytest.approx(2 / 125 / math.sqrt(3) / (2 * math.pi))


def test_poisson_leaf_by_hand():
    # Gamma(2 * 1.5 + 5, 2 + 3)
    posterior = one_leaf(np.array([0, 4, 1]), leaf="poisson", prior_mean=1.5, prior_weight=2.0)
    known = posterior.uncertainty([[0.0]], level=0.8)
    assert (known.mean, known.noise, known.within_leaf) == pytest.approx((8 / 5, 8 / 5, 8 / 25))
    assert (known.low[0, 0], known.high[0, 0]) == pytest.approx(tuple(stats.gamma.ppf([0.1, 0.9], 8, scale=1 / 5)))
    assert posterior.map_tree.std == pytest.approx(math.sqrt(8 / 5 + 8 / 25))
    assert posterior.predictive_interval([[0.0]], 0.8).tolist() == [stats.nbinom.ppf([0.1, 0.9], 8, 5 / 6).tolist()]
    # 2**3 / Gamma(3) * Gamma(8) / 5**8 / 4!
    assert math.exp(posterior.log_score) == pytest.approx(8 / 2 * math.factorial(7) / 5**8 / 24)


def test_dirichlet_leaf_by_hand():
    posterior = one_leaf(np.array(["a", "b", "b", "c"]), alpha=0.5)
    known = posterior.uncertainty([[0.0]], level=0.9)
    np.testing.assert_allclose(known.mean, [[1.5 / 5.5, 2.5 / 5.5, 1.5 / 5.5]])
    beta = stats.beta([1.5, 2.5, 1.5], [4.0, 3.0, 4.0])
    np.testing.assert_allclose(known.within_leaf, [beta.var()])
    np.testing.assert_allclose(known.noise, [beta.mean() - beta.moment(2)])
    np.testing.assert_allclose((known.low[0], known.high[0]), (beta.ppf(0.05), beta.ppf(0.95)))
    assert np.isnan(posterior.map_tree.std).all()


def test_light_normal_leaves_have_no_variance_but_intervals():
    light = one_leaf(np.array([1.0]), leaf="normal", noise_shape=0.5).uncertainty([[0.0]])  # of shape 1
    assert (light.within_leaf, light.noise, light.std) == (math.inf, math.inf, math.inf)
    assert np.isfinite([light.low, light.high, light.mean]).all()
    enough = one_leaf(np.array([1.0]), leaf="normal", noise_shape=0.6).uncertainty([[0.0]])
    assert np.isfinite([enough.within_leaf, enough.noise]).all()


def test_a_class_that_is_alone_is_certain():
    known = one_leaf(np.array(["a", "a"])).uncertainty([[0.0]])
    assert (known.mean, known.low, known.high, known.std, known.noise) == (1, 1, 1, 0, 0)
