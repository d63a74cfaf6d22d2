"""One tree, made and read by hand."""

import copy
import dataclasses
import pickle
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

import bcart
from bcart import InvalidDataError, InvalidModelError, Tree

# age < 30.5 ? old enough : (fare < 7 ? ... : ...), in preorder
HAND = {
    "feature": [1, -1, 0, -1, -1],
    "threshold": [30.5, np.nan, 7.0, np.nan, np.nan],
    "left": [1, -1, 3, -1, -1],
    "right": [2, -1, 4, -1, -1],
    "statistics": [[5, 6], [4, 0], [1, 6], [1, 1], [0, 5]],
    "predictive": [[6 / 13, 7 / 13], [5 / 6, 1 / 6], [2 / 9, 7 / 9], [0.5, 0.5], [1 / 7, 6 / 7]],
    "feature_names": ("fare", "age"),
    "classes": np.array(["lived", "died"]),
}


def make(**changes):
    return Tree(**{**HAND, **changes})


def leaf(**changes):
    only = {name: HAND[name][1:2] for name in ("feature", "threshold", "left", "right", "statistics", "predictive")}
    return make(**{**only, **changes})


def test_a_tree_knows_its_size():
    assert (make().n_nodes, make().n_leaves, make().depth) == (5, 3, 2)
    assert (leaf().n_nodes, leaf().n_leaves, leaf().depth) == (1, 1, 0)


def test_rows_go_left_when_they_are_below_the_threshold():
    rows = [[0, 30.4], [0, 30.5], [7, 30.5], [6.999, 99], [1e300, -1e300], [1e300, 1e300], [-1e300, 1e300]]
    assert make().apply(rows).tolist() == [1, 3, 4, 3, 1, 4, 3]


def test_predictions_are_those_of_the_leaf_and_the_first_of_equals():
    rows = [[0, 0], [0, 40], [9, 40]]
    assert make().predict_proba(rows).tolist() == [HAND["predictive"][i] for i in (1, 3, 4)]
    assert make().predict(rows).tolist() == ["lived", "lived", "died"]


def test_a_tree_that_is_a_leaf_says_the_same_of_every_row():
    assert leaf().apply([[1, 2], [3, 4]]).tolist() == [0, 0]
    assert leaf().predict([[1, 2], [3, 4]]).tolist() == ["lived", "lived"]


def test_no_rows_have_no_predictions():
    assert make().predict(np.empty((0, 2))).shape == (0,)


def follow(tree, row):
    """The leaf of one row, by walking down."""
    node = 0
    while tree.feature[node] >= 0:
        goes_left = row[tree.feature[node]] < tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


@given(st.integers(0, 2**32 - 1))
def test_all_rows_at_once_fall_where_each_would_alone(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (12, 3)), rng.integers(0, 2, 12)
    tree = bcart.BayesianTreeClassifier(log_phi=-3.0, n_jobs=1).fit(X, y).posterior_.sample(1, seed)[0]
    queries = rng.normal(1.5, 2.0, (20, 3))
    assert tree.apply(queries).tolist() == [follow(tree, row) for row in queries]


def test_a_tree_prints_as_questions_and_answers():
    text = """\
        Tree with 3 leaves, depth 2, posterior probability 0.25
        age < 30.5
        ├─ yes: lived  p=0.833  (lived: 4, died: 0)
        └─ no:  fare < 7
           ├─ yes: lived  p=0.500  (lived: 1, died: 1)
           └─ no:  died  p=0.857  (lived: 0, died: 5)"""
    assert str(make(log_probability=np.log(0.25))) == textwrap.dedent(text)


def test_branches_on_the_left_keep_their_line():
    text = """\
        Tree with 3 leaves, depth 2
        age < 30.5
        ├─ yes: fare < 7
        │  ├─ yes: lived  p=0.500  (lived: 1, died: 1)
        │  └─ no:  died  p=0.857  (lived: 0, died: 5)
        └─ no:  lived  p=0.833  (lived: 4, died: 0)"""
    order = [0, 2, 3, 4, 1]
    arrays = {name: np.array(HAND[name])[order] for name in ("feature", "threshold", "statistics", "predictive")}
    assert str(make(**arrays, left=[1, 2, -1, -1, -1], right=[4, 3, -1, -1, -1])) == textwrap.dedent(text)


def test_counts_are_shown_in_full_and_so_are_fractions():
    assert str(leaf(statistics=[[0.25, 1234567]])).endswith("(lived: 0.25, died: 1,234,567)")


def test_three_classes_show_all_probabilities_and_many_only_the_most_probable():
    three = leaf(statistics=[[1, 2, 0]], predictive=[[0.3, 0.5, 0.2]], classes=["a", "b", "c"])
    assert str(three).endswith("b  p=0.500  (a: 1, b: 2, c: 0; p = 0.300, 0.500, 0.200)")
    chances = np.full((1, 40), 0.01)
    chances[0, 7] = 0.61
    many = leaf(statistics=np.zeros((1, 40)), predictive=chances, classes=np.arange(40))
    assert str(many).endswith("7  p=0.610  (0: 0, 1: 0, 2: 0, 3: 0, 7: 0; p = 0.010, 0.010, 0.010, 0.010, 0.610, …)")


# Labels, missing values, numbers to predict

# port is S ? A : (age is missing ? B : (age < 30 or missing ? C : D))
MIXED = {
    "feature": [1, -1, 0, -1, 0, -1, -1],
    "threshold": [np.nan, np.nan, -np.inf, np.nan, 30.0, np.nan, np.nan],
    "left": [1, -1, 3, -1, 5, -1, -1],
    "right": [2, -1, 4, -1, 6, -1, -1],
    "category": [1, -1, -1, -1, -1, -1, -1],
    "missing_left": [False, False, True, False, True, False, False],
    "saw_missing": [False, False, True, False, True, False, False],
    "statistics": np.zeros((7, 3)),
    "predictive": np.arange(7.0)[:, None],
    "n_rows": [60, 20, 40, 10, 30, 1000, 29.5],
    "std": np.full(7, 0.25),
    "feature_names": ("age", "port"),
    "categories": (None, ("C", "S")),
}


def test_labels_and_missing_values_go_where_the_questions_send_them():
    rows = [[50.0, "S"], [None, "C"], [29.0, "C"], [30.0, "C"], [50.0, None], [50.0, "never"], [np.nan, None]]
    tree = Tree(**MIXED)
    assert tree.apply(rows).tolist() == [1, 3, 5, 6, 6, 6, 3]
    assert tree.predict(rows).tolist() == [1.0, 3.0, 5.0, 6.0, 6.0, 6.0, 3.0]


def test_questions_about_labels_and_missing_values_print_as_such():
    text = """\
        Tree with 4 leaves, depth 3
        port is S
        ├─ yes: 1 ± 0.25  (n = 20)
        └─ no:  age is missing
           ├─ yes: 3 ± 0.25  (n = 10)
           └─ no:  age < 30 or missing
              ├─ yes: 5 ± 0.25  (n = 1,000)
              └─ no:  6 ± 0.25  (n = 29.5)"""
    assert str(Tree(**MIXED)) == textwrap.dedent(text)


def test_where_missing_values_go_is_told_only_if_the_data_said_so():
    unsaid = Tree(**{**MIXED, "saw_missing": [False] * 7})
    assert "age < 30\n" in str(unsaid)
    assert "age is missing" in str(unsaid)


@pytest.mark.parametrize(
    "change",
    [
        {"category": [0, -1, -1, -1, -1, -1, -1]},
        {"missing_left": [False, False, True, False, False, False, False]},
        {"threshold": [np.nan, np.nan, -np.inf, np.nan, 31.0, np.nan, np.nan]},
    ],
)
def test_trees_that_ask_something_else_are_not_equal(change):
    assert Tree(**{**MIXED, **change}) != Tree(**MIXED)
    assert Tree(**{**MIXED, "std": np.zeros(7)}) == Tree(**MIXED)


def test_trees_are_equal_when_they_ask_for_the_same_labels_whatever_their_places():
    more = {**MIXED, "categories": (None, ("A", "C", "S"))}
    assert Tree(**more) != Tree(**MIXED)
    same = Tree(**{**more, "category": [2, -1, -1, -1, -1, -1, -1]})
    assert same == Tree(**MIXED)
    assert hash(same) == hash(Tree(**MIXED))


def test_a_regression_tree_has_no_class_probabilities():
    with pytest.raises(InvalidModelError, match="use predict"):
        Tree(**MIXED).predict_proba([[1.0, "S"]])


def test_a_copy_of_a_mixed_tree_asks_the_same():
    again = pickle.loads(pickle.dumps(Tree(**MIXED)))
    assert again == Tree(**MIXED)
    assert str(again) == str(Tree(**MIXED))


# What is no tree


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": [1.0]},
        {"feature": [9, -1, 1, -1, -1]},
        {"left": [2, -1, 3, -1, -1]},
        {"right": [9, -1, 4, -1, -1]},
    ],
)
def test_arrays_that_are_no_tree_are_refused(wrong):
    with pytest.raises(InvalidModelError, match="preorder"):
        make(**wrong)


NO_NUMBERS = ["text", ["a"] * 5, [[1], [1, 2], [3], [4], [5]], 5, [10**400] * 5, {}, [[1]] * 4]
ARRAY_NAMES = ("feature", "threshold", "left", "right", "statistics", "predictive")
MORE_NAMES = ("category", "missing_left", "saw_missing", "n_rows", "std")


@pytest.mark.parametrize("wrong", NO_NUMBERS)
@pytest.mark.parametrize("name", [*ARRAY_NAMES, *MORE_NAMES])
def test_what_is_no_array_of_numbers_with_an_entry_a_node_makes_no_tree(name, wrong):
    with pytest.raises(InvalidModelError):
        make(**{name: wrong})


@pytest.mark.parametrize("name", ["feature", "left", "right", "category"])
@pytest.mark.parametrize("wrong", [0.5, np.nan, 2.0**40, 2**40])
def test_numbers_that_would_have_to_be_changed_make_no_tree(name, wrong):
    for values in ([wrong] * 5, np.full(5, wrong)):
        with pytest.raises(InvalidModelError, match=f"{name} must be numbers"):
            make(**{name: values})


@pytest.mark.parametrize(
    "wrong",
    [
        {"feature_names": "ab"},
        {"feature_names": 2},
        {"feature_names": None},
        {"classes": "lived"},
        {"classes": 5},
        {"classes": [["died"], ["lived", "or not"]]},
        {"classes": [["died"], ["lived"]]},
        {"categories": 5},
        {"categories": None},
        {"categories": (5, None)},
        {"categories": ("ab", None)},
        {"leaf": 5},
        {"leaf": bcart.DirichletLeaf},
    ],
)
def test_names_labels_and_leaves_that_are_none_make_no_tree(wrong):
    with pytest.raises(InvalidModelError):
        make(**wrong)


def test_the_short_form_names_size_and_probability():
    assert repr(make(log_probability=np.log(0.5))) == "<Tree: 3 leaves, depth 2, posterior probability 0.5>"
    assert repr(leaf()) == "<Tree: 1 leaf, depth 0>"


def test_trees_are_equal_when_they_make_the_same_tests_in_the_same_places():
    tree, twin = make(), make(statistics=np.zeros((5, 2)), log_probability=-1.0)
    assert tree == twin
    assert hash(tree) == hash(twin)
    assert {tree: "found"}[twin] == "found"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(leaf(), id="another size"),
        pytest.param(make(feature=[0, -1, 0, -1, -1]), id="another feature"),
        pytest.param(make(threshold=[30.5, np.nan, 8.0, np.nan, np.nan]), id="another threshold"),
        pytest.param(
            make(
                feature=[1, 0, -1, -1, -1],
                threshold=[30.5, 7.0, np.nan, np.nan, np.nan],
                left=[1, 2, -1, -1, -1],
                right=[4, 3, -1, -1, -1],
            ),
            id="another place",
        ),
        "a text",
        None,
    ],
)
def test_other_trees_and_other_things_are_not_equal(other):
    assert make() != other
    assert other != make()


def test_nobody_can_change_a_tree():
    tree = make()
    with pytest.raises(dataclasses.FrozenInstanceError):
        tree.feature = np.zeros(5)
    for name in ("feature", "threshold", "left", "right", "statistics", "predictive", "classes"):
        array = getattr(tree, name)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_nobody_can_change_a_copy_of_a_tree(duplicate):
    tree = duplicate(make())
    for name in (*ARRAY_NAMES, *MORE_NAMES, "classes"):
        assert not getattr(tree, name).flags.writeable


def test_what_a_tree_has_computed_is_not_in_its_pickle():
    tree = make()
    size = len(pickle.dumps(tree))
    assert (hash(tree), tree.depth, len(pickle.dumps(tree))) == (hash(make()), 2, size)


def test_changing_what_a_tree_was_made_from_does_not_change_it():
    thresholds, classes = np.array(HAND["threshold"]), np.array(["lived", "died"])
    tree = make(threshold=thresholds, classes=classes)
    thresholds[0], classes[0] = 99.0, "x"
    assert tree == make()
    assert tree.predict([[0.0, 0.0]]).tolist() == ["lived"]


def test_classes_may_be_given_as_a_list():
    assert make(classes=["lived", "died"]).predict([[0.0, 0.0]]).tolist() == ["lived"]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_are_equal_and_predict_alike(duplicate):
    tree = make(log_probability=-2.0)
    again = duplicate(tree)
    assert again == tree
    assert hash(again) == hash(tree)
    assert str(again) == str(tree)
    assert again.predict([[0, 0], [9, 40]]).tolist() == tree.predict([[0, 0], [9, 40]]).tolist()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([1.0, 2.0], r"X must have rows and columns, but its shape is \(2,\)"),
        ([[1.0]], "X has 1 columns, expected 2: fare, age"),
        ([[1.0, 2.0, 3.0]], "X has 3 columns, expected 2: fare, age"),
        ([[1.0, np.inf]], r"'age' contains inf \(row 0\); clip"),
        ([["a", "b"]], r"'fare' contains 'a' \(row 0\), which is no number"),
        ([[1.0], [1.0, 2.0]], "X must be a table with rows and columns"),
    ],
)
def test_rows_that_make_no_sense_are_refused(rows, said):
    with pytest.raises(InvalidDataError, match=said):
        make().predict(rows)


def test_intervals_are_quantiles_of_what_a_leaf_believes():
    tree = make(leaf=bcart.DirichletLeaf((1.0, 1.0)))
    low, high = tree.interval(0.9)
    counts = np.array(HAND["statistics"]) + 1
    np.testing.assert_allclose(low[:, 1], beta.ppf(0.05, counts[:, 1], counts[:, 0]))
    np.testing.assert_allclose(high[:, 0], beta.ppf(0.95, counts[:, 0], counts[:, 1]))


def test_intervals_of_the_best_tree_are_those_of_predictions_by_it():
    X = np.arange(40.0)[:, None]
    posterior = bcart.BayesianTreeRegressor().fit(X, 1000 + X[:, 0] // 10 + np.sin(X[:, 0])).posterior_
    tree, sure = posterior.map_tree(), posterior.uncertainty(X, predictor="map")
    low, high = tree.interval()
    np.testing.assert_allclose(low[tree.apply(X)], sure.low)
    np.testing.assert_allclose(high[tree.apply(X)], sure.high)


def test_a_tree_made_by_hand_is_not_sure_of_anything():
    with pytest.raises(InvalidModelError, match="no leaf model"):
        make().interval()
