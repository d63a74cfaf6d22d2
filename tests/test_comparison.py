"""Cross-validated scores beside CART, compared with scikit-learn's own."""

import numpy as np
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_validate
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bcart import BayesianTreeClassifier, BayesianTreeRegressor, InvalidDataError
from bcart.datasets import load_haberman
from bcart.estimators.comparison import compare_with_cart


def test_classes_are_scored_as_scikit_learn_does():
    haberman = load_haberman()
    columns, ones = list(haberman.data.T), np.ones(len(haberman.target))
    ours = BayesianTreeClassifier(log_phi=4.0, max_bins=5)
    scores, _ = compare_with_cart(ours, columns, [False] * 3, haberman.target, ones, n_folds=3, random_state=1)
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    models = (
        ours,
        BayesianTreeClassifier(log_phi=4.0, max_bins=5, predictor="map"),
        DecisionTreeClassifier(random_state=1),
    )
    for score, model in zip(scores, models, strict=True):
        expected = cross_validate(
            model, haberman.data, haberman.target, cv=folds, scoring=["accuracy", "neg_log_loss"], return_estimator=True
        )
        assert score.values["accuracy"] == pytest.approx(expected["test_accuracy"].mean())
        assert score.values["log-loss"] == pytest.approx(-expected["test_neg_log_loss"].mean())
    assert scores[2].n_leaves == np.mean([tree.get_n_leaves() for tree in expected["estimator"]])
    assert scores[0].n_leaves is None


def test_numbers_are_scored_as_scikit_learn_does():
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2))
    y = np.where(x[:, 0] > 0, 3.0, 1.0) + 0.1 * random.normal(size=80)
    scores, _ = compare_with_cart(BayesianTreeRegressor(), list(x.T), [False, False], y, np.ones(80), n_folds=4)
    folds = KFold(4, shuffle=True, random_state=0)
    scoring = ["neg_root_mean_squared_error", "r2"]
    models = BayesianTreeRegressor(), BayesianTreeRegressor(predictor="map"), DecisionTreeRegressor(random_state=0)
    for score, model in zip(scores, models, strict=True):
        expected = cross_validate(model, x, y, cv=folds, scoring=scoring)
        assert score.values["RMSE"] == pytest.approx(-expected["test_neg_root_mean_squared_error"].mean())
        assert score.values["R²"] == pytest.approx(expected["test_r2"].mean())


def test_labels_missing_values_weights_and_rare_classes_are_no_obstacle():
    random = np.random.default_rng(1)
    size = np.where(random.random(50) < 0.2, np.nan, random.normal(size=50))
    kind = random.choice(np.array(["a", "b", None], object), 50)
    y = np.array(["often", "rare"])[(np.arange(50) == 7).astype(int)]
    done = []
    scores, _ = compare_with_cart(
        BayesianTreeClassifier(max_bins=3), [size, kind], [False, True], y, random.random(50) + 0.5,
        n_folds=5, on_fold=lambda n_done, n_all: done.append((n_done, n_all)),
    )  # fmt: skip
    assert done == [(n, 5) for n in range(1, 6)]
    assert all(np.isfinite(list(score.values.values())).all() for score in scores)
    assert all(0.9 < score.values["accuracy"] <= 1 for score in scores)


def test_a_row_of_weight_zero_in_all_but_name_counts_for_nothing():
    x = np.arange(40.0)
    y, doubted = np.where(x < 20, "low", "high"), np.where(x < 20, "low", "high")
    doubted[::10] = "low"
    weights = np.where(doubted == y, 1.0, 1e-12)
    sure, _ = compare_with_cart(BayesianTreeClassifier(), [x], [False], doubted, weights, n_folds=4)
    assert sure[0].values["accuracy"] > 0.9


def test_fewer_rows_may_be_predicted_than_learned_from():
    """With each row predicted by its own fold, the Brier score of some rows is a mean over these alone."""
    x = np.arange(60.0)
    y = np.where(x < 30, "low", "high")
    every, some = (
        compare_with_cart(BayesianTreeClassifier(), [x], [False], y, np.ones(60), max_tested=n).scores
        for n in (None, 10)
    )
    all_of_them, _ = compare_with_cart(BayesianTreeClassifier(), [x], [False], y, np.ones(60), max_tested=60)
    assert all_of_them == every
    assert every[1].n_leaves == some[1].n_leaves
    hits = 10 * some[0].values["accuracy"]
    assert hits == pytest.approx(round(hits))


def test_a_fold_of_one_row_has_no_r2_and_the_others_have_theirs():
    x = np.arange(9.0)
    y = np.where(x < 5, 1.0, 3.0) + 0.1 * np.sin(7 * x)
    score = compare_with_cart(BayesianTreeRegressor(), [x], [False], y, np.ones(9), n_folds=5).scores[2]
    found = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(x):
        tree = DecisionTreeRegressor(random_state=0).fit(x[train, None], y[train])
        if len(test) > 1:
            found.append(r2_score(y[test], tree.predict(x[test, None])))
    assert len(found) == 4
    assert score.values["R²"] == pytest.approx(np.mean(found))


def test_a_measure_that_no_fold_has_is_absent():
    x = np.arange(9.0)
    scores, _ = compare_with_cart(BayesianTreeRegressor(), [x], [False], x**2, np.ones(9), n_folds=9)
    assert all(set(score.values) == {"RMSE"} for score in scores)


def test_rows_of_a_single_class_are_scored():
    x = np.arange(20.0)
    scores, _ = compare_with_cart(BayesianTreeClassifier(), [x], [False], np.full(20, "a"), np.ones(20))
    assert all(score.values == {"accuracy": 1.0, "log-loss": 0.0, "Brier": 0.0} for score in scores)


def test_numbers_beyond_the_precision_of_cart_are_no_obstacle():
    x = np.resize([-1e300, np.nan, 0.5, 2.0, 1e39, 1e300], 60)
    y, kind = np.where(x > 1e30, "large", "small"), np.resize(np.array(["a", "b", None, "a"], object), 60)
    for columns, is_nominal in (([x], [False]), ([x, kind], [False, True])):
        scores, _ = compare_with_cart(BayesianTreeClassifier(), columns, is_nominal, y, np.ones(60))
        assert scores[2].values["accuracy"] == 1.0


def test_there_are_no_more_folds_than_rows_and_the_number_is_told():
    x = np.arange(9.0)
    for n_rows, n_folds in ((9, 5), (3, 3), (2, 2)):
        part = x[:n_rows]
        assert compare_with_cart(BayesianTreeRegressor(), [part], [False], part, np.ones(n_rows)).n_folds == n_folds
    with pytest.raises(InvalidDataError, match="there are 1 rows with a positive weight"):
        compare_with_cart(BayesianTreeRegressor(), [x], [False], x, (x == 3) * 1.0)


def test_rows_of_weight_zero_are_absent_also_if_they_are_all_of_a_class():
    x = np.arange(40.0)
    y = np.where(x < 15, "low", np.where(x < 30, "high", "absent"))
    with_them = compare_with_cart(BayesianTreeClassifier(), [x], [False], y, (x < 30) * 1.0, max_tested=35)
    without = compare_with_cart(BayesianTreeClassifier(), [x[:30]], [False], y[:30], np.ones(30))
    assert with_them == without
