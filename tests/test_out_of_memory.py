"""Wherever Python or numpy get no memory, the error is bcart's, and what is asked next is answered as ever."""

import linecache
import pickle
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import bcart
from bcart import cached, datasets, export, memory, plotting
from bcart.overview import look_over

PACKAGE = str(Path(bcart.__file__).parent)
AROUND = memory.__file__, cached.__file__  # what functions are called through: there is no work in it


@contextmanager
def at_every_line(reach):
    """Call `reach` with each line of bcart that is about to run."""

    def in_frame(frame, event, _):
        if event == "line":
            reach((frame.f_code.co_filename, frame.f_lineno))
        return in_frame

    def enter(frame, *_):
        name = frame.f_code.co_filename
        return in_frame if name.startswith(PACKAGE) and name not in AROUND else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(ask, thing):
    lines = {}
    with at_every_line(lines.setdefault):
        ask(thing)
    return [line for line in lines if linecache.getline(*line).strip() != "try:"]  # which does nothing


def outcome(ask, thing, failing_line):
    """The answer, or the type of the error, if there is no memory for a line."""

    def fail(line):
        if line == failing_line:
            raise MemoryError("Unable to allocate 1 TiB")  # which ends tracing, too

    try:
        with at_every_line(fail):
            return ask(thing)
    except MemoryError as error:
        return type(error)


def check_every_line(make, ask):
    """Let each line that `ask` runs fail in turn, for a thing that is new each time."""
    expected = ask(make())
    failing = lines_of(ask, make())
    outcomes = [outcome(ask, make(), line) for line in failing]
    wrong = [
        f"{line}: {found}" for line, found in zip(failing, outcomes, strict=True)
        if found is not bcart.MemoryBudgetError and found != expected
    ]  # fmt: skip
    assert wrong == []
    assert bcart.MemoryBudgetError in outcomes
    assert ask(make()) == expected


RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 3, (12, 2)).astype(float)
X[0, 0] = np.nan
Y = (X[:, 1] > 1).astype(int)


@pytest.fixture(scope="module")
def classifier():
    return bcart.BayesianTreeClassifier(n_jobs=1).fit(X, Y)


@pytest.fixture(scope="module")
def regressor():
    return bcart.BayesianTreeRegressor(n_jobs=1).fit(X, X[:, 1])


def folded():
    cells = bcart.Cells([[i % 3, i // 3] for i in range(9)], [[i % 2, 1] for i in range(9)])
    graph = bcart.build_graph(cells, bcart.Family(max_depth=3), folding="always")
    return bcart.Posterior(graph, n_jobs=1)


def numbers(answer):
    """All arrays of an answer."""
    return [np.asarray(part).tolist() for part in vars(answer).values()]


FITS = {
    "classifier": lambda _: bcart.BayesianTreeClassifier(n_jobs=1).fit(X, Y).posterior_.log_evidence,
    "regressor": lambda _: bcart.BayesianTreeRegressor(n_jobs=1, leaf="poisson").fit(X, Y).posterior_.log_evidence,
    "quantiles": lambda _: bcart.Grid.from_data(X, 2, "quantile").n_bins,
    "cells": lambda _: bcart.Cells.from_labels([[0], [1], [0]], [1, 0, 1], 2).statistics.tolist(),
    "cost": lambda _: bcart.estimate_cost(X, Y, n_jobs=1).all_trees.n_boxes,
    "coins": lambda _: datasets.make_hidden_xor(3, 0).data.tolist(),
    "haberman": lambda _: datasets.load_haberman().data.tolist(),
    "limits": lambda _: bcart.Limits("2GB", 1.5, 2).after(0.0) == bcart.Limits(2 * 10**9, 1.5, 2),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_without_memory(name):
    check_every_line(lambda: None, FITS[name])


OF_POSTERIORS = {
    "score": lambda p: p.log_score,
    "evidence": lambda p: p.log_evidence,
    "count": lambda p: p.log_n_trees,
    "thresholds": lambda p: [cuts.tolist() for cuts in p.thresholds],
    "best tree": lambda p: p.map_tree(),
    "samples": lambda p: p.sample(3, 0),
    "probability": lambda p: p.log_probability(p.map_tree()),
    "prediction": lambda p: p.predict(X).tolist(),
    "uncertainty": lambda p: numbers(p.uncertainty(X[:2])),
    "spread": lambda p: p.uncertainty(X[:2], None).predictive_std.tolist(),
    "predictive": lambda p: p.log_predictive(X, Y).tolist(),
    "paths": lambda p: numbers(p.sample_paths(X[:2], 2, 0)),
    "grammar": lambda p: list(p.grammar()),
    "nltk": lambda p: str(p.grammar().to_nltk()),
    "another prior": lambda p: p.with_prior(log_phi=1.0).log_score,
    "another leaf": lambda p: p.with_leaf(p.leaf).log_score,
    "text": repr,
    "page": lambda p: p._repr_html_(),
}


@pytest.mark.parametrize("question", OF_POSTERIORS)
def test_a_question_without_memory(question, classifier):
    posterior = classifier.posterior_
    check_every_line(lambda: posterior._with(set()), OF_POSTERIORS[question])


@pytest.mark.parametrize("question", ["score", "best tree", "samples", "prediction", "uncertainty", "probability"])
def test_a_question_to_a_folded_posterior_without_memory(question):
    check_every_line(folded, OF_POSTERIORS[question])


OF_ESTIMATORS = {
    "prediction": lambda m: m.predict(X).tolist(),
    "score": lambda m: m.score(X, Y),
    "uncertainty": lambda m: numbers(m.uncertainty(X[:2])),
}
OF_CLASSIFIERS = {"log probabilities": lambda m: m.predict_log_proba(X).tolist()}
OF_REGRESSORS = {"interval": lambda m: m.predict_interval(X[:2]).tolist()}


@pytest.mark.parametrize("question", [*OF_ESTIMATORS, *OF_CLASSIFIERS])
def test_a_question_to_a_classifier_without_memory(question, classifier):
    check_every_line(lambda: classifier, {**OF_ESTIMATORS, **OF_CLASSIFIERS}[question])


@pytest.mark.parametrize("question", [*OF_ESTIMATORS, *OF_REGRESSORS])
def test_a_question_to_a_regressor_without_memory(question, regressor):
    check_every_line(lambda: regressor, {**OF_ESTIMATORS, **OF_REGRESSORS}[question])


OF_TREES = {
    "leaves": lambda t: t.apply(X).tolist(),
    "probabilities": lambda t: t.predict_proba(X).tolist(),
    "prediction": lambda t: t.predict(X).tolist(),
    "intervals": lambda t: [end.tolist() for end in t.interval()],
    "depth": lambda t: t.depth,
    "equality": lambda t: (t == t, hash(t)),
    "print": str,
    "text": lambda t: t.to_text(),
    "dict": lambda t: t.to_dict(),
    "JSON": lambda t: bcart.Tree.from_json(t.to_json()),
    "DOT": lambda t: t.to_dot(),
    "SQL": lambda t: t.to_sql(),
    "C": lambda t: t.to_c(),
    "scikit-learn": lambda t: t.to_sklearn().predict(np.nan_to_num(X)).tolist(),
    "page": lambda t: t._repr_html_(),
}


@pytest.mark.parametrize("question", OF_TREES)
def test_a_question_to_a_tree_without_memory(question, classifier):
    record = classifier.tree_.to_dict()
    check_every_line(lambda: bcart.Tree.from_dict(record), OF_TREES[question])


def test_an_overview_without_memory():
    check_every_line(folded, lambda p: look_over(p, 5).top)


PICTURES = {
    "tree": lambda m: plotting.plot_tree(m.tree_, Figure().subplots()),
    "posterior": lambda m: plotting.plot_posterior(m, 5, axes=Figure().subplots(1, 3)),
    "predictive": lambda m: plotting.plot_predictive(m, 1, X, ax=Figure().subplots()),
    "calibration": lambda m: plotting.plot_calibration(Y, m, X, ax=Figure().subplots()),
}


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_without_memory(picture, classifier):
    make = folded if picture == "posterior" else lambda: classifier
    check_every_line(make, lambda model: PICTURES[picture](model) is not None)


def test_a_file_without_memory(classifier, tmp_path):
    path = tmp_path / "model.bcart"

    def save_and_load(model):
        bcart.save_model(model, path)
        return bcart.load_model(path).posterior().log_evidence

    check_every_line(lambda: classifier, save_and_load)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore:there is no memory for .* of boxes in a pickle:RuntimeWarning")
def test_a_pickle_without_memory(classifier):
    check_every_line(lambda: classifier, lambda model: pickle.loads(pickle.dumps(model)).tree_)


def test_a_pickle_without_room_for_boxes(classifier, monkeypatch):
    """Its boxes are listed again, within our own functions."""

    def no_room_for_boxes(self):
        if self.n_bytes > 1000:
            raise bcart.MemoryBudgetError

    monkeypatch.setattr(memory.Room, "__post_init__", no_room_for_boxes)
    with pytest.warns(RuntimeWarning, match="it holds the cells alone"):
        pickled = pickle.dumps(classifier)
    check_every_line(lambda: pickled, lambda stored: pickle.loads(stored).tree_)


def test_what_the_search_costs_is_not_told_without_memory():
    def fit(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
            return bcart.BayesianTreeClassifier(max_memory="20kB", n_jobs=1).fit(X, Y).posterior_.max_depth

    check_every_line(lambda: None, fit)


class TreeWithoutMemory:
    """Whatever it is asked for, there is no memory."""

    def __getattr__(self, name):
        raise MemoryError


WRITERS = [writer for name, writer in sorted(vars(export).items()) if name.startswith(("write_", "build_"))]


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_writers_that_are_called_directly_raise_our_error(write):
    with pytest.raises(bcart.MemoryBudgetError):
        write(TreeWithoutMemory())
