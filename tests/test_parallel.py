"""Many at once: threads, worker processes, scikit-learn's searches, and models that travel."""

import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor, Limits

RNG = np.random.default_rng(6)
TABLE = pd.DataFrame(
    {
        "x": np.where(RNG.random(60) < 0.1, np.nan, RNG.normal(size=60)),
        "port": np.array(["C", "Q", "S"])[RNG.integers(0, 3, 60)],
        "z": RNG.integers(0, 3, 60),
    }
)
X = np.nan_to_num(TABLE[["x", "z"]].to_numpy())
LABELS = np.where((TABLE["port"] == "S") ^ (TABLE["x"] > 0), "yes", "no")
NUMBERS = X[:, 0] ** 2 + (TABLE["port"] == "S").to_numpy()
MODELS = {
    "classifier": (BayesianTreeClassifier(), LABELS),
    "classifier, best tree": (BayesianTreeClassifier(predictor="map"), LABELS),
    "classifier, depth-decay": (BayesianTreeClassifier(prior="depth-decay", max_depth=4), LABELS),
    "classifier, given prior": (BayesianTreeClassifier(prior=bcart.DepthDecayPrior(0.8, 1.0), max_depth=3), LABELS),
    "regressor": (BayesianTreeRegressor(), NUMBERS),
    "regressor, depth-decay": (BayesianTreeRegressor(prior="depth-decay", max_depth=3), NUMBERS),
    "counts": (BayesianTreeRegressor(leaf="poisson"), np.round(NUMBERS)),
}
BACKENDS = ["threading", "loky"]


def fitted(name, **changes):
    model, y = MODELS[name]
    return clone(model).set_params(max_bins=5, **changes).fit(TABLE, y)


def answers(model, table=TABLE):
    """Every kind of answer, as one list of arrays."""
    posterior = model.posterior_
    sure = model.uncertainty(table[:8])
    paths = posterior.sample_paths(table[:8], 20, random_state=0)
    ways = [model.predict(table), sure.mean, sure.std, sure.low, sure.high, sure.noise, paths.boxes, paths.y]
    if hasattr(model, "classes_"):
        ways += [model.predict_proba(table), model.classes_]
    else:
        ways += [*model.predict(table, return_std=True), model.predict_interval(table[:8])]
    return [*ways, [posterior.log_score, posterior.log_evidence, posterior.log_n_trees], [str(model.tree_)]]


def assert_same_bits(one, other):
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


# Threads of our own


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_number_of_threads_changes_no_bit(name, n_jobs):
    assert_same_bits(answers(fitted(name, n_jobs=1)), answers(fitted(name, n_jobs=n_jobs)))


# Threads and processes of others


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def n_workers(n_jobs=None):
    return Limits(n_jobs=n_jobs).n_workers


@pytest.mark.usefixtures("four_cores")
def test_only_the_main_thread_takes_all_cores_unasked():
    found = []
    thread = threading.Thread(target=lambda: found.extend([n_workers(), n_workers(2), n_workers(-1)]))
    thread.start()
    thread.join()
    assert found == [1, 2, 4]
    assert n_workers() == 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_workers_of_joblib_do_not_multiply_themselves(backend):
    """As many workers as cores: loky says so by OMP_NUM_THREADS, threads by not being the main one."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parallel = joblib.Parallel(n_jobs=max(2, n_cores), backend=backend)
    assert parallel(joblib.delayed(n_workers)() for _ in range(4)) == [1] * 4
    assert parallel(joblib.delayed(n_workers)(2) for _ in range(4)) == [2] * 4


def fit_and_answer(name):
    return answers(fitted(name))


@pytest.mark.parametrize("backend", BACKENDS)
def test_models_fitted_side_by_side_are_those_fitted_one_by_one(backend):
    names = list(MODELS) * 2
    results = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fit_and_answer)(name) for name in names)
    alone = {name: fit_and_answer(name) for name in MODELS}
    for name, result in zip(names, results, strict=True):
        assert_same_bits(result, alone[name])


@pytest.mark.parametrize("name", ["classifier", "regressor"])
def test_one_model_may_be_asked_by_many_threads(name):
    model = fitted(name)
    fresh = pickle.loads(pickle.dumps(model))  # so that the first answers are computed by several threads at once
    results = joblib.Parallel(n_jobs=4, backend="threading")(joblib.delayed(answers)(fresh) for _ in range(8))
    for result in results:
        assert_same_bits(result, answers(model))


def test_threads_that_change_hands_all_the_time_may_ask_one_model_for_different_things():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        posterior = fitted("classifier", max_depth=3).posterior_
        for _ in range(150):
            ask_for_everything_at_once(posterior.with_prior(log_phi=2.0))
            ask_for_everything_at_once(posterior.with_leaf(alpha=1.0))
    finally:
        sys.setswitchinterval(before)


def ask_for_everything_at_once(posterior):
    questions = [
        lambda: posterior.predict_proba(TABLE[:3]),
        lambda: pickle.dumps(posterior),
        lambda: posterior.with_prior(log_phi=1.0).log_score,
        lambda: posterior.with_leaf(alpha=2.0).log_score,
        posterior.map_tree,
        lambda: posterior.log_n_trees,
    ]
    with ThreadPoolExecutor(len(questions)) as pool:
        for answer in [pool.submit(question) for question in questions]:
            answer.result()


# scikit-learn's ways


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["classifier", "classifier, depth-decay", "regressor"])
def test_cross_validation_gives_the_same_scores_in_parallel(name, backend):
    model, y = MODELS[name]
    model = clone(model).set_params(max_bins=4)
    alone = cross_val_score(model, TABLE, y, cv=4, n_jobs=1)
    with joblib.parallel_config(backend=backend):
        np.testing.assert_array_equal(cross_val_score(model, TABLE, y, cv=4, n_jobs=2), alone)


@pytest.mark.parametrize("kind", [BayesianTreeClassifier, BayesianTreeRegressor])
def test_the_prior_can_be_searched_for_in_parallel(kind):
    y = LABELS if kind is BayesianTreeClassifier else NUMBERS
    grid = {"log_phi": [0.5, 2.0, 50.0], "predictor": ["map", "ensemble"]}
    search = GridSearchCV(kind(max_bins=4), grid, cv=3, n_jobs=2).fit(TABLE, y)
    alone = GridSearchCV(kind(max_bins=4), grid, cv=3, n_jobs=1).fit(TABLE, y)
    assert search.best_params_ == alone.best_params_
    assert search.best_params_["log_phi"] < 50.0, "one leaf is not the best model of these data"
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


def test_pipelines_pass_names_and_labels_through():
    transform = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["x"]), ("passthrough", ["port", "z"])
    ).set_output(transform="pandas")
    pipeline = make_pipeline(transform, BayesianTreeClassifier(max_bins=5)).fit(TABLE, LABELS)
    assert [name.split("__")[-1] for name in pipeline[-1].posterior_.grid.feature_names] == ["x", "port", "z"]
    assert pipeline[-1].posterior_.grid.kinds == ("numeric", "nominal", "numeric")
    assert pipeline.score(TABLE, LABELS) > 0.7
    predicted = cross_val_predict(pipeline, TABLE, LABELS, cv=3, n_jobs=2, method="predict_proba")
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_clone_is_unfitted_and_fits_alike(name):
    model = fitted(name)
    again = clone(model)
    assert not hasattr(again, "posterior_")
    assert again.get_params() == model.get_params()
    assert_same_bits(answers(again.fit(TABLE, MODELS[name][1])), answers(model))


def test_fitting_changes_no_parameter():
    for model, y in MODELS.values():
        before = dict(model.get_params())
        assert clone(model).fit(TABLE, y).get_params() == before


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("travel", [pickle, joblib], ids=["pickle", "joblib"])
def test_a_model_that_has_travelled_gives_the_same_bits(name, travel, tmp_path):
    model = fitted(name)
    before = answers(model)
    if travel is pickle:
        again = pickle.loads(pickle.dumps(model))
    else:
        joblib.dump(model, tmp_path / "model.joblib")
        again = joblib.load(tmp_path / "model.joblib")
    assert_same_bits(answers(again), before)
    assert_same_bits(answers(model), before)
