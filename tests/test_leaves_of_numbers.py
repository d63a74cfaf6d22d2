"""Leaves of numbers and of counts: by the chain rule, against scipy's distributions, and in exact numbers."""

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import bcart
from bcart import DirichletLeaf, NormalLeaf, PoissonLeaf

NORMAL = NormalLeaf(prior_mean=1.0, prior_weight=0.5, noise_shape=1.5, noise_scale=2.0, center=0.7)
POISSON = PoissonLeaf(shape=1.5, rate=0.7)
numbers = st.lists(st.floats(-50.0, 50.0), min_size=0, max_size=8)
counts = st.lists(st.integers(0, 60), min_size=0, max_size=8)


def sums(leaf, y):
    """The statistics of one leaf that holds these targets."""
    rows = leaf.statistics(np.asarray(y, dtype=float))
    return rows.sum(axis=0, keepdims=True) if len(y) else np.zeros((1, 3))


def log_marginal(leaf, y):
    return float(leaf.log_marginal(sums(leaf, y))[0])


def by_the_chain_rule(leaf, y):
    """The probability of the first target, times that of the second given the first, and so on."""
    return sum(float(leaf.log_density(np.array([y[i]]), sums(leaf, y[:i]))[0]) for i in range(len(y)))


@given(numbers)
def test_the_marginal_likelihood_of_numbers_is_a_product_of_predictive_densities(y):
    assert log_marginal(NORMAL, y) == pytest.approx(by_the_chain_rule(NORMAL, y), rel=1e-9, abs=1e-9)


@given(counts)
def test_the_marginal_likelihood_of_counts_is_a_product_of_predictive_probabilities(y):
    y = np.asarray(y, dtype=float)
    assert log_marginal(POISSON, y) == pytest.approx(by_the_chain_rule(POISSON, y), rel=1e-10, abs=1e-10)


@given(numbers, st.floats(-100.0, 100.0))
def test_where_statistics_count_from_changes_nothing(y, center):
    moved = NormalLeaf(1.0, 0.5, 1.5, 2.0, center=center)
    one, other = sums(NORMAL, y), sums(moved, y)
    assert log_marginal(moved, y) == pytest.approx(log_marginal(NORMAL, y), rel=1e-8, abs=1e-8)
    for ask in ("moments", "predictive", "predictive_std"):
        np.testing.assert_allclose(getattr(moved, ask)(other), getattr(NORMAL, ask)(one), rtol=1e-7, atol=1e-8)
    for level in (0.01, 0.5, 0.9):
        np.testing.assert_allclose(
            moved.target_quantile(level, other), NORMAL.target_quantile(level, one), rtol=1e-6, atol=1e-7
        )


@given(counts)
def test_the_marginal_likelihood_of_counts_is_exact_in_rational_numbers(y):
    """With a prior of whole numbers: Gamma functions become factorials."""
    shape, rate, n, total = 3, 2, len(y), sum(y)
    ratio = Fraction(math.factorial(shape + total - 1), math.factorial(shape - 1)) * Fraction(
        rate**shape, (rate + n) ** (shape + total)
    )
    ratio /= math.prod(math.factorial(count) for count in y)
    expected = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert log_marginal(PoissonLeaf(shape, rate), y) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_output_and_the_target_of_numbers_have_student_t_distributions():
    y = np.array([0.5, 3.0, -1.0, 2.5])
    weight, shape = 4.5, 3.5
    mean = (0.5 * 1.0 + y.sum()) / weight
    scale = 2.0 + ((y - y.mean()) ** 2).sum() / 2 + 0.5 * 4 * (y.mean() - 1.0) ** 2 / (2 * weight)
    output = stats.t(2 * shape, mean, math.sqrt(scale / shape / weight))
    target = stats.t(2 * shape, mean, math.sqrt(scale / shape * (1 + 1 / weight)))
    check_distributions(NORMAL, sums(NORMAL, y), output, target, np.linspace(-5, 7, 9))
    moments = NORMAL.moments(sums(NORMAL, y))
    assert moments.noise[0, 0] == pytest.approx(scale / (shape - 1), rel=1e-13)


def test_the_output_of_counts_is_gamma_and_the_target_negative_binomial():
    y = np.array([3.0, 0.0, 7.0])
    output = stats.gamma(1.5 + 10.0, scale=1 / 3.7)
    target = stats.nbinom(1.5 + 10.0, 3.7 / 4.7)
    check_distributions(POISSON, sums(POISSON, y), output, target, np.arange(0.0, 12.0))
    assert POISSON.moments(sums(POISSON, y)).noise[0, 0] == pytest.approx(output.mean(), rel=1e-13)


def check_distributions(leaf, statistics, output, target, values):
    moments = leaf.moments(statistics)
    assert moments.mean[0, 0] == pytest.approx(output.mean(), rel=1e-13)
    assert moments.variance[0, 0] == pytest.approx(output.var(), rel=1e-12)
    assert leaf.predictive(statistics)[0, 0] == pytest.approx(target.mean(), rel=1e-12)
    assert leaf.predictive_std(statistics)[0, 0] == pytest.approx(target.std(), rel=1e-12)
    for value in values:
        one = np.array([value])
        assert leaf.output_cdf(one, statistics, 0)[0] == pytest.approx(output.cdf(value), rel=1e-11, abs=1e-13)
        assert leaf.target_cdf(one, statistics)[0] == pytest.approx(target.cdf(value), rel=1e-11, abs=1e-13)
        log_chance = target.logpmf(value) if leaf.is_discrete else target.logpdf(value)
        assert leaf.log_density(one, statistics)[0] == pytest.approx(log_chance, rel=1e-11)
    for level in (1e-6, 0.025, 0.5, 0.9, 1 - 1e-6):
        assert leaf.output_quantile(level, statistics, 0)[0] == pytest.approx(output.ppf(level), rel=1e-9)
        assert leaf.target_quantile(level, statistics)[0] == pytest.approx(target.ppf(level), rel=1e-9)


def test_the_density_of_numbers_integrates_to_its_cumulative_distribution():
    statistics = sums(NORMAL, [1.0, 4.0])

    def density(y):
        return math.exp(NORMAL.log_density(np.array([y]), statistics)[0])

    for a, b in ((-3.0, 0.0), (0.0, 2.5), (2.5, 30.0)):
        low, high = (NORMAL.target_cdf(np.array([y]), statistics)[0] for y in (a, b))
        assert quad(density, a, b)[0] == pytest.approx(high - low, abs=1e-9)


def test_no_targets_have_probability_one_and_the_prior_speaks():
    for leaf in (NORMAL, POISSON):
        assert log_marginal(leaf, []) == pytest.approx(0.0, abs=1e-14)
    assert NORMAL.predictive(sums(NORMAL, []))[0, 0] == pytest.approx(1.0, rel=1e-15)
    assert POISSON.predictive(sums(POISSON, []))[0, 0] == pytest.approx(1.5 / 0.7, rel=1e-15)


def test_spreads_that_do_not_exist_are_infinite():
    """Of a Student t distribution with at most two degrees of freedom."""
    leaf = NormalLeaf(noise_shape=0.5)
    moments = leaf.moments(sums(leaf, [1.0]))  # shape 1
    assert moments.mean[0, 0] == 0.5
    assert moments.variance[0, 0] == moments.noise[0, 0] == math.inf
    assert np.isfinite(leaf.moments(sums(leaf, [1.0, 2.0])).variance).all()


def test_targets_that_are_alike_leave_no_negative_rest():
    """Sums of squares may come out below the square of the sum by rounding."""
    leaf = NormalLeaf(0.0, 1.0, 2.0, 1e-12)
    y = np.full(1000, 123456.789)
    assert np.isfinite(leaf.log_marginal(sums(leaf, y))).all()
    assert (leaf.moments(sums(leaf, y)).noise > 0).all()


def test_classes_have_a_cumulative_order_for_drawing():
    leaf, statistics = DirichletLeaf((1.0, 1.0, 2.0)), np.array([[3.0, 0.0, 2.0]])
    chances = np.array([4.0, 1.0, 4.0]) / 9
    assert [leaf.target_cdf(np.array([k]), statistics)[0] for k in range(3)] == pytest.approx(
        np.cumsum(chances).tolist()
    )
    levels = (np.arange(9000) + 0.5) / 9000
    drawn = leaf.target_quantile(levels, np.repeat(statistics, 9000, axis=0))
    assert np.bincount(drawn.astype(int), minlength=3).tolist() == [4000, 1000, 4000]
    assert np.exp(leaf.log_density(np.array([1.0]), statistics))[0] == pytest.approx(chances[1])


def test_the_chance_of_a_class_is_beta_distributed():
    leaf, statistics = DirichletLeaf((0.5, 1.0, 2.0)), np.array([[3.0, 0.0, 2.0]])
    for output, (a, b) in enumerate([(3.5, 5.0), (1.0, 7.5), (4.0, 4.5)]):
        for x in (0.1, 0.5, 0.9):
            assert leaf.output_cdf(np.array([x]), statistics, output)[0] == pytest.approx(stats.beta.cdf(x, a, b))
            assert leaf.output_quantile(x, statistics, output)[0] == pytest.approx(stats.beta.ppf(x, a, b))


@pytest.mark.parametrize("leaf", [NORMAL, POISSON, DirichletLeaf((1.0, 2.0, 3.0))])
def test_leaves_are_values(leaf):
    statistics = np.array([[2.0, 3.0, 5.0]])
    before = leaf.log_marginal(statistics)
    again = pickle.loads(pickle.dumps(leaf))
    assert again == leaf
    assert hash(again) == hash(leaf)
    np.testing.assert_array_equal(again.log_marginal(statistics), before)


@pytest.mark.parametrize("leaf", [NORMAL, POISSON])
@pytest.mark.parametrize("shape", [(4, 2), (4, 4), (3,), (1, 3, 1)])
def test_statistics_of_another_shape_are_refused(leaf, shape):
    with pytest.raises(bcart.InvalidDataError, match="have 3 columns"):
        leaf.log_marginal(np.ones(shape))


@pytest.mark.parametrize("name", ["prior_weight", "noise_shape", "noise_scale"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "one", None])
def test_parameters_of_numbers_are_positive(name, value):
    with pytest.raises(bcart.InvalidModelError, match=name):
        NormalLeaf(**{name: value})


@pytest.mark.parametrize("name", ["shape", "rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "one", None])
def test_parameters_of_counts_are_positive(name, value):
    with pytest.raises(bcart.InvalidModelError, match=name):
        PoissonLeaf(**{name: value})


def test_a_prior_that_no_data_could_move_is_refused():
    with pytest.raises(bcart.InvalidModelError, match=r"shape=1e\+308 of the prior .* at most 1e\+15: give a smaller"):
        bcart.PoissonLeaf(shape=1e308, rate=1.0)
    with pytest.raises(bcart.InvalidModelError, match=r"shape=|rate="):
        bcart.BayesianTreeRegressor(leaf="poisson", prior_weight=1e20).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("n_rows", [0.0, 0.5, 30.0, 1e4, 1e8, 1e12, 1e18])
def test_the_chance_of_a_count_is_that_of_a_negative_binomial_distribution_however_many_rows(n_rows):
    statistics, y = np.array([[n_rows, 1000.0 * n_rows, 0.0]]), np.array([-1.0, 0.0, 2.5, 7.0, 990.0, 1030.0])
    found = PoissonLeaf(1.5, 0.7).log_density(y, np.repeat(statistics, len(y), axis=0))
    shape, rate = 1.5 + 1000.0 * n_rows, 0.7 + n_rows
    if n_rows < 1e6:
        expected = stats.nbinom.logpmf(y, shape, rate / (rate + 1))
    else:
        expected = stats.poisson.logpmf(y, shape / rate)  # which is near, and of which scipy loses no digits
    np.testing.assert_allclose(found, expected, rtol=1e-6 if n_rows < 1e12 else 1e-9)


@pytest.mark.parametrize("n_rows", [0.0, 30.0, 9e4, 2e5, 1e8, 1e12, 1e18])
@pytest.mark.parametrize("mean", [0.01, 3.7, 1000.0])
def test_the_chance_of_at_most_a_count_is_a_sum_of_chances_however_many_rows(n_rows, mean):
    statistics, y = np.array([[n_rows, mean * n_rows, 0.0]]), np.array([0, 1, 3, 7, 900, 1000, 1030])
    leaf = PoissonLeaf(1.5, 0.5)
    found = leaf.target_cdf(y.astype(float), np.repeat(statistics, len(y), axis=0))
    shape, rate = Decimal(1.5 + mean * n_rows), Decimal(0.5 + n_rows)
    with localcontext() as context:
        context.prec = 50
        sums = [term := (shape * (rate / (rate + 1)).ln()).exp()]
        for count in range(1, y[-1] + 1):
            term *= (shape + count - 1) / count / (rate + 1)
            sums.append(sums[-1] + term)
    np.testing.assert_allclose(found, [float(sums[count]) for count in y], rtol=0, atol=2e-7)
    np.testing.assert_array_equal(leaf.target_cdf(np.array([-1.0, -0.5]), np.repeat(statistics, 2, axis=0)), 0.0)


def test_a_quantile_is_found_where_counts_are_too_large_to_be_told_from_their_neighbours():
    found = PoissonLeaf(1.0, 1e-17).target_quantile(0.9, np.zeros((1, 3)))
    np.testing.assert_allclose(found, stats.expon.ppf(0.9) * 1e17, rtol=1e-12)


def test_a_prior_mean_that_counts_for_all_rows_that_there_could_be_leaves_the_score_finite():
    leaf = NormalLeaf(prior_mean=1e140, prior_weight=1e300, noise_scale=1e280)
    statistics = np.array([[24.0, 1e140, 1e280]])
    assert leaf.predictive(statistics) == pytest.approx(1e140)
    assert np.isfinite(leaf.log_marginal(statistics)).all()
    assert np.isfinite(leaf.output_quantile(0.9, statistics)).all()


@pytest.mark.parametrize("order", [(1.0, 2.0, 2.0), (2.0, 2.0, 1.0), (2.0, 1.0, 2.0)])
def test_the_mean_of_equal_targets_is_their_value_whatever_the_rounding(order):
    targets = bcart.leaves.Targets.of(np.full(3, -1e140), np.array(order))
    leaf = NormalLeaf.for_moments(targets._replace(mean=np.nextafter(-1e140, 0.0)))
    assert (leaf.prior_mean, leaf.center) == (-1e140, -1e140)
