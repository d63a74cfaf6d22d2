"""What the posterior says of rows, against the list of every tree: rows in gaps, outside, missing, of unseen labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcart
from bcart.testing.both import compute, enumerate_all
from bcart.testing.strategies import problems, queries

hundreds = settings(max_examples=300, deadline=None)
a_hundred = settings(max_examples=100, deadline=None)  # listing quantiles takes its time

levels = st.sampled_from([0.5, 0.9, 0.95, 0.999])
classification = problems(leaf=st.just("dirichlet"))
regression = problems(leaf=st.sampled_from(["normal", "poisson"]))


def assert_close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@hundreds
@given(problems(), st.data())
def test_the_ensemble_answers_with_the_average_over_all_trees(problem, data):
    rows = data.draw(queries(problem))
    assert_close(compute(problem).expected_output(rows), enumerate_all(problem).predictive_mean(rows))


@hundreds
@given(classification, st.data())
def test_class_probabilities_are_those_of_the_list(problem, data):
    rows = data.draw(queries(problem))
    posterior = compute(problem)
    assert_close(posterior.predict_proba(rows), enumerate_all(problem).predict_proba(rows))
    assert_close(posterior.predict_proba(rows).sum(axis=1), 1.0)


@hundreds
@given(problems(), st.data())
def test_the_map_response_is_that_of_the_map_tree(problem, data):
    rows = data.draw(queries(problem))
    posterior, tree = compute(problem), enumerate_all(problem).map_tree
    assert_close(posterior.expected_output(rows, predictor="map"), tree.predictive[tree.apply(rows)])
    assert_close(posterior.map_tree().predictive[posterior.map_tree().apply(rows)], tree.predictive[tree.apply(rows)])


@hundreds
@given(problems(), st.data())
def test_the_variance_has_the_parts_of_the_list(problem, data):
    rows = data.draw(queries(problem))
    sure, listed = compute(problem).uncertainty(rows), enumerate_all(problem).uncertainty(rows)
    for part in ("mean", "std", "within_leaf", "noise"):
        assert_close(getattr(sure, part), getattr(listed, part), 1e-9)
    assert_close(sure.between_trees, listed.between_trees, 1e-9)
    assert_close(sure.std**2, sure.between_trees + sure.within_leaf, 1e-12)


@a_hundred
@given(problems(), levels, st.data())
def test_credible_intervals_are_those_of_the_mixture_over_trees(problem, level, data):
    rows = data.draw(queries(problem, max_rows=2))
    sure, listed = compute(problem).uncertainty(rows, level), enumerate_all(problem).uncertainty(rows, level)
    assert_close(sure.low, listed.low, 1e-8)
    assert_close(sure.high, listed.high, 1e-8)


@a_hundred
@given(regression, levels, st.data())
def test_prediction_intervals_are_those_of_the_mixture_over_trees(problem, level, data):
    rows = data.draw(queries(problem, max_rows=2))
    assert_close(
        compute(problem).predict_interval(rows, level), enumerate_all(problem).predictive_interval(rows, level), 1e-8
    )


@a_hundred
@given(problems(), st.data())
def test_the_predictive_density_is_that_of_the_mixture_over_trees(problem, data):
    rows = data.draw(queries(problem))
    # Far from the data the least probable leaves decide.
    far = {"dirichlet": [], "normal": [-1e4, 30.0], "poisson": [60, 1000]}[problem.leaf]
    targets = st.sampled_from([*problem.y[problem.weights > 0].tolist(), *far])
    y = np.array(data.draw(st.lists(targets, min_size=len(rows), max_size=len(rows))))
    assert_close(compute(problem).log_predictive(rows, y), enumerate_all(problem).log_predictive(rows, y), 1e-9)


@hundreds
@given(problems(), st.data())
def test_an_answer_does_not_depend_on_the_company_nor_on_threads(problem, data):
    rows = data.draw(queries(problem, max_rows=20))
    one, two = compute(problem, n_jobs=1), compute(problem, n_jobs=2)
    alone = np.concatenate([one.expected_output(row[None]) for row in rows])
    np.testing.assert_array_equal(one.expected_output(rows), alone)
    np.testing.assert_array_equal(two.expected_output(rows), alone)
    paths = one.sample_paths(rows, 7, random_state=3)
    np.testing.assert_array_equal(paths.boxes, two.sample_paths(rows, 7, random_state=3).boxes)
    np.testing.assert_array_equal(paths.y[:, :3], two.sample_paths(rows, 3, random_state=3).y)


@hundreds
@given(problems(), st.data())
def test_random_paths_end_where_some_tree_leads(problem, data):
    rows = data.draw(queries(problem, max_rows=3))
    listed = enumerate_all(problem)
    paths = compute(problem).sample_paths(rows, 5, random_state=data.draw(st.integers(0, 100)))
    ends = [{round(float(tree.n_rows[leaf]), 9) for tree, leaf in zip(listed.trees, leaves, strict=True)}
            for leaves in np.transpose([tree.apply(rows) for tree in listed.trees])]  # fmt: skip
    leaf = compute(problem).leaf
    for statistics, possible in zip(paths.statistics, ends, strict=True):
        assert {round(float(weight), 9) for weight in leaf.n_rows(statistics)} <= possible


@a_hundred
@given(classification, st.data())
def test_the_classifier_says_what_its_posterior_says(problem, data):
    rows = data.draw(queries(problem))
    parameters = {name: value for name, value in problem.settings.items() if name not in ("nominal", "leaf")}
    model = bcart.BayesianTreeClassifier(categorical_features=list(problem.nominal), n_jobs=1, **parameters)
    model.fit(problem.X, problem.y, sample_weight=problem.sample_weight)
    posterior = compute(problem, is_folded=False)
    np.testing.assert_array_equal(model.predict_proba(rows), posterior.predict_proba(rows))
    np.testing.assert_array_equal(model.predict(rows), posterior.predict(rows))
    assert model.tree_ == posterior.map_tree()
    assert model.posterior_.log_evidence == pytest.approx(posterior.log_evidence, abs=1e-12)
