"""Which tests divide a box: cuts, labels and missing values, against lists made by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.tree import Tree

NAN = math.nan


def enumerate_column(values: list[float], **settings: object) -> EnumeratedPosterior:
    return enumerate_posterior(np.array(values)[:, None], np.arange(len(values)) % 2, **settings)


def first_tests(posterior: EnumeratedPosterior) -> list[tuple[int, float, int, bool, bool]]:
    """List the tests of the root in order, as feature, threshold, category, missing_left and saw_missing."""
    arrays = ("feature", "threshold", "category", "missing_left", "saw_missing")
    tests = [tuple(getattr(tree, name)[0].item() for name in arrays) for tree in posterior.trees[1:]]
    return list(dict.fromkeys((f, "label" if math.isnan(t) else t, *rest) for f, t, *rest in tests))


def counts_on_the_left(tree: Tree) -> list[float]:
    return tree.statistics[tree.left[0]].tolist()


# Missing values


def test_two_values_and_a_missing_one_have_seven_trees():
    posterior = enumerate_column([0.0, 1.0, NAN])
    # {N}|{0,1}, {N,0}|{1} and {0}|{1,N}: each leaves one pair, which can be divided in one way or not at all.
    assert (posterior.n_trees, posterior.n_boxes, posterior.n_splits) == (7, 7, 6)


def test_three_values_and_a_missing_one_have_28_trees():
    # Stop; N|012 5; N0|12 2*2; N01|2 7; 0|12N 7; 01|2N 2*2.
    assert enumerate_column([0.0, 1.0, 2.0, NAN]).n_trees == 1 + 5 + 4 + 7 + 7 + 4


def test_missing_comes_first_then_cuts_with_it_left_then_right():
    assert first_tests(enumerate_column([0.0, 1.0, 3.0, NAN])) == [
        (0, -math.inf, -1, True, True),
        (0, 0.5, -1, True, True),
        (0, 2.0, -1, True, True),
        (0, 0.5, -1, False, True),
        (0, 2.0, -1, False, True),
    ]


def test_one_value_and_a_missing_one_have_one_test():
    posterior = enumerate_column([5.0, NAN])
    assert first_tests(posterior) == [(0, -math.inf, -1, True, True)]
    assert counts_on_the_left(posterior.trees[1]) == [0, 1]  # the missing one


def test_missing_values_are_one_cell():
    assert enumerate_column([NAN, NAN, NAN]).n_trees == 1
    assert enumerate_column([NAN, 1.0, NAN, 1.0]).n_trees == 2


def test_only_boxes_with_missing_values_learn_where_they_go():
    trees = enumerate_column([0.0, 1.0, NAN]).trees
    (tree,) = (tree for tree in trees if tree.threshold[0] == -math.inf and tree.n_leaves == 3)
    assert tree.saw_missing.tolist() == [True, False, False, False, False]
    assert tree.threshold[2] == 0.5


def test_the_heavier_side_takes_missing_values_that_were_never_seen():
    def goes_left(*weights: float) -> bool:
        tree = enumerate_column([0.0, 1.0], sample_weight=weights, min_samples_leaf=0.01).trees[1]
        assert not tree.saw_missing[0]
        return bool(tree.missing_left[0])

    assert (goes_left(2, 1), goes_left(1, 2), goes_left(1, 1)) == (True, False, True)
    assert (goes_left(1, 1 + 1e-12), goes_left(1, 1 + 1e-6)) == (True, False)  # equal up to rounding


def test_rows_without_weight_have_no_missing_values():
    posterior = enumerate_column([0.0, 1.0, NAN], sample_weight=[1, 1, 0])
    assert first_tests(posterior) == [(0, 0.5, -1, True, False)]


def test_missing_values_may_divide_a_box_like_an_earlier_feature():
    assert first_tests(enumerate_posterior([[0.0, NAN], [1.0, 5.0]], [0, 1])) == [(0, 0.5, -1, True, False)]
    assert first_tests(enumerate_posterior([[NAN, 0.0], [1.0, 5.0]], [0, 1])) == [(0, -math.inf, -1, True, True)]


# Labels


@pytest.mark.parametrize(("n_labels", "n_trees"), [(1, 1), (2, 2), (3, 7), (4, 29), (5, 146)])
def test_labels_split_off_one_by_one(n_labels, n_trees):
    # T(n) = 1 + n T(n - 1) from three labels on; of two, either against the other is the same split.
    assert enumerate_column([float(label) for label in range(n_labels)], nominal=[0]).n_trees == n_trees


def test_labels_have_no_order_but_that_of_the_list():
    posterior = enumerate_column([9.0, -2.0, 4.0], nominal=[0])
    assert first_tests(posterior) == [(0, "label", place, False, True) for place in range(3)]
    assert posterior.map_tree.categories == ((-2.0, 4.0, 9.0),)
    assert counts_on_the_left(posterior.trees[1]) == [0, 1]  # -2.0, the second row, whose class is 1


def test_of_two_labels_the_first_is_asked_for():
    assert first_tests(enumerate_column([9.0, -2.0], nominal=[0])) == [(0, "label", 0, False, True)]


def test_places_of_labels_are_those_in_all_rows():
    # Once -2.0 is split off, the pair of 4.0 and 9.0 asks for 4.0 by its place among the three.
    trees = enumerate_column([9.0, -2.0, 4.0], nominal=[0]).trees
    assert {tuple(tree.category) for tree in trees if tree.category[0] == 0} == {(0, -1, -1), (0, -1, 1, -1, -1)}


def test_missing_labels_go_with_the_rest():
    posterior = enumerate_column([1.0, 2.0, NAN], nominal=[0])
    # N|12, 1|2N, 2|1N: each leaves a pair.
    assert (posterior.n_trees, posterior.n_boxes, posterior.n_splits) == (7, 7, 6)
    assert first_tests(posterior) == [
        (0, -math.inf, -1, True, True),
        (0, "label", 0, False, True),
        (0, "label", 1, False, True),
    ]


def test_labels_of_rows_without_weight_are_not_known():
    posterior = enumerate_column([1.0, 2.0, 3.0], nominal=[0], sample_weight=[1, 0, 1])
    assert posterior.map_tree.categories == ((1.0, 3.0),)


def test_numbers_and_labels_share_the_list():
    posterior = enumerate_posterior([[0.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 7.0]], [0, 1, 0, 1], nominal=[1])
    # As cells 0 to 3: the cuts are 0|123 and 01|23; the labels 5: 02|13, 6: 1|023, 7: 3|012.
    assert first_tests(posterior) == [
        (0, 0.5, -1, False, False),
        (0, 1.5, -1, True, False),
        (1, "label", 0, False, True),
        (1, "label", 1, False, True),
        (1, "label", 2, False, True),
    ]
    assert posterior.map_tree.categories == (None, (5.0, 6.0, 7.0))


# Where queries go


def test_queries_follow_the_test_of_the_only_split():
    def p_left(values: list[float], query: float, **settings: object) -> float:
        """Return how sure the tree of one split is of class 0; the first row alone has it, and goes left."""
        tree = enumerate_posterior(np.array(values)[:, None], [0, 1, 1][: len(values)], **settings).trees[1]
        return tree.predict_proba([[query]])[0, 0]

    left, right = 2 / 3, 1 / 4
    assert p_left([0.0, 1.0, 1.0], NAN) == right  # the heavier side
    assert p_left([0.0, 1.0, 1.0], -1e9) == left
    assert p_left([0.0, 1.0, 1.0], 0.5) == right
    assert p_left([NAN, 1.0, 1.0], NAN) == left
    assert p_left([NAN, 1.0, 1.0], -1e9) == right
    assert p_left([4.0, 7.0, 7.0], 4.0, nominal=[0]) == left
    assert p_left([4.0, 7.0, 7.0], 0.0, nominal=[0]) == right  # a label like the place of the first, but never seen
    assert p_left([4.0, 7.0, 7.0], NAN, nominal=[0]) == right
