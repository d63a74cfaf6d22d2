"""Data and models at the edge of what makes sense: an exact answer, or an error that says what to do."""

import math
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import betaln, logsumexp

import bcart
from bcart.plotting import plot_predictive
from bcart.testing import enumerate_posterior

X = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0], [2.0, 2.0], [2.0, 2.0]])
Y = np.array([0, 1, 0, 1, 1, 0])


def fit(X, y, sample_weight=None, **parameters):
    return bcart.BayesianTreeClassifier(**{"n_jobs": 1, **parameters}).fit(X, y, sample_weight)


def close(expected):
    return pytest.approx(expected, rel=1e-11, abs=1e-11)


def assert_same_answers(posterior, listed):
    assert posterior.log_n_trees == close(listed.log_n_trees)
    assert posterior.log_score == close(listed.log_score)
    assert posterior.log_prior_mass == close(listed.log_prior_mass)
    assert posterior.map_tree() == listed.map_tree


# Little or strange data


@pytest.mark.parametrize(
    ("empty_X", "y"), [([], []), (np.empty((0, 3)), []), (np.empty((3, 0)), [0, 1, 0]), ([[]], [0])]
)
def test_no_rows_or_no_columns_are_refused(empty_X, y):
    with pytest.raises(bcart.InvalidDataError):
        fit(empty_X, y)


def test_one_row_leaves_one_tree_which_is_sure():
    model = fit([[3.0, 4.0]], ["only"])
    assert (model.posterior_.log_n_trees, model.posterior_.log_score, model.tree_.n_leaves) == (0.0, 0.0, 1)
    assert model.predict([[9.0, -9.0]]).tolist() == ["only"]
    assert model.predict_proba([[9.0, -9.0]]).tolist() == [[1.0]]


def test_one_class_is_certain_whatever_the_tree():
    model = fit(X, np.full(6, 7))
    assert_same_answers(model.posterior_, enumerate_posterior(X, np.full(6, 7)))
    assert model.posterior_.log_evidence == close(0.0)
    assert model.predict_proba(X).tolist() == [[1.0]] * 6


def test_constant_features_change_nothing():
    padded = np.column_stack([np.full(6, 5.0), X[:, 0], np.zeros(6), X[:, 1]])
    with_them, without = fit(padded, Y).posterior_, fit(X, Y).posterior_
    assert (with_them.n_boxes, with_them.n_splits) == (without.n_boxes, without.n_splits)
    assert with_them.log_score == without.log_score


def test_equal_rows_make_one_leaf_with_their_frequencies():
    model = fit(np.ones((5, 2)), [0, 1, 1, 1, 1])
    assert model.posterior_.log_n_trees == 0.0
    assert model.posterior_.log_score == close(betaln(2, 5) - betaln(1, 1))
    np.testing.assert_allclose(model.predict_proba([[8.0, 8.0]]), [[2 / 7, 5 / 7]], rtol=1e-15)


def test_conflicting_labels_in_one_cell_are_evidence_like_any_other():
    rows, labels = np.repeat(X, 3, axis=0), np.tile([0, 1, 1], 6)
    assert_same_answers(fit(rows, labels).posterior_, enumerate_posterior(rows, labels))


@pytest.mark.parametrize("dtype", [str, object, bool, np.int8, np.float32])
def test_labels_of_any_kind_come_back_as_they_were_given(dtype):
    labels = np.array(["yes", "no"])[Y] if dtype in (str, object) else Y
    labels = labels.astype(dtype)
    model = fit(X, labels, log_phi=-5.0)
    assert model.classes_.tolist() == sorted(set(labels.tolist()))
    assert model.predict(X[:4]).tolist() == labels[:4].tolist()
    assert model.posterior_.log_score == close(enumerate_posterior(X, labels, log_phi=-5.0).log_score)


def test_forty_classes():
    rows, labels = np.arange(120.0)[:, None] // 24, np.arange(120)[::-1] // 3
    model, listed = fit(rows, labels), enumerate_posterior(rows, labels)
    assert_same_answers(model.posterior_, listed)
    assert model.predict_proba(rows).shape == (120, 40)
    np.testing.assert_allclose(model.predict_proba(rows), listed.predict_proba(rows), rtol=1e-12)
    np.testing.assert_allclose(model.tree_.predict_proba(rows), listed.map_tree.predict_proba(rows), rtol=1e-12)


# Values that are no numbers, and tables that are no tables


@pytest.mark.parametrize(("value", "name"), [(np.inf, "inf"), (-np.inf, "-inf")])
def test_an_infinite_value_is_named_with_its_column_and_a_remedy(value, name):
    table = pd.DataFrame({"age": [1.0, 2.0], "fare": [3.0, value]})
    for refused in (lambda: fit(table, [0, 1]), lambda: fit(table.iloc[:1], [0]).predict(table)):
        with pytest.raises(bcart.InvalidDataError, match=rf"'fare' contains {name} \(row 1\); clip infinite values"):
            refused()
    with pytest.raises(bcart.InvalidDataError, match=f"'x1' contains {name}"):
        fit(table.to_numpy(), [0, 1])


def test_an_infinite_value_is_refused_wherever_rows_come_in():
    table, labels = np.array([[0.0, 1.0], [1.0, np.inf], [2.0, 3.0]]), [0, 1, 0]
    model = fit(np.nan_to_num(table, posinf=9.0), labels)
    for refused in (
        lambda: bcart.Grid.from_data(table),
        lambda: bcart.Grid.from_data(table, binning="quantile", max_bins=2),
        lambda: bcart.Grid.from_data(table, sample_weight=[0.0, 1.0, 1.0]),
        lambda: fit(table, labels, sample_weight=[0.0, 1.0, 1.0]),
        lambda: bcart.estimate_cost(table, labels),
        lambda: model.posterior_.grid.encode(table),
        lambda: model.predict_proba(table),
        lambda: model.tree_.predict_proba(table),
        lambda: plot_predictive(model, 0, table, labels),
    ):
        with pytest.raises(bcart.InvalidDataError, match=r"'x1' contains inf \(row 1\); clip infinite values"):
            refused()


@pytest.mark.parametrize(
    ("wrong_X", "y"),
    [
        pytest.param([1.0, 2.0], [0, 1], id="one dimension"),
        pytest.param(np.zeros((2, 2, 2)), [0, 1], id="three dimensions"),
        pytest.param([[1.0], [2.0, 3.0]], [0, 1], id="ragged"),
        pytest.param([["a"], ["b"]], [0, 1], id="text"),
        pytest.param([[1j], [2j]], [0, 1], id="complex"),
        pytest.param(csr_array(np.eye(2)), [0, 1], id="sparse"),
        pytest.param(None, [0, 1], id="nothing"),
        pytest.param([[1.0], [2.0]], None, id="no labels"),
        pytest.param([[1.0], [2.0]], [0, 1, 0], id="too many labels"),
        pytest.param([[1.0], [2.0]], [[0, 1], [1, 0]], id="labels in two columns"),
        pytest.param([[1.0], [2.0]], [[1], [1, 2]], id="ragged labels"),
        pytest.param([[1.0], [2.0]], [0.25, 1.5], id="a continuous target"),
        pytest.param([[1.0], [2.0]], [0.0, np.nan], id="a missing label"),
    ],
)
def test_what_is_no_table_of_numbers_with_labels_is_refused(wrong_X, y):
    with pytest.raises(bcart.BcartError):
        fit(wrong_X, y)


@pytest.mark.parametrize("query", [[1.0, 2.0], [[1.0]], [[1.0, 2.0, 3.0]], [["a", "b"]], np.empty((0, 2)), None])
def test_a_query_unlike_the_training_data_is_refused(query):
    with pytest.raises(bcart.InvalidDataError):
        fit(X, Y).predict(query)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([-1.7e308, 0.0, 1.7e308], id="huge"),
        pytest.param([-5e-324, 0.0, 5e-324, 1e-323], id="as small as numbers get"),
        pytest.param([1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0)], id="neighbours"),
        pytest.param([2.0**53, 2.0**53 + 2, 1e300], id="large whole numbers"),
    ],
)
def test_every_value_lands_on_its_own_side_of_every_threshold(values):
    rows = np.array(values)[:, None]
    labels = np.arange(len(values)) % 2
    model = fit(rows, labels, log_phi=-50.0)
    assert model.tree_.n_leaves == len(values)
    assert model.predict(rows).tolist() == labels.tolist()


def test_the_two_zeros_are_one_value():
    model = fit([[-0.0], [0.0], [1.0]], [0, 1, 1])
    assert model.posterior_.graph.cells.n_cells == 2


# Weights


def test_rows_of_weight_zero_are_absent_with_their_values_and_labels():
    rows = np.vstack([X, [[100.0, -100.0], [0.5, 1.5]]])
    labels, weights = np.append(Y, [9, 0]), np.append(np.ones(6), [0.0, 0.0])
    model, without = fit(rows, labels, weights, max_bins=2), fit(X, Y, max_bins=2)
    assert model.classes_.tolist() == [0, 1]
    assert model.posterior_.log_score == without.posterior_.log_score
    assert model.tree_ == without.tree_
    for high, other in zip(model.posterior_.grid.highest, without.posterior_.grid.highest, strict=True):
        assert high.tolist() == other.tolist()
    rows[-2:] = [[np.inf, 0.0], [0.0, -np.inf]]
    assert fit(rows, labels, weights, max_bins=2).tree_ == without.tree_
    assert (
        bcart.BayesianTreeRegressor().fit(rows, labels, weights).tree_ == bcart.BayesianTreeRegressor().fit(X, Y).tree_
    )
    assert bcart.estimate_cost(rows, labels, sample_weight=weights).by_depth[0].n_boxes > 0


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1, 1, -0.5, 1, 1, 1], r"-0\.5 \(row 2\)"),
        ([1, np.nan, 1, 1, 1, 1], r"nan \(row 1\)"),
        ([np.inf, 1, 1, 1, 1, 1], r"inf \(row 0\)"),
        ([1, 1, 1, 1e308, 1, 1], r"1e\+308 \(row 3\); weights must be finite, at most 1e\+30"),
        ([0, 0, 0, 0, 0, 0], "zero"),
        ([1, 1], "shape"),
        (np.ones((6, 2)), "shape"),
        (["a"] * 6, "sample_weight"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights, said):
    with pytest.raises(bcart.InvalidDataError, match=said):
        fit(X, Y, weights)


@pytest.mark.parametrize("size", [1e9, 1e15])
def test_huge_counts_keep_thirteen_digits(size):
    counts = np.array([[0.7 * size, 0.1 * size], [0.1 * size, 0.1 * size]])
    posterior = bcart.Posterior(bcart.build_graph(bcart.Cells([[0], [1]], counts)))
    leaf = np.array([betaln(*(1 + row)) for row in (counts.sum(axis=0), *counts)])
    assert posterior.log_score == pytest.approx(np.logaddexp(leaf[0], leaf[1] + leaf[2] - 2), rel=1e-13)
    assert posterior.map_tree().n_leaves == 2


# Models


@pytest.mark.parametrize("max_depth", [None, 2])
@pytest.mark.parametrize("log_phi", [700.0, -700.0, 1e6, -1e6])
def test_extreme_priors_give_the_answers_of_the_list(log_phi, max_depth):
    model = fit(X, Y, log_phi=log_phi, max_depth=max_depth)
    posterior, listed = model.posterior_, enumerate_posterior(X, Y, log_phi=log_phi, max_depth=max_depth)
    assert_same_answers(posterior, listed)
    assert posterior.log_evidence == pytest.approx(listed.log_evidence, abs=1e-14 * abs(listed.log_score))
    assert sum(rule.probability for rule in posterior.grammar().rules()) == pytest.approx(
        1.0, abs=1e-15 * (1e3 + abs(listed.log_score))
    )
    probable = {tree for tree, p in zip(listed.trees, listed.probabilities, strict=True) if p > 1e-6}
    assert set(posterior.sample(50, 0)) <= probable


def exact_log_marginal(counts, alpha):
    """The Dirichlet marginal likelihood of whole counts, in rational numbers up to the final logarithm."""

    def rising(base, n):
        return math.prod((base + i for i in range(round(n))), start=Fraction(1))

    classes = [rising(Fraction(alpha), n) for n in counts]
    ratio = math.prod(classes, start=Fraction(1)) / rising(len(counts) * Fraction(alpha), sum(counts))
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize("alpha", [1e-300, 1e-8, 1e8, 1e300])
def test_extreme_pseudo_counts_are_exact(alpha):
    model, listed = fit(X, Y, alpha=alpha), enumerate_posterior(X, Y)
    log_weights = [
        sum(exact_log_marginal(tree.statistics[node], alpha) for node in np.flatnonzero(tree.feature < 0))
        - 2.0 * (tree.n_leaves - 1)
        for tree in listed.trees
    ]
    posterior = model.posterior_
    assert posterior.log_score == pytest.approx(logsumexp(log_weights), rel=1e-12, abs=1e-11)
    assert posterior.log_prior_mass == close(listed.log_prior_mass)
    assert model.tree_ == listed.trees[int(np.argmax(log_weights))]
    assert model.tree_.log_probability == pytest.approx(max(log_weights) - logsumexp(log_weights), abs=1e-11)
    assert all(tree in listed.trees for tree in posterior.sample(20, 0))
    leaves = model.tree_.feature < 0
    counts, predictive = model.tree_.statistics[leaves], model.tree_.predictive[leaves]
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predictive, frequencies if alpha < 1 else np.full_like(counts, 0.5), atol=1e-7)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("max_bins", [1, 0, 256, -3, 2.5, "ten", True, None]),
        ("binning", ["equal", None, 3]),
        ("log_phi", [np.nan, np.inf, -np.inf, "two", None]),
        ("alpha", [0.0, -1.0, np.nan, np.inf, [1.0], [1.0, 2.0, 3.0], [1.0, 0.0], "one", None, [[1.0, 1.0]]]),
        ("max_depth", [0, -1, 1.5, "deep", True]),
        ("min_samples_leaf", [0, -1, np.nan, np.inf, "few", None]),
        ("min_samples_split", [0, -1, np.nan, np.inf, "few", None]),
        ("predictor", ["vote", None]),
        ("prior", ["flat", None, 2.0]),
        ("max_memory", ["lots", -1, None, "1 GBit", np.nan]),
        ("time_limit", [0, -1.0, np.nan, "long"]),
        ("n_jobs", [0, 1.5, "all"]),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(parameter, values):
    for value in values:
        with pytest.raises(bcart.InvalidModelError, match=parameter):
            fit(X, Y, **{parameter: value})


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("log_phi", np.int64(2)),
        ("log_phi", np.float32(2.0)),
        ("alpha", np.float32(1.0)),
        ("alpha", np.array([1, 1])),
        ("max_bins", np.int64(10)),
        ("max_depth", np.int32(50)),
        ("max_depth", 10**30),
        ("min_samples_leaf", np.float32(1.0)),
        ("min_samples_split", np.int64(2)),
        ("max_memory", np.int64(10**9)),
        ("max_memory", 2**70),
        ("max_memory", "1e30GB"),
        ("time_limit", np.int64(100)),
        ("time_limit", 1e12),
        ("time_limit", np.inf),
        ("n_jobs", np.int64(1)),
        ("n_jobs", -1000),
    ],
)
def test_numbers_of_numpy_and_generous_limits_are_as_good_as_plain_ones(parameter, value):
    assert fit(X, Y, **{parameter: value}).posterior_.log_score == fit(X, Y).posterior_.log_score


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n_light", [10, 100])
def test_a_light_side_is_weighed_right_next_to_a_heavy_one(sign, n_light):
    rows = sign * np.arange(n_light + 1.0)[:, None]
    labels, weights = np.arange(n_light + 1) % 2, np.array([1e10 / 3] + [1 / n_light] * n_light)
    posterior = fit(rows, labels, weights, min_samples_leaf=1, max_bins=255).posterior_
    listed = enumerate_posterior(rows, labels, sample_weight=weights, min_samples_leaf=1)
    assert (posterior.n_splits, listed.n_splits) == (1, 1)
    assert posterior.log_score == pytest.approx(listed.log_score, rel=1e-12)


@pytest.mark.parametrize("parameter", ["log_phi", "alpha", "min_samples_leaf", "time_limit"])
def test_numbers_beyond_floating_point_are_refused_by_name(parameter):
    with pytest.raises(bcart.InvalidModelError, match=parameter):
        fit(X, Y, **{parameter: 10**400})


def test_a_long_fit_shows_progress_on_stderr_if_asked(monkeypatch, capsys):
    monkeypatch.setattr("bcart.estimators.progress._SHOW_AFTER", 0.0)
    rows = np.random.default_rng(0).integers(0, 2, (150, 20))
    fit(rows, rows[:, 0], verbose=1, max_memory="8GB", n_jobs=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.match(r"bcart: depth \d+ +\d+%, [\d,]+ boxes, [\d,]+ splits, [\d.]+ [kMG]B, ", shown.err)
    fit(rows[:50], rows[:50, 0], n_jobs=1)
    assert capsys.readouterr().err == ""


def test_text_is_told_by_its_column():
    table = pd.DataFrame({"age": [1, 2], "sex": ["3", "male"]})
    model = fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    for act in (
        lambda: fit(table.to_numpy(), [0, 1]),
        lambda: fit(table, [0, 1], categorical_features=None),
        lambda: bcart.Grid.from_data(table.to_numpy()),
        lambda: model.predict(table.to_numpy()),
    ):
        with pytest.raises(
            bcart.InvalidDataError,
            match=r"column '(sex|x1)' contains 'male' \(row 1\), which is no number; name .*categorical_features",
        ):
            act()


def test_counts_whose_sum_is_huge_have_a_finite_score():
    model = bcart.BayesianTreeRegressor(leaf="poisson", prior_mean=1.0)
    model.fit([[0.0], [1.0]], [10**6, 10**6], sample_weight=[1e26, 1e26])
    assert np.isfinite(model.posterior_.log_score)
    assert model.predict([[0.0]]) == pytest.approx(1e6)


def test_a_tree_is_never_more_probable_than_sure_although_huge_weights_leave_no_digits():
    rows = np.arange(16)
    X = np.where(np.stack([np.isin(rows, [12, 13]), rows == 10], axis=1), np.nan, 1.0)
    y = np.where(np.isin(rows, [8, 9, 10]), 0.0, -2.5)
    model = bcart.BayesianTreeRegressor().fit(X, y, sample_weight=np.where(np.isin(rows, [11, 14, 15]), 1.0, 1e29))
    trees = [model.tree_, *model.posterior_.sample(20, 0)]
    assert all(tree.log_probability <= 0 and "posterior probability" in str(tree) for tree in trees)
    assert all(model.posterior_.log_probability(tree) <= 0 for tree in trees)
