"""The Dirichlet leaf against log-gamma functions: scipy's, and one in hundreds of decimal digits."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from bcart import BcartError, DirichletLeaf, InvalidModelError

whole = st.integers(0, 10**6).map(float)
# Below one part in a thousand scipy's own difference of logarithms is worth nothing.
fractional = st.just(0.0) | st.floats(1e-3, 1e6)


@st.composite
def counts_and_alpha(draw, count, alpha):
    n_classes = draw(st.integers(1, 5))
    counts = draw(st.lists(count, min_size=n_classes, max_size=n_classes))
    return counts, draw(st.lists(alpha, min_size=n_classes, max_size=n_classes))


def log_beta_ratio(counts, alpha):
    counts, alpha = np.array(counts), np.array(alpha)
    return gammaln(counts + alpha).sum() - gammaln(alpha).sum() - gammaln(sum(counts + alpha)) + gammaln(alpha.sum())


def log_marginal(counts, alpha):
    return float(DirichletLeaf(tuple(alpha)).log_marginal(np.array([counts]))[0])


@given(counts_and_alpha(whole | fractional, st.floats(0.05, 50.0)))
def test_the_marginal_likelihood_is_a_ratio_of_beta_functions(drawn):
    largest = gammaln(sum(drawn[0]) + sum(drawn[1]))
    assert log_marginal(*drawn) == pytest.approx(log_beta_ratio(*drawn), rel=1e-13, abs=1e-13 * (10 + abs(largest)))


# Bernoulli's numbers, for Stirling's series.
BERNOULLI = [Fraction(1)]
for m in range(1, 61):
    BERNOULLI.append(-sum(math.comb(m + 1, k) * BERNOULLI[k] for k in range(m)) / (m + 1))


def precise_log_gamma(x):
    """Log of the gamma function to forty digits and more; x may have a difference of 300 orders of magnitude in it."""
    shift = Decimal(1)
    while x < 60:
        shift *= x
        x += 1
    terms = ((Decimal(b.numerator) / b.denominator, 2 * k) for k, b in enumerate(BERNOULLI[2::2], start=1))
    series = sum(b / (n * (n - 1) * x ** (n - 1)) for b, n in terms)
    log_two_pi = Decimal("1.83787706640934548356065947281123527972279494727556682563430308")
    return (x - Decimal("0.5")) * x.ln() - x + log_two_pi / 2 + series - shift.ln()


def test_the_precise_log_gamma_is_one():
    with localcontext() as context:
        context.prec = 60
        for n in (1, 2, 5, 59, 60, 61, 100):
            assert abs(precise_log_gamma(Decimal(n)) - Decimal(math.factorial(n - 1)).ln()) < Decimal("1e-40")
    for x in (0.1, 0.5, 1.7, 1234.5):
        assert float(precise_log_gamma(Decimal(x))) == pytest.approx(gammaln(x), rel=1e-14)


def precise_log_marginal(counts, alpha):
    with localcontext() as context:
        context.prec = 700
        counts, alpha = [Decimal(n) for n in counts], [Decimal(a) for a in alpha]
        pairs = [*zip(counts, alpha, strict=True), (sum(counts), sum(alpha))]
        logs = [precise_log_gamma(n + a) - precise_log_gamma(a) for n, a in pairs]
        return float(sum(logs[:-1]) - logs[-1])


EXTREME_ALPHAS = [5e-324, 1e-300, 1e-100, 1e-15, 1e-8, 9.999, 10.0, 1e8, 1e15, 1e17, 1e100, 1e300]


@pytest.mark.parametrize("alpha", EXTREME_ALPHAS)
def test_no_digits_are_lost_for_tiny_and_huge_pseudo_counts(alpha):
    for counts in ([1.0, 0.0], [3.0, 2.0], [0.5, 2.25], [7000.0, 1234.5], [1e9, 1.0]):
        expected = precise_log_marginal(counts, [alpha, alpha])
        # Rounding is that of the terms of one class, the lesser one: a billion counts of the other cost no digit.
        n_terms = min(sum(counts), min(counts) + alpha)
        size = 10 + abs(expected) + n_terms * math.log(sum(counts) + 2 * alpha + 3) + abs(math.log(alpha))
        assert log_marginal(counts, [alpha, alpha]) == pytest.approx(expected, rel=0, abs=1e-15 * size), counts


@pytest.mark.parametrize("alpha", [(1e-300, 1.0), (1e-8, 1e8), (1.0, 1e300), (1e-300, 1e300), (3.7, 0.01)])
def test_no_digits_are_lost_for_pseudo_counts_of_different_size(alpha):
    for counts in ([1.0, 0.0], [0.0, 1.0], [3.0, 2.0], [0.5, 250.25]):
        size = (1 + sum(counts)) * max(abs(math.log(a)) + 1 for a in alpha)
        expected = precise_log_marginal(counts, alpha)
        assert log_marginal(counts, alpha) == pytest.approx(expected, rel=1e-14, abs=4e-16 * size), counts


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_one_more_count_multiplies_by_its_predictive_probability(alpha, n):
    leaf = DirichletLeaf((alpha, 2 * alpha))
    before, after = leaf.log_marginal(np.array([[n, 3.0], [n + 1, 3.0]]))
    predictive = leaf.predictive(np.array([[n, 3.0]]))[0, 0]
    assert after - before == pytest.approx(
        math.log(predictive), abs=1e-15 * (100 + n * abs(math.log(alpha))) + 3e-15 * n
    )


@pytest.mark.parametrize("n", [4094.0, 4095.0, 4095.5, 4096.0, 4097.0])
def test_nothing_changes_where_the_table_of_whole_counts_ends(n):
    counts, alpha = [n, 1.0], [0.5, 2.0]
    assert log_marginal(counts, alpha) == pytest.approx(
        precise_log_marginal(counts, alpha), abs=4e-16 * n * math.log(n)
    )


def test_no_counts_have_probability_one():
    assert log_marginal([0.0, 0.0, 0.0], [0.1, 5.0, 1e200]) == 0.0


@given(counts_and_alpha(whole | fractional, st.floats(1e-12, 1e12)))
def test_the_predictive_is_the_mean_of_the_posterior(drawn):
    counts, alpha = drawn
    predictive = DirichletLeaf(tuple(alpha)).predictive(np.array([counts]))[0]
    total = sum(Fraction(n) + Fraction(a) for n, a in zip(counts, alpha, strict=True))
    expected = [float((Fraction(n) + Fraction(a)) / total) for n, a in zip(counts, alpha, strict=True)]
    np.testing.assert_allclose(predictive, expected, rtol=1e-14)


def test_statistics_of_any_layout_and_any_number_of_threads_give_the_same_bits():
    counts = np.random.default_rng(0).integers(0, 50, (20_000, 6)).astype(float)
    leaf = DirichletLeaf((0.5, 1.0, 2.0))
    expected = leaf.log_marginal(np.ascontiguousarray(counts[:, ::2]))
    np.testing.assert_array_equal(leaf.log_marginal(counts[:, ::2]), expected)
    np.testing.assert_array_equal(leaf.log_marginal(np.asfortranarray(counts[:, ::2])), expected)
    np.testing.assert_array_equal(leaf.log_marginal(counts[:, ::2].astype(np.float32)), expected)
    np.testing.assert_array_equal(leaf.log_marginal(counts[:, ::2], n_workers=3), expected)


@pytest.mark.parametrize("shape", [(4, 1), (4, 3), (4, 0), (2,), (1, 2, 2)])
def test_statistics_of_another_number_of_classes_are_refused(shape):
    with pytest.raises(BcartError):
        DirichletLeaf((1.0, 1.0)).log_marginal(np.ones(shape))


def test_rows_have_a_one_in_the_column_of_their_class():
    assert DirichletLeaf.statistics(np.array([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_one_pseudo_count_stands_for_all_classes():
    assert (
        DirichletLeaf.for_classes(0.5, 3) == DirichletLeaf.for_classes([0.5, 0.5, 0.5], 3) == DirichletLeaf((0.5,) * 3)
    )


@pytest.mark.parametrize(
    "alpha", [(), (0.0,), (-1.0, 1.0), (math.nan,), (math.inf, 1.0), (1.7e308, 1.7e308), ((1.0,),)]
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_pseudo_counts_are_positive_and_their_sum_finite(alpha):
    with pytest.raises(InvalidModelError, match="alpha"):
        DirichletLeaf(alpha)


@pytest.mark.parametrize("alpha", [[1.0], [1.0, 1.0, 1.0], [[1.0, 1.0]], "one", ["a", "b"], None])
def test_pseudo_counts_are_one_for_all_classes_or_one_each(alpha):
    with pytest.raises(InvalidModelError, match="alpha"):
        DirichletLeaf.for_classes(alpha, 2)
