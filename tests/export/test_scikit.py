"""Trees as scikit-learn's."""

import io
import pickle
from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text
from sklearn.tree import plot_tree as sklearn_plot_tree

import bcart
from bcart import InvalidModelError, Tree
from bcart.datasets import load_haberman
from bcart.testing.both import compute
from bcart.testing.strategies import problems, queries
from bcart.testing.trees import random_rows, random_tree

matplotlib.use("Agg")
NUMBERS = ["below", "missing"]


def table(rows, tree):
    """Rows as scikit-learn takes them: labels, for which the tree does not ask, are zeros."""
    numbers = np.array([[0.0 if isinstance(value, str) else value for value in row] for row in rows], dtype=float)
    return numbers if tree.feature_names[0] == "x0" else pd.DataFrame(numbers, columns=tree.feature_names)


def stump(threshold):
    """A tree of one question that predicts 1 below the threshold, else 2."""
    leaves = [-1, -1]
    parts = [0, *leaves], [threshold, np.nan, np.nan], [1, *leaves], [2, *leaves], np.zeros((3, 1)), [[0], [1], [2]]
    return Tree(*parts, ("x0",))


def assert_alike(tree, rows):
    estimator, X = tree.to_sklearn(), table(rows, tree)
    assert estimator.apply(X).tolist() == tree.apply(rows).tolist()
    assert estimator.predict(X).tolist() == tree.predict(rows).tolist()
    if tree.classes is not None:
        assert estimator.predict_proba(X).tolist() == tree.predict_proba(rows).tolist()
    assert (estimator.get_n_leaves(), estimator.get_depth()) == (tree.n_leaves, tree.depth)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_scikit_learn_answers_as_the_tree_does(seed, n_leaves, classifies):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves, ("ill", "so-so", "well") if classifies else None, NUMBERS)
    tree = replace(tree, categories=(None,) * 5)
    rows = random_rows(rng, tree, 30, precision=np.float32)
    assert_alike(tree, rows)


@given(st.data())
def test_scikit_learn_answers_as_trees_of_the_posterior_do(data):
    problem = data.draw(problems(log_phi=st.just(-3.0), nominal=st.just(False)))
    tree = compute(problem).sample(1, data.draw(st.integers(0, 9)))[0]
    rows = data.draw(queries(problem, max_rows=12)).astype(np.float32).astype(np.float64)
    assert_alike(tree, rows)


@given(st.floats(-1e30, 1e30), st.integers(-3, 3))
def test_rows_of_double_precision_differ_only_if_rounding_carries_them_across(threshold, steps):
    tree = stump(threshold)
    x = threshold + steps * abs(threshold) * 2.0**-26
    rounded = float(np.float32(x))
    assert tree.to_sklearn().predict([[x]]) == tree.predict([[rounded]])
    if (x < threshold) == (rounded < threshold):
        assert tree.to_sklearn().predict([[x]]) == tree.predict([[x]])


@pytest.mark.parametrize("threshold", [1e39, -1e39, 3.4028234663852886e38, -3.4028234663852886e38, 1e-50, 0.0, -1e-50])
def test_thresholds_beyond_single_precision_still_part_it(threshold):
    tree = stump(threshold)
    big, tiny = np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal
    rows = np.array([[-big], [-1], [-tiny], [0], [tiny], [1], [big]], dtype=np.float32)
    assert tree.to_sklearn().predict(rows).tolist() == tree.predict(rows.astype(float)).tolist()


@pytest.fixture(scope="module")
def haberman_tree():
    haberman = load_haberman()
    X = pd.DataFrame(haberman.data, columns=haberman.feature_names)
    return bcart.BayesianTreeClassifier(log_phi=1.0).fit(X, haberman.target).tree_


@pytest.fixture(scope="module")
def diabetes_tree():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return bcart.BayesianTreeRegressor(max_depth=2).fit(X[["bmi", "bp", "s5"]], y).tree_


def test_what_comes_out_is_a_fitted_estimator(haberman_tree, diabetes_tree):
    classifier, regressor = haberman_tree.to_sklearn(), diabetes_tree.to_sklearn()
    assert type(classifier) is DecisionTreeClassifier
    assert type(regressor) is DecisionTreeRegressor
    assert is_classifier(classifier)
    assert is_regressor(regressor)
    assert classifier.classes_.tolist() == ["died", "survived"]
    assert classifier.feature_names_in_.tolist() == ["age", "year", "nodes"]
    assert clone(classifier).get_params() == DecisionTreeClassifier().get_params()


def test_columns_without_names_have_none_in_scikit_learn():
    tree = bcart.BayesianTreeClassifier().fit(np.arange(9.0)[:, None], [0] * 4 + [1] * 5).tree_
    estimator = tree.to_sklearn()
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.predict([[0.0], [9.0]]).tolist() == [0, 1]


def test_nodes_know_their_rows_and_their_impurity_as_if_scikit_learn_had_grown_them():
    """With one split for each, a tree of depth one is the same as scikit-learn's own."""
    haberman = load_haberman()
    X, y = haberman.data[:, [2]], haberman.target
    tree = bcart.BayesianTreeClassifier(max_depth=1, max_bins=100).fit(X, y).tree_
    stump = DecisionTreeClassifier(max_depth=1).fit(tree.threshold[0] <= X, y)
    ours = tree.to_sklearn().tree_
    np.testing.assert_allclose(ours.impurity, stump.tree_.impurity)
    assert ours.n_node_samples.tolist() == stump.tree_.n_node_samples.tolist()
    assert ours.weighted_n_node_samples.tolist() == stump.tree_.weighted_n_node_samples.tolist()


@given(st.integers(0, 10_000))
def test_no_split_makes_a_regression_tree_less_pure(seed):
    tree = random_tree(np.random.default_rng(seed), 9, None, ["below"])
    leaf_rows = np.where(tree.feature < 0, tree.n_rows, 0)
    for node in np.flatnonzero(tree.feature >= 0)[::-1]:
        leaf_rows[node] = leaf_rows[tree.left[node]] + leaf_rows[tree.right[node]]
    importances = replace(tree, n_rows=leaf_rows).to_sklearn().feature_importances_
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1)


def test_targets_far_from_zero_do_not_spoil_the_impurity(diabetes_tree):
    far = replace(diabetes_tree, predictive=diabetes_tree.predictive + 1e12)
    near = diabetes_tree.to_sklearn().tree_
    np.testing.assert_allclose(far.to_sklearn().tree_.impurity, near.impurity, rtol=1e-4)


def test_a_tree_that_knows_no_rows_counts_its_leaves():
    tree = stump(0.0)
    assert tree.to_sklearn().tree_.n_node_samples.tolist() == [2, 1, 1]


def test_trees_that_ask_for_labels_are_refused():
    tree = random_tree(np.random.default_rng(0), 20, kinds=["label"])
    with pytest.raises(InvalidModelError, match=r"cannot ask for labels, as this one does of 'ward', 'grade'; turn"):
        tree.to_sklearn()


def test_labels_that_the_tree_does_not_ask_for_do_not_matter():
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 5, kinds=["below"])
    assert_alike(tree, random_rows(rng, tree, 20, precision=np.float32))


# What others make of it


def test_it_can_be_pickled(haberman_tree):
    X = pd.DataFrame([[30.0, 60.0, 1.0], [70.0, np.nan, 20.0]], columns=haberman_tree.feature_names)
    again = pickle.loads(pickle.dumps(haberman_tree.to_sklearn()))
    assert again.predict_proba(X).tolist() == haberman_tree.predict_proba(X).tolist()


@pytest.mark.parametrize("name", ["haberman_tree", "diabetes_tree"])
def test_scikit_learn_can_draw_it(name, request):
    tree = request.getfixturevalue(name)
    figure = plt.figure(figsize=(12, 8))
    names = list(tree.feature_names)
    boxes = sklearn_plot_tree(tree.to_sklearn(), feature_names=names, filled=True, ax=figure.subplots())
    assert sum("samples" in box.get_text() for box in boxes) == tree.n_nodes
    assert boxes[0].get_text().startswith(f"{tree.feature_names[tree.feature[0]]} <= ")
    figure.savefig(io.BytesIO())
    plt.close(figure)


def test_scikit_learn_can_write_it(haberman_tree):
    text = export_text(haberman_tree.to_sklearn(), feature_names=list(haberman_tree.feature_names))
    assert text.count("class:") == haberman_tree.n_leaves
    assert text.startswith("|--- age <= 77.50")


def through_onnx(tree, rows):
    skl2onnx = pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    options = None if tree.classes is None else {"zipmap": False}
    estimator = tree.to_sklearn()
    tensor = skl2onnx.common.data_types.FloatTensorType([None, rows.shape[1]])
    model = skl2onnx.to_onnx(estimator, initial_types=[("X", tensor)], options=options)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


def near_thresholds(tree, n_rows):
    rng = np.random.default_rng(0)
    numeric = replace(tree, categories=(None,) * len(tree.feature_names))
    return random_rows(rng, numeric, n_rows, missing=0.0, precision=np.float32).astype(np.float32)


@pytest.mark.parametrize("name", ["haberman_tree", "iris", "random"])
def test_classifiers_go_through_onnx(name, request):
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        tree = bcart.BayesianTreeClassifier(max_depth=3).fit(X, y).tree_
    elif name == "random":
        tree = random_tree(np.random.default_rng(1), 60, kinds=["below"])
    else:
        tree = request.getfixturevalue(name)
    rows = near_thresholds(tree, 200)
    labels, chances = through_onnx(tree, rows)
    wide = rows.astype(float)
    assert labels.tolist() == tree.predict(wide).tolist()
    np.testing.assert_allclose(chances, tree.predict_proba(wide), atol=1e-6)


def test_regressors_go_through_onnx(diabetes_tree):
    rows = near_thresholds(diabetes_tree, 200)
    (expected,) = through_onnx(diabetes_tree, rows)
    np.testing.assert_allclose(expected[:, 0], diabetes_tree.predict(rows.astype(float)), rtol=1e-6)
