"""What targets, and rows of weight zero, mean for the cost of a fit."""

from dataclasses import replace

import numpy as np
import pytest

import bcart

X = np.random.default_rng(0).integers(0, 2, (100, 20))
Y = X[:, 0] ^ X[:, 1]


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_each_class_takes_eight_bytes_a_box_and_ten_for_a_copy(n_classes):
    two, more = (bcart.estimate_cost(X, np.arange(100) % n, max_depth=2).all_trees for n in (2, n_classes))
    assert more.n_bytes - two.n_bytes == 18 * (n_classes - 2) * two.n_boxes


def test_a_number_takes_three_statistics_as_its_leaves_do():
    y = np.linspace(0.0, 1.0, 100) ** 2
    cells = bcart.BayesianTreeRegressor(max_depth=1).fit(X, y).posterior_.graph.cells
    number, three = (bcart.estimate_cost(X, target, max_depth=2).all_trees for target in (y, np.arange(100) % 3))
    assert cells.statistics.shape[1] == 3
    assert number.n_bytes == three.n_bytes


def test_text_is_as_good_as_numbers_for_classes():
    named = bcart.estimate_cost(X, np.where(Y, "odd", "even"), max_depth=3).all_trees
    assert named.n_bytes == bcart.estimate_cost(X, Y, max_depth=3).all_trees.n_bytes


def test_numbers_are_numbers_also_as_objects():
    y = np.arange(100) + 0.5
    same = [bcart.estimate_cost(X[:, :3], targets).all_trees for targets in (y, y.astype(object), y.tolist())]
    assert len({(cost.n_boxes, cost.n_bytes) for cost in same}) == 1


def test_as_many_targets_as_rows():
    with pytest.raises(bcart.InvalidDataError, match="one target for each of 100 rows"):
        bcart.estimate_cost(X, Y[:50])


@pytest.mark.parametrize("y", [None, 1, X, [[1], [1, 2]]], ids=["none", "a number", "a table", "ragged"])
def test_targets_that_are_not_a_column_are_invalid_data(y):
    with pytest.raises(bcart.InvalidDataError):
        bcart.estimate_cost(X, y)


def test_targets_that_cannot_be_told_apart_are_invalid_data():
    with pytest.raises(bcart.InvalidDataError, match="labels or numbers"):
        bcart.estimate_cost([[0.0], [1.0]], np.array([[1], None], dtype=object))


def test_rows_of_weight_zero_cost_nothing():
    weights = np.repeat([0.0, 1.0], 50)
    absent = bcart.estimate_cost(X, Y, sample_weight=weights, min_samples_leaf=0.5)
    left_out = bcart.estimate_cost(X[50:], Y[50:])
    assert (absent.all_trees.n_boxes, absent.all_trees.n_splits) == (
        left_out.all_trees.n_boxes,
        left_out.all_trees.n_splits,
    )


def test_rows_of_weight_zero_may_have_labels_gaps_and_classes_of_their_own():
    y, absent = [0, 1, 1], [["never", 1.0], ["a", None]]
    rows = np.array([["a", 1.0], ["b", 2.0], ["a", 3.0], *absent], dtype=object)
    weights = [1, 1, 1, 0, 0]
    cost = bcart.estimate_cost(rows, [*y, 2, 3], sample_weight=weights, categorical_features=[0])
    left_out = bcart.estimate_cost(rows[:3], y, categorical_features=[0])
    assert [replace(part, seconds=0.0) for part in cost.by_depth] == [
        replace(part, seconds=0.0) for part in left_out.by_depth
    ]
