"""Uncertainty against the distributions of scipy, the list of all trees, and its own parts."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor
from bcart.testing import enumerate_posterior

RNG = np.random.default_rng(2)
X = RNG.integers(0, 4, (40, 2)).astype(float)
X[5, 0] = X[9, 1] = X[20, 0] = np.nan
CLASSES = np.array(["a", "b", "c"])[(np.nan_to_num(X[:, 0]) + (RNG.random(40) < 0.3)).astype(int) % 3]
NUMBERS = 2 * np.nan_to_num(X[:, 0]) + RNG.normal(size=40)
COUNTS = RNG.poisson(1 + 2 * np.nan_to_num(X[:, 1])).astype(float)
QUERIES = np.vstack([X[:8], [[-9.0, 1.5], [2.5, 9.0], [np.nan, np.nan]]])
ONE_LEAF = 200.0  # a prior that no data overcome: the tree of one leaf has probability 1

MODELS = {
    "classes": (BayesianTreeClassifier, CLASSES, {}),
    "classes, depth-decay": (BayesianTreeClassifier, CLASSES, {"prior": "depth-decay", "max_depth": 4}),
    "numbers": (BayesianTreeRegressor, NUMBERS, {}),
    "counts": (BayesianTreeRegressor, COUNTS, {"leaf": "poisson"}),
}


def fit(name, **parameters):
    kind, y, settings = MODELS[name]
    return kind(**{"n_jobs": 1, **settings, **parameters}).fit(X, y)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return fit(request.param)


# One leaf


def test_the_chances_of_a_single_leaf_have_beta_distributions():
    sure = fit("classes", log_phi=ONE_LEAF, alpha=[0.5, 1.0, 2.0]).uncertainty(QUERIES, level=0.9)
    counts = np.array([0.5, 1.0, 2.0]) + [(label == CLASSES).sum() for label in "abc"]
    beta = stats.beta(counts, counts.sum() - counts)
    for row in range(len(QUERIES)):
        np.testing.assert_allclose(sure.mean[row], beta.mean(), rtol=1e-12)
        np.testing.assert_allclose(sure.std[row], beta.std(), rtol=1e-12)
        np.testing.assert_allclose(sure.low[row], beta.ppf(0.05), rtol=1e-10)
        np.testing.assert_allclose(sure.high[row], beta.ppf(0.95), rtol=1e-10)
        # The next label is or is not of a class: p(1 - p) on average, which is E p - E p^2.
        np.testing.assert_allclose(sure.noise[row], beta.mean() - beta.moment(2), rtol=1e-11)
    np.testing.assert_allclose(sure.between_trees, 0.0, atol=1e-15)


def test_the_mean_and_the_next_target_of_a_single_leaf_have_student_t_distributions():
    model = fit("numbers", log_phi=ONE_LEAF, prior_weight=0.5, noise_shape=3.0, noise_fraction=0.3)
    n, y = len(NUMBERS), NUMBERS
    weight, shape = 0.5 + n, 3.0 + n / 2
    scale = 3.0 * 0.3 * y.var() + n * y.var() / 2  # the prior mean is that of the data
    mean = stats.t(2 * shape, loc=y.mean(), scale=np.sqrt(scale / shape / weight))
    target = stats.t(2 * shape, loc=y.mean(), scale=np.sqrt(scale / shape * (1 + 1 / weight)))
    sure = model.uncertainty(QUERIES, level=0.9)
    for row in range(len(QUERIES)):
        assert sure.mean[row, 0] == pytest.approx(mean.mean(), rel=1e-12)
        assert sure.std[row, 0] == pytest.approx(mean.std(), rel=1e-12)
        assert (sure.low[row, 0], sure.high[row, 0]) == pytest.approx(mean.interval(0.9), rel=1e-10)
        assert sure.noise[row, 0] == pytest.approx(scale / (shape - 1), rel=1e-12)
    np.testing.assert_allclose(model.predict_interval(QUERIES, 0.9), [target.interval(0.9)] * len(QUERIES), rtol=1e-10)
    np.testing.assert_allclose(model.predict(QUERIES, return_std=True)[1], target.std(), rtol=1e-12)
    np.testing.assert_allclose(sure.predictive_std[:, 0], target.std(), rtol=1e-12)
    densities = model.posterior_.log_predictive(QUERIES, np.arange(len(QUERIES)) - 3.0)
    np.testing.assert_allclose(densities, target.logpdf(np.arange(len(QUERIES)) - 3.0), rtol=1e-11)


def test_the_rate_of_a_single_leaf_has_a_gamma_distribution_and_the_next_count_a_negative_binomial():
    model = fit("counts", log_phi=ONE_LEAF, prior_weight=2.0, prior_mean=1.5)
    shape, rate = 3.0 + COUNTS.sum(), 2.0 + len(COUNTS)
    gamma, counts = stats.gamma(shape, scale=1 / rate), stats.nbinom(shape, rate / (rate + 1))
    sure = model.uncertainty(QUERIES, level=0.9)
    np.testing.assert_allclose(sure.mean, gamma.mean(), rtol=1e-12)
    np.testing.assert_allclose(sure.std, gamma.std(), rtol=1e-12)
    np.testing.assert_allclose(sure.low, gamma.ppf(0.05), rtol=1e-10)
    np.testing.assert_allclose(sure.high, gamma.ppf(0.95), rtol=1e-10)
    np.testing.assert_allclose(sure.noise, gamma.mean(), rtol=1e-12)
    np.testing.assert_allclose(sure.predictive_std, counts.std(), rtol=1e-12)
    np.testing.assert_array_equal(model.predict_interval(QUERIES, 0.9), [counts.ppf([0.05, 0.95])] * len(QUERIES))
    np.testing.assert_allclose(
        model.posterior_.log_predictive(QUERIES, np.arange(len(QUERIES))),
        counts.logpmf(np.arange(len(QUERIES))),
        rtol=1e-11,
    )


# Many trees


@pytest.mark.parametrize("name", MODELS)
def test_all_parts_are_sums_over_the_list_of_all_trees(name):
    rows, queries = X[:7], QUERIES
    kind, y, settings = MODELS[name]
    if kind is BayesianTreeClassifier:
        model, leaf = kind(n_jobs=1, log_phi=0.0, **settings).fit(rows, y[:7]), {}
    else:
        model, family = kind(n_jobs=1, log_phi=0.0, **settings).fit(rows, y[:7]), settings.get("leaf", "normal")
        leaf = {"leaf": family, "prior_mean": y[:7].mean(), "prior_weight": model.prior_weight}
        if family == "normal":
            scale = model.noise_shape * model.noise_fraction * y[:7].var()
            leaf |= {"noise_shape": model.noise_shape, "noise_scale": scale}
    family = {key: value for key, value in settings.items() if key != "leaf"}
    listed = enumerate_posterior(rows, y[:7], log_phi=0.0, **leaf, **family)
    found, expected = model.uncertainty(queries, 0.8), listed.uncertainty(queries, 0.8)
    for part in ("mean", "std", "between_trees", "within_leaf", "noise"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-9, atol=1e-12, err_msg=part)
    for part in ("low", "high"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-7, atol=1e-9, err_msg=part)


def test_the_variance_has_its_parts(model):
    sure = model.uncertainty(QUERIES)
    np.testing.assert_allclose(sure.std**2, sure.between_trees + sure.within_leaf, rtol=1e-13)
    np.testing.assert_allclose(sure.predictive_std**2, sure.std**2 + sure.noise, rtol=1e-13)
    for part in (sure.between_trees, sure.within_leaf, sure.noise):
        assert (part >= 0).all()
    assert (sure.between_trees > 0).any()


def test_chances_vary_as_much_as_a_label_with_that_chance():
    sure = fit("classes").uncertainty(QUERIES)
    np.testing.assert_allclose(sure.predictive_std**2, sure.mean * (1 - sure.mean), rtol=1e-12)


def test_intervals_hold_the_mean_and_grow_with_the_level(model):
    levels = [0.1, 0.5, 0.8, 0.95, 0.999, 0.99999, 1 - 1e-9]
    answers = [model.uncertainty(QUERIES, level) for level in levels]
    for narrow, wide in pairwise(answers):
        assert (wide.low < narrow.low).all()
        assert (narrow.low <= narrow.high).all()
        assert (narrow.high < wide.high).all()
    assert all(np.isfinite([answer.low, answer.high]).all() for answer in answers)
    for answer in answers[2:]:  # a narrow one may miss the mean of a skewed mixture
        assert (answer.low < answer.mean).all()
        assert (answer.mean < answer.high).all()


def test_predictions_and_uncertainty_are_the_same_numbers(model):
    sure = model.uncertainty(QUERIES)
    if hasattr(model, "classes_"):
        mean, std = model.predict_proba(QUERIES, return_std=True)
        np.testing.assert_array_equal(mean, model.predict_proba(QUERIES))
        np.testing.assert_array_equal((mean, std), (sure.mean, sure.std))
    else:
        mean, std = model.predict(QUERIES, return_std=True)
        np.testing.assert_array_equal(mean, model.predict(QUERIES))
        np.testing.assert_array_equal(mean, sure.mean[:, 0])
        np.testing.assert_allclose(std, sure.predictive_std[:, 0], rtol=1e-14)


@pytest.mark.parametrize("name", ["numbers", "counts"])
@pytest.mark.parametrize("level", [1e-9, 0.5, 0.999, 0.99999, 1 - 1e-9])
def test_intervals_of_targets_leave_as_much_below_as_above_at_any_level(name, level):
    """Up to the 1e-13 of the least probable leaves that are left out."""
    posterior = fit(name).posterior_
    bounds = posterior.predict_interval(QUERIES, level)
    for row, (low, high) in enumerate(bounds):
        ((_, mixture),) = posterior._rows(posterior.grid.table(QUERIES[row : row + 1])).mixtures("ensemble")

        def cdf(y, mixture=mixture):
            y = np.full(len(mixture.weights), y)
            return mixture.weights @ posterior.leaf.target_cdf(y, mixture.statistics)

        if name == "numbers":
            assert cdf(low) == pytest.approx((1 - level) / 2, rel=1e-6, abs=2e-13)
            assert 1 - cdf(high) == pytest.approx((1 - level) / 2, rel=1e-6, abs=2e-13)
        else:
            assert cdf(low - 1) < (1 - level) / 2 <= cdf(low) + 1e-15
            assert cdf(high - 1) < (1 + level) / 2 + 1e-12
            assert cdf(high) >= (1 + level) / 2 - 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_one_tree_does_not_disagree_with_itself(name):
    model = fit(name, predictor="map")
    sure = model.uncertainty(QUERIES)
    assert (sure.between_trees == 0).all()
    np.testing.assert_array_equal(sure.mean, model.tree_.predictive[model.tree_.apply(QUERIES)])
    leaf, statistics = model.posterior_.leaf, model.tree_.statistics[model.tree_.apply(QUERIES)]
    for output in range(sure.mean.shape[1]):
        np.testing.assert_allclose(sure.low[:, output], leaf.output_quantile(0.025, statistics, output), rtol=1e-10)
        np.testing.assert_allclose(sure.high[:, output], leaf.output_quantile(0.975, statistics, output), rtol=1e-10)


def test_more_rows_of_the_same_make_the_posterior_surer(model):
    more = type(model)(**model.get_params()).fit(np.tile(X, (20, 1)), np.tile(target_of(model), 20))
    assert more.uncertainty(QUERIES[:8]).within_leaf.sum() < 0.25 * model.uncertainty(QUERIES[:8]).within_leaf.sum()


def target_of(model):
    if hasattr(model, "classes_"):
        return CLASSES
    return COUNTS if model.leaf == "poisson" else NUMBERS


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, np.nan, "most", True])
def test_a_level_is_a_probability(level):
    model = fit("numbers")
    for ask in (model.uncertainty, model.predict_interval):
        with pytest.raises(bcart.InvalidModelError, match="level="):
            ask(QUERIES, level)


def test_without_a_level_there_is_everything_but_intervals(model):
    quick, full = model.uncertainty(QUERIES, level=None), model.uncertainty(QUERIES)
    for part in ("mean", "std", "between_trees", "within_leaf", "noise", "predictive_std"):
        np.testing.assert_array_equal(getattr(quick, part), getattr(full, part))
    assert np.isnan(quick.low).all()
    assert np.isnan(quick.high).all()
    if not hasattr(model, "classes_"):
        with pytest.raises(bcart.InvalidModelError, match="level=None"):
            model.predict_interval(QUERIES, level=None)


def test_no_rows_have_no_uncertainty():
    posterior = fit("numbers").posterior_
    assert posterior.uncertainty(np.empty((0, 2))).mean.shape == (0, 1)
    assert posterior.predict_interval(np.empty((0, 2))).shape == (0, 2)
    assert posterior.log_predictive(np.empty((0, 2)), []).shape == (0,)


def test_intervals_with_a_single_class_are_certain():
    sure = BayesianTreeClassifier(n_jobs=1).fit(X, np.zeros(40)).uncertainty(QUERIES)
    for part in (sure.mean, sure.low, sure.high):
        np.testing.assert_allclose(part, 1.0, rtol=1e-12)
    np.testing.assert_allclose(sure.std, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_the_density_of_a_target_is_averaged_over_all_trees(name):
    model = fit(name)
    y = target_of(model)[: len(QUERIES)]
    found = model.posterior_.log_predictive(QUERIES, y)
    if hasattr(model, "classes_"):
        places = np.searchsorted(model.classes_, y)
        expected = np.log(model.predict_proba(QUERIES)[np.arange(len(y)), places])
    else:
        paths = model.posterior_.sample_paths(QUERIES, 4000, random_state=0)
        leaf = model.posterior_.leaf
        expected = [
            np.log(np.exp(leaf.log_density(np.full(4000, target), statistics)).mean())
            for target, statistics in zip(y, paths.statistics, strict=True)
        ]
    np.testing.assert_allclose(found, expected, rtol=1e-11 if hasattr(model, "classes_") else 0, atol=0.15)


def test_targets_of_unknown_classes_and_of_other_lengths_are_refused():
    posterior = fit("classes").posterior_
    with pytest.raises(bcart.InvalidDataError, match="'d', which is none of the classes"):
        posterior.log_predictive(QUERIES[:1], ["d"])
    with pytest.raises(bcart.InvalidDataError, match="one target for each of 2 rows"):
        posterior.log_predictive(QUERIES[:2], ["a"])


def test_no_variance_is_negative_where_trees_all_but_agree():
    model = bcart.BayesianTreeClassifier(n_jobs=1).fit([[0.0], [np.nan]], [0, 1], [1.0, 1e29])
    assert (model.uncertainty([[0.0]]).between_trees >= 0).all()


def test_with_weights_beyond_rounding_a_probability_is_still_one():
    """The log score is about -1e29 there, and log(2) is nothing beside it."""
    rows, weights = np.array([[0.0]] * 5 + [[np.nan]]), [1e29] * 5 + [1.0]
    model = bcart.BayesianTreeClassifier(n_jobs=1).fit(rows, [0, 0, 0, 0, 1, 0], weights)
    posterior = model.posterior_
    log_predictive = posterior.log_predictive([[0.0], [0.0]], [0, 1])
    np.testing.assert_allclose(np.exp(log_predictive), posterior.predict_proba([[0.0]])[0], rtol=1e-9)


@pytest.mark.parametrize("predictor", ["ensemble", "map"])
def test_intervals_reach_as_far_as_targets_do(predictor):
    def sure(far):
        model = bcart.BayesianTreeRegressor(n_jobs=1, predictor=predictor)
        return model.fit([[0], [0], [0], [1]], [0.0, 0.0, 0.0, far]).uncertainty([[0], [1]], level=0.5)

    near, far = sure(1.0), sure(1e140)
    np.testing.assert_allclose(far.low, 1e140 * near.low, rtol=1e-6, atol=1e131)
    np.testing.assert_allclose(far.high, 1e140 * near.high, rtol=1e-6, atol=1e131)


# Parts of the rows


def look_at_three_rows(monkeypatch, n_differing):
    """Let rows be read three at a time, and so many different ones be answered together."""
    monkeypatch.setattr("bcart.rows._FEWEST_ROWS", 3)
    monkeypatch.setattr("bcart.rows._SHARE_OF_NEW_ROWS", 10**12)
    monkeypatch.setattr("bcart.posterior.bytes_a_row", lambda *_: 1)
    monkeypatch.setattr("bcart.posterior.Posterior._room", 2 * n_differing)


def all_answers(model, rows, targets):
    posterior = model.posterior_
    uncertainty = model.uncertainty(rows)
    answers = [model.predict(rows), posterior.expected_output(rows, "map"), posterior.log_predictive(rows, targets)]
    answers += [getattr(uncertainty, name) for name in ("mean", "low", "high", "between_trees", "within_leaf", "noise")]
    return answers + ([] if posterior.classes is not None else [model.predict_interval(rows)])


@pytest.mark.parametrize("n_differing", [3, 7, 100])
def test_rows_that_are_answered_some_at_a_time_get_the_same_answers(model, monkeypatch, n_differing):
    targets = NUMBERS.round() ** 2 if model.posterior_.classes is None else CLASSES
    asked = np.tile(QUERIES[:8], (3, 1)), np.tile(targets[:8], 3)
    whole = all_answers(model, *asked)
    look_at_three_rows(monkeypatch, n_differing)
    for at_once, in_parts in zip(whole, all_answers(model, *asked), strict=True):
        np.testing.assert_array_equal(in_parts, at_once)


def test_an_infinite_value_in_a_later_part_is_named_with_its_row(model, monkeypatch):
    look_at_three_rows(monkeypatch, 3)
    rows = QUERIES.copy()
    rows[7, 1] = np.inf
    with pytest.raises(bcart.InvalidDataError, match=r"contains inf \(row 7\)"):
        model.posterior_.expected_output(rows)
