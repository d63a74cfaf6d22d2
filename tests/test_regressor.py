"""The regressor: against integrals by hand, against itself in other units, and at the edges."""

import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import integrate, stats

import bcart
from bcart import BayesianTreeRegressor
from bcart.testing import enumerate_posterior

RNG = np.random.default_rng(1)
X = RNG.integers(0, 5, (50, 3)).astype(float)
Y = np.where(X[:, 0] > 2, 3.0, 1.0) + X[:, 1] * (X[:, 0] > 2) + RNG.normal(0, 0.5, 50)
QUERIES = np.vstack([X[:6], [[-3.0, 2.5, 99.0], [2.4, 2.6, 1.1], [np.nan, 1.0, 1.0]]])


def fit(X=X, y=Y, sample_weight=None, **parameters):
    return BayesianTreeRegressor(**{"n_jobs": 1, **parameters}).fit(X, y, sample_weight)


# By hand


def marginal_by_integration(y, mean, weight, shape, scale):
    """The probability density of targets: normal, its variance inverse-gamma, its mean normal given the variance.

    Sums over a fine grid of log variances and standardised means: the integrand is smooth and dies away on all sides.
    """
    t, z = np.linspace(-8.0, 14.0, 600), np.linspace(-12.0, 12.0, 600)[:, None]
    variance = np.exp(t)
    mu = mean + z * np.sqrt(variance)
    noise = np.prod([stats.norm.pdf(value, mu, np.sqrt(variance)) for value in y], axis=0)
    prior = stats.norm.pdf(z, 0.0, 1 / math.sqrt(weight)) * stats.invgamma.pdf(variance, shape, scale=scale) * variance
    return (noise * prior).sum() * (t[1] - t[0]) * (z[1, 0] - z[0, 0])


def test_two_rows_have_the_posterior_that_integrals_give():
    y = np.array([0.0, 2.0])
    model = fit([[0.0], [1.0]], y, noise_shape=3.0, noise_fraction=0.5, prior_weight=0.5)
    prior = (1.0, 0.5, 3.0, 3.0 * 0.5 * 1.0)  # the mean of y; shape times the fraction of its variance, which is 1
    together = marginal_by_integration(y, *prior)
    apart = math.exp(-2.0) * math.prod(marginal_by_integration(y[i : i + 1], *prior) for i in (0, 1))
    posterior = model.posterior_
    assert posterior.log_score == pytest.approx(math.log(together + apart), abs=1e-10)
    assert posterior.log_prior_mass == pytest.approx(math.log(1 + math.exp(-2.0)), abs=1e-14)
    p = apart / (together + apart)  # of the tree with two leaves, whose means are drawn to 1 by half a row
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), 1 + p * np.array([-1, 1]) / 1.5, rtol=1e-10)


@pytest.mark.parametrize("prior", ["leaf-count", "depth-decay"])
@pytest.mark.parametrize("leaf", ["normal", "poisson"])
def test_small_problems_are_those_of_the_list_of_all_trees(leaf, prior):
    rows, y = X[:9, :2], np.round(np.abs(Y[:9])) if leaf == "poisson" else Y[:9]
    model = fit(rows, y, leaf=leaf, prior=prior, log_phi=0.5, noise_shape=3.0, noise_fraction=0.4, prior_weight=0.7)
    listed = enumerate_posterior(
        rows, y, leaf=leaf, prior=prior, log_phi=0.5, prior_mean=y.mean(), prior_weight=0.7,
        noise_shape=3.0, noise_scale=3.0 * 0.4 * y.var(),
    )  # fmt: skip
    queries = QUERIES[:8, :2]
    assert model.posterior_.log_evidence == pytest.approx(listed.log_evidence, abs=1e-10)
    assert model.tree_ == listed.map_tree
    np.testing.assert_allclose(model.predict(queries), listed.predictive_mean(queries)[:, 0], rtol=1e-11)
    np.testing.assert_allclose(
        model.predict_interval(queries, 0.8), listed.predictive_interval(queries, 0.8), rtol=1e-8
    )


# Units


@pytest.mark.parametrize("prior", ["leaf-count", "depth-decay"])
@pytest.mark.parametrize(("a", "b"), [(0.0, 4.0), (-7.5, 1e-3), (1000.0, 3.0), (5.0, -2.0)])
def test_targets_in_other_units_give_the_answers_in_those_units(a, b, prior):
    model, other = fit(prior=prior), fit(y=a + b * Y, prior=prior)
    mean, std = model.predict(QUERIES, return_std=True)
    other_mean, other_std = other.predict(QUERIES, return_std=True)
    size = abs(a) + abs(b)
    np.testing.assert_allclose(other_mean, a + b * mean, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(other_std, abs(b) * std, rtol=1e-9)
    interval = (a + b * model.predict_interval(QUERIES))[:, :: int(math.copysign(1, b))]
    np.testing.assert_allclose(other.predict_interval(QUERIES), interval, rtol=0, atol=1e-8 * size)
    assert other.tree_ == model.tree_
    assert other.posterior_.sample(30, 0) == model.posterior_.sample(30, 0)
    shift = -len(Y) * math.log(abs(b))
    assert other.posterior_.log_evidence == pytest.approx(model.posterior_.log_evidence + shift, abs=1e-8)


def test_targets_far_from_zero_keep_their_digits():
    far, near = fit(y=1e9 + Y), fit(y=(1e9 + Y) - 1e9)  # the same targets, after their last digits are lost
    np.testing.assert_allclose(far.predict(QUERIES) - 1e9, near.predict(QUERIES), rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        far.predict(QUERIES, return_std=True)[1], near.predict(QUERIES, return_std=True)[1], rtol=1e-6
    )
    np.testing.assert_allclose(far.predict_interval(QUERIES) - 1e9, near.predict_interval(QUERIES), rtol=0, atol=1e-6)
    assert far.posterior_.log_evidence == pytest.approx(near.posterior_.log_evidence, rel=1e-6)
    assert far.tree_ == near.tree_


def test_a_prior_mean_far_from_the_targets_pulls_them_as_so_many_rows():
    model = fit([[0.0]] * 4, [1.0, 2.0, 3.0, 4.0], prior_mean=12.5, prior_weight=4.0)
    assert model.predict([[0.0]]) == pytest.approx([(10.0 + 4 * 12.5) / 8], rel=1e-14)


# Weights and edges


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
def test_a_row_of_weight_two_is_two_rows_and_one_of_weight_zero_none(leaf):
    y = np.round(np.abs(Y)) if leaf == "poisson" else Y
    weights = RNG.integers(0, 4, 50)
    one, other = (
        fit(y=y, sample_weight=weights, leaf=leaf),
        fit(np.repeat(X, weights, 0), np.repeat(y, weights), leaf=leaf),
    )
    assert one.posterior_.log_evidence == pytest.approx(other.posterior_.log_evidence, rel=1e-11)
    np.testing.assert_allclose(one.predict(QUERIES), other.predict(QUERIES), rtol=1e-10)
    assert one.tree_ == other.tree_


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
@pytest.mark.parametrize("value", [0.0, 1.0, 1e6])
def test_constant_targets_are_predicted_as_they_are(leaf, value):
    model = fit(X, np.full(50, value), leaf=leaf)
    expected = value
    if leaf == "poisson" and value == 0.0:  # the prior expects one count in one row
        expected = pytest.approx(0.0, abs=0.2)
    assert model.tree_.n_leaves == 1
    assert model.predict(X) == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)
    low, high = model.predict_interval(X).T
    assert (low <= value).all()
    assert (value <= high).all()
    assert np.isfinite(model.predict(X, return_std=True)[1]).all()


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
def test_one_row_is_a_single_leaf_around_its_target(leaf):
    model = fit([[1.0, 2.0]], [3.0], leaf=leaf)
    assert (model.posterior_.log_n_trees, model.tree_.n_leaves) == (0.0, 1)
    mean, std = model.predict([[9.0, np.nan]], return_std=True)
    assert mean == pytest.approx([3.0], rel=1e-14)
    assert (std > 0).all()


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.where(np.arange(50) == 3, np.nan, Y), "NaN"),
        (np.where(np.arange(50) == 3, np.inf, Y), "infinity"),
        (["a"] * 50, "could not convert|numeric|number"),
        (np.column_stack([Y, Y]), "1d array"),
        (Y[:-1], "inconsistent"),
        ([[1.0], [1.0, 2.0]] * 25, "y must have one value for each row"),
        ([10**400] + [1] * 49, "too large"),
        (None, "y"),
    ],
)
def test_targets_that_are_no_numbers_are_refused(y, said):
    with pytest.raises(bcart.BcartError, match=said):
        fit(y=y)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("leaf", ["gauss", None, 3, bcart.DirichletLeaf, str]),
        ("prior_mean", [np.nan, "one", np.inf]),
        ("prior_weight", [0.0, -1.0, np.nan, "few", None]),
        ("noise_shape", [0.0, -1.0, np.nan, None]),
        ("noise_fraction", [0.0, -1.0, np.inf, None]),
        ("prior", ["flat", None]),
        ("split_alpha", [0.0, 1.0, -1.0, np.nan]),
        ("split_beta", [-0.5, np.nan, "one"]),
        ("predictor", ["mean", None]),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameter, values):
    for value in values:
        parameters = {"prior": "depth-decay", parameter: value} if "split" in parameter else {parameter: value}
        with pytest.raises(bcart.InvalidModelError, match=parameter):
            fit(X[:6], Y[:6], **parameters)


def test_classes_have_no_interval_and_numbers_no_probabilities():
    with pytest.raises(bcart.InvalidModelError, match="use predict_proba"):
        bcart.BayesianTreeClassifier(n_jobs=1).fit(X, Y > 2).posterior_.predict_interval(X)
    with pytest.raises(bcart.InvalidModelError, match="use predict"):
        fit().posterior_.predict_proba(X)
    with pytest.raises(bcart.InvalidModelError, match="use predict"):
        fit().tree_.predict_proba(X)


# Prediction


def test_the_most_probable_tree_predicts_as_it_is_printed():
    model = fit(predictor="map")
    np.testing.assert_array_equal(model.predict(QUERIES), model.tree_.predict(QUERIES))
    leaves = model.tree_.apply(QUERIES)
    np.testing.assert_allclose(model.predict(QUERIES, return_std=True)[1], model.tree_.std[leaves], rtol=1e-14)
    assert f"{model.tree_.predictive[leaves[0], 0]:.6g} ± {model.tree_.std[leaves[0]]:.3g}  (n = " in str(model.tree_)


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_intervals_hold_new_targets_as_often_as_they_say(leaf, level):
    """False alarm: five standard deviations of 4,000 targets that were never fitted."""
    rng = np.random.default_rng(3)
    rows, queries = rng.random((400, 2)), rng.random((100, 2))

    def draw(rows, *shape):
        rate = np.where(rows[:, 0] < 0.5, 4.0, np.where(rows[:, 1] < 0.3, 9.0, 20.0))
        size = (*shape, len(rows))
        return rng.poisson(rate, size) if leaf == "poisson" else rng.normal(rate, 2.0, size)

    model = fit(rows, draw(rows), leaf=leaf)
    low, high = model.predict_interval(queries, level).T
    y = draw(queries, 40)
    share = ((low <= y) & (y <= high)).mean()
    slack = 5 * math.sqrt(level * (1 - level) / y.size) + 0.02  # 400 rows do not tell everything
    assert share > level - slack
    if leaf == "normal":
        assert share < level + slack


@pytest.mark.parametrize("y", [[1.5, 2.0], [-1.0, 2.0], [0.0, -3.0]])
def test_what_is_no_count_is_refused_with_its_row(y):
    wrong = next(i for i, value in enumerate(y) if value < 0 or value % 1)
    with pytest.raises(bcart.InvalidDataError, match=rf"y contains {y[wrong]} \(row {wrong}\), .*leaf='normal'"):
        fit([[0.0], [1.0]], y, leaf="poisson")


def test_intervals_of_counts_are_whole_numbers_that_reach_the_level():
    y = np.round(np.abs(Y))
    model = fit(y=y, leaf="poisson")
    interval = model.predict_interval(QUERIES, 0.9)
    assert (interval == np.floor(interval)).all()
    assert (interval >= 0).all()
    counts = np.arange(200.0)
    for query, (low, high) in zip(QUERIES, interval, strict=True):
        chances = np.exp(model.posterior_.log_predictive(np.tile(query, (200, 1)), counts))
        assert chances.sum() == pytest.approx(1.0, abs=1e-9)
        sums = np.cumsum(chances)
        assert (low, high) == (np.argmax(sums >= 0.05), np.argmax(sums >= 0.95))


HUGE_COUNTS = """
import numpy as np, bcart
try:
    model = bcart.BayesianTreeRegressor(leaf="poisson", n_jobs=1).fit(np.arange(6.0)[:, None], np.arange(6.0) * {size})
    y = model.posterior_.sample_paths([[0.0], [5.0]], 100, random_state=0).y
    interval = model.predict_interval([[0.0], [5.0]])
    assert np.isfinite(y).all() and np.isfinite(interval).all() and (interval[:, 0] <= interval[:, 1]).all()
except bcart.BcartError:
    pass
print("done")
"""


@pytest.mark.parametrize("size", ["1e9", "1e12", "1e15", "1e17"])
def test_huge_counts_are_answered_or_refused_in_time(size):
    """In a process of its own, because native code might end or hold it up."""
    command = [sys.executable, "-c", HUGE_COUNTS.format(size=size)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert child.stdout == "done\n", child.stderr[-300:]


@pytest.mark.parametrize("size", [1e-300, 1e-155, 1e-100, 1e100, 1e153, 1e160, 1e300])
def test_tiny_and_huge_numbers_are_answered_in_their_units_or_refused(size):
    plain = fit(X[:20], Y[:20])
    if size < 1e-150:
        with pytest.raises(bcart.InvalidDataError, match="too little for its squares; multiply it by a number"):
            fit(X[:20], Y[:20] * size)
    elif size > 1e155:
        with pytest.raises(bcart.InvalidDataError, match="too far for its squares; divide it by a number"):
            fit(X[:20], Y[:20] * size)
    else:
        scaled = fit(X[:20], Y[:20] * size)
        np.testing.assert_allclose(scaled.predict(QUERIES), plain.predict(QUERIES) * size, rtol=1e-9)
        np.testing.assert_allclose(scaled.predict_interval(QUERIES), plain.predict_interval(QUERIES) * size, rtol=1e-7)


def test_a_prior_mean_beyond_all_bounds_is_refused():
    with pytest.raises(bcart.BcartError, match="prior_mean"):
        fit(prior_mean=1e200)


def test_the_density_of_targets_integrates_to_one_and_has_the_mean_and_the_interval():
    model = fit(X[:20], Y[:20])
    query = QUERIES[1:2]

    def density(y):
        return math.exp(model.posterior_.log_predictive(query, [y])[0])

    (mean,) = model.predict(query)
    low, high = model.predict_interval(query, 0.9)[0]
    bounds = {"points": [low, mean, high], "limit": 500}
    assert integrate.quad(density, -200, 200, **bounds)[0] == pytest.approx(1.0, abs=1e-4)
    assert integrate.quad(lambda y: y * density(y), -200, 200, **bounds)[0] == pytest.approx(mean, abs=1e-3)
    assert integrate.quad(density, low, high, limit=200)[0] == pytest.approx(0.9, abs=1e-8)


def test_a_family_of_leaves_may_be_given_as_a_class():
    y = np.round(np.abs(Y))
    assert fit(y=y, leaf=bcart.PoissonLeaf).posterior_.log_score == fit(y=y, leaf="poisson").posterior_.log_score


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
def test_a_pickled_regressor_predicts_alike(leaf):
    model = fit(y=np.round(np.abs(Y)), leaf=leaf)
    again = pickle.loads(pickle.dumps(model))
    for old, new in zip(model.predict(QUERIES, return_std=True), again.predict(QUERIES, return_std=True), strict=True):
        np.testing.assert_array_equal(old, new)
    assert again.tree_ == model.tree_
    assert str(again.tree_) == str(model.tree_)
