"""The classifier: what its answers are made of, in scikit-learn's terms."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import bcart
from bcart import BayesianTreeClassifier
from bcart.testing import enumerate_posterior

RNG = np.random.default_rng(8)
X = RNG.integers(0, 3, (14, 3)).astype(float)
X[3, 0] = X[8, 2] = np.nan
Y = np.array(["low", "mid", "high"])[(np.nan_to_num(X[:, 0]) + (RNG.random(14) < 0.3)).astype(int) % 3]
QUERIES = np.vstack([X, [[0.5, 1.5, 1.0], [-9.0, 9.0, np.nan], [np.nan, np.nan, np.nan]]])
SETTINGS = {
    "defaults": {},
    "small trees": {"log_phi": 4.0, "alpha": 0.5},
    "depth-decay": {"prior": "depth-decay"},
    "depth 2": {"log_phi": 0.0, "max_depth": 2},
}


def fit(**parameters):
    return BayesianTreeClassifier(**{"n_jobs": 1, "max_depth": 3, **parameters}).fit(X, Y)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_ensemble_is_the_average_over_all_trees(name):
    settings = {"max_depth": 2, **SETTINGS[name]}
    model = fit(**settings)
    listed = enumerate_posterior(X, Y, **settings)
    assert model.predictor == "ensemble"
    np.testing.assert_allclose(model.predict_proba(QUERIES), listed.predict_proba(QUERIES), rtol=1e-10)
    assert model.tree_ == listed.map_tree


@pytest.mark.parametrize("name", SETTINGS)
def test_the_ensemble_is_the_average_over_sampled_trees(name):
    """Within five standard errors of 2,000 independent trees, each able to be off by one half at most."""
    model = fit(**SETTINGS[name])
    trees = model.posterior_.sample(2000, random_state=0)
    answers = {tree: tree.predict_proba(QUERIES) for tree in set(trees)}
    average = np.mean([answers[tree] for tree in trees], axis=0)
    np.testing.assert_allclose(model.predict_proba(QUERIES), average, rtol=0, atol=5 * 0.5 / np.sqrt(2000))


@pytest.mark.parametrize("predictor", ["ensemble", "map"])
def test_predictions_are_the_most_probable_classes(predictor):
    model = fit(predictor=predictor)
    chances = model.predict_proba(QUERIES)
    assert model.classes_.tolist() == ["high", "low", "mid"]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-13)
    assert (chances > 0).all()
    assert model.predict(QUERIES).tolist() == model.classes_[chances.argmax(axis=1)].tolist()
    np.testing.assert_array_equal(model.predict_log_proba(QUERIES), np.log(chances))
    known = [0, 1, 2, 4, 5, 6]
    assert model.score(X[known], Y[known]) == (model.predict(X[known]) == Y[known]).mean()


def test_with_the_most_probable_tree_predictions_are_those_of_the_tree():
    model = fit(predictor="map", log_phi=0.0)
    assert model.tree_.n_leaves > 2
    np.testing.assert_array_equal(model.predict_proba(QUERIES), model.tree_.predict_proba(QUERIES))
    assert model.predict(QUERIES).tolist() == model.tree_.predict(QUERIES).tolist()
    assert (model.predict_proba(QUERIES) != fit(log_phi=0.0).predict_proba(QUERIES)).any()


def test_of_equally_probable_classes_the_first_is_predicted():
    model = BayesianTreeClassifier(n_jobs=1).fit([[1.0], [1.0]], ["b", "a"])
    assert model.predict([[1.0]]).tolist() == ["a"]


def test_the_order_of_rows_and_the_random_state_change_nothing():
    order = RNG.permutation(len(X))
    shuffled = BayesianTreeClassifier(n_jobs=1, max_depth=3, random_state=7).fit(X[order], Y[order])
    assert shuffled.posterior_.log_score == pytest.approx(fit().posterior_.log_score, rel=1e-14)
    np.testing.assert_allclose(shuffled.predict_proba(QUERIES), fit().predict_proba(QUERIES), rtol=1e-12)


def test_fitting_again_forgets_what_was_fitted_before():
    model = fit()
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    model.fit(frame, [0, 1, 1])
    assert (model.n_features_in_, model.classes_.tolist()) == (1, [0, 1])
    assert model.feature_names_in_.tolist() == ["a"]
    assert model.predict_proba(frame).shape == (3, 2)


def test_nothing_can_be_asked_before_fitting():
    model = BayesianTreeClassifier()
    for ask in (model.predict, model.predict_proba, model.predict_log_proba, model.uncertainty):
        with pytest.raises(NotFittedError):
            ask(X)


def test_answers_belong_to_who_asked():
    """Writing into one answer changes no other."""
    for predictor in ("ensemble", "map"):
        model = fit(predictor=predictor)
        expected = model.predict_proba(QUERIES).copy()
        model.predict_proba(QUERIES)[:] = 7.0
        np.testing.assert_array_equal(model.predict_proba(QUERIES), expected)


def test_many_rows_are_answered_as_each_alone():
    rows = np.vstack([QUERIES] * 40)
    for predictor in ("ensemble", "map"):
        model = fit(predictor=predictor)
        alone = np.vstack([model.predict_proba(QUERIES[i : i + 1]) for i in range(len(QUERIES))])
        np.testing.assert_array_equal(model.predict_proba(rows), np.vstack([alone] * 40))


def test_weights_are_rows_and_need_not_be_whole():
    weights = np.arange(len(X)) % 3
    one = BayesianTreeClassifier(n_jobs=1, max_depth=3).fit(X, Y, weights)
    other = BayesianTreeClassifier(n_jobs=1, max_depth=3).fit(np.repeat(X, weights, 0), np.repeat(Y, weights))
    np.testing.assert_allclose(one.predict_proba(QUERIES), other.predict_proba(QUERIES), rtol=1e-11)
    half = BayesianTreeClassifier(n_jobs=1, max_depth=3, min_samples_leaf=0.5, min_samples_split=1.0, alpha=0.5)
    half.fit(X, Y, weights / 2)  # half the counts and half the pseudo-counts predict alike, tree by tree
    for tree in half.posterior_.sample(20, 0):
        leaves = tree.feature < 0
        expected = (2 * tree.statistics[leaves] + 1) / (2 * tree.statistics[leaves] + 1).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(tree.predictive[leaves], expected, rtol=1e-12)


def test_a_prior_may_be_given_as_an_object():
    given = fit(prior=bcart.LeafCountPrior(3.0), log_phi=0.0)  # which counts before log_phi
    assert given.posterior_.log_score == fit(log_phi=3.0).posterior_.log_score
    assert given.posterior_.prior == bcart.LeafCountPrior(3.0)


@pytest.mark.parametrize("estimator", [bcart.BayesianTreeClassifier, bcart.BayesianTreeRegressor])
def test_nothing_can_be_asked_after_a_first_fit_that_failed(estimator):
    y = np.arange(14) % 3
    for model, rows, weights in (
        (estimator(max_bins=1), X, None),
        (estimator(max_memory="1kB"), X, None),
        (estimator(), pd.DataFrame(X, columns=list("abc")), np.full(14, -1.0)),
    ):
        before = dict(vars(model))
        with pytest.raises(bcart.BcartError):
            model.fit(rows, y, weights)
        assert vars(model) == before
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_a_fit_that_fails_leaves_what_was_fitted_before():
    model, frame = fit(), pd.DataFrame({"a": [1.0, 2.0]})
    expected = model.predict_proba(QUERIES)
    with pytest.raises(bcart.InvalidModelError):
        model.set_params(max_bins=1).fit(frame, ["x", "y"])
    assert model.classes_.tolist() == model.posterior_.classes.tolist() == ["high", "low", "mid"]
    assert (model.n_features_in_, hasattr(model, "feature_names_in_")) == (3, False)
    np.testing.assert_array_equal(model.predict_proba(QUERIES), expected)
