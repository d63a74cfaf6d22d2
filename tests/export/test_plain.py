"""Trees as JSON, and back."""

import copy
import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bcart
from bcart import FormatError, InvalidModelError, NormalLeaf, Tree
from bcart.export.plain import FORMAT, VERSION
from bcart.leaves import leaf_from_dict, leaf_to_dict
from bcart.testing.both import compute
from bcart.testing.strategies import problems
from bcart.testing.trees import random_rows, random_tree

ARRAYS = ("feature", "threshold", "left", "right", "statistics", "predictive", "category", "missing_left")
ARRAYS += ("saw_missing", "n_rows", "std", "log_probability")


def assert_same(again, tree):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(tree, name), err_msg=name)
    assert again == tree
    assert str(again) == str(tree)
    assert again.feature_names == tree.feature_names
    assert again.categories == tree.categories
    assert [[type(label) for label in labels or ()] for labels in again.categories] == [
        [type(label) for label in labels or ()] for labels in tree.categories
    ]
    assert again.leaf == tree.leaf


@given(problems(log_phi=st.just(-3.0)), st.integers(0, 100))
def test_trees_of_every_family_come_back_with_everything_they_know(problem, seed):
    for tree in compute(problem).sample(2, seed):
        again = Tree.from_json(tree.to_json())
        assert_same(again, tree)
        np.testing.assert_array_equal(again.interval(), tree.interval())
        assert_same(Tree.from_dict(tree.to_dict()), tree)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_trees_made_by_hand_come_back_and_predict_the_same(seed, n_leaves):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_leaves)
    again = Tree.from_json(tree.to_json(indent=2))
    assert_same(again, tree)
    rows = random_rows(rng, tree, 20)
    assert again.predict(rows).tolist() == tree.predict(rows).tolist()


def leaf_for(classes):
    n = len(classes)
    return Tree([-1], [np.nan], [-1], [-1], np.ones((1, n)), np.full((1, n), 1 / n), ("x",), classes)


@pytest.mark.parametrize(
    "classes",
    [
        ["no", "yes"],
        np.array(["no", "yes"], dtype=object),
        [0, 1],
        np.array([0, 7], dtype=np.uint8),
        [False, True],
        [0.1, 2.0],
        np.array([0.1, 2.0], dtype=np.float32),
        np.array([1, "one", 1.5, True], dtype=object),
        ["", 'with "quotes"', "日本", "a\nb"],
    ],
)
def test_classes_keep_their_values_and_types(classes):
    tree = leaf_for(classes)
    again = Tree.from_json(tree.to_json())
    assert again.classes.dtype == tree.classes.dtype
    assert [(type(c), c) for c in again.classes.tolist()] == [(type(c), c) for c in tree.classes.tolist()]


@pytest.mark.parametrize("label", [np.datetime64("2026-01-01"), b"bytes", (1, 2), float("inf"), 1j])
def test_labels_that_json_does_not_have_are_refused(label):
    feature = {"feature_names": ("x",), "categories": ((label,),)}
    with pytest.raises(InvalidModelError, match="cannot be written; use text, numbers or truth values"):
        Tree([-1], [np.nan], [-1], [-1], [[1.0]], [[1.0]], **feature).to_json()


def test_classes_that_json_does_not_have_are_refused():
    with pytest.raises(InvalidModelError, match=r"datetime64\[D\] cannot be written"):
        leaf_for(np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")).to_dict()


def test_the_json_is_json_and_says_what_it_is():
    def refuse(name):
        raise AssertionError(name)

    tree = Tree([-1], [np.nan], [-1], [-1], [[np.inf]], [[-np.inf]], ("x",))
    record = json.loads(tree.to_json(), parse_constant=refuse)
    assert (record["format"], record["version"]) == (FORMAT, VERSION) == ("bcart.tree", 1)
    assert record["root"] == {"n_rows": None, "statistics": ["inf"], "predictive": ["-inf"], "std": None}
    assert_same(Tree.from_dict(record), tree)


def test_a_tree_that_is_as_deep_as_long_comes_back():
    n = 400
    n_nodes = 2 * n + 1
    is_split = np.arange(n_nodes) % 2 == 0
    is_split[-1] = False
    nodes = np.arange(n_nodes)
    tree = Tree(
        feature=np.where(is_split, 0, -1),
        threshold=np.where(is_split, nodes, np.nan),
        left=np.where(is_split, nodes + 1, -1),
        right=np.where(is_split, nodes + 2, -1),
        statistics=np.zeros((n_nodes, 1)),
        predictive=np.zeros((n_nodes, 1)),
        feature_names=("x",),
    )
    assert_same(Tree.from_json(tree.to_json()), tree)


# What is no tree


@pytest.fixture
def record():
    return random_tree(np.random.default_rng(3), 6).to_dict()


def test_the_record_itself_is_read(record):
    assert Tree.from_dict(record).n_leaves == 6


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r.pop("format"), '"format"'),
        (lambda r: r.update(format="sklearn"), '"format"'),
        (lambda r: r.update(version=2), "version 2, this bcart reads 1"),
        (lambda r: r.pop("version"), "version None"),
        (lambda r: r.pop("root"), "no 'root'"),
        (lambda r: r.pop("features"), "no 'features'"),
        (lambda r: r.update(root=[]), "nested"),
        (lambda r: r["root"].update(left=r["root"]), "nested"),
        (lambda r: r["root"].update(left=r["root"]["right"]), "nested"),
        (lambda r: r["root"].pop("right"), "no 'right'"),
        (lambda r: r["root"].update(statistics=[1.0]), "inhomogeneous|damaged"),
        (lambda r: r["root"].update(predictive=["a", "b", "c"]), "'a' stands where a number"),
        (lambda r: r["root"].update(n_rows=True), "True stands where a number"),
        (lambda r: r["root"].update(n_rows="12"), "'12' stands where a number"),
        (lambda r: r["root"].update(statistics=7), "7 stands where a list"),
        (lambda r: r["root"]["test"].update(feature=9), "preorder"),
        (lambda r: r["root"]["test"].update(feature=-1), "-1 stands where the place"),
        (lambda r: r["root"]["test"].update(feature=10**30), "damaged"),
        (lambda r: r["root"]["test"].update(kind="above"), "'above', which is not known"),
        (lambda r: r["root"]["test"].update(kind="label", label=99), "node 0 must ask"),
        (lambda r: r["root"]["test"].update(kind="label", label=1.5), "1.5 stands where the place"),
        (lambda r: r["root"]["test"].update(kind="below", feature=0, threshold=None), "node 0 must ask"),
        (lambda r: r["root"]["test"].update(kind="missing", missing_left=False), "node 0 must ask"),
        (lambda r: r["root"]["test"].update(missing_left=1), "1 stands where true or false"),
        (lambda r: r["root"].update(test="age < 3"), "damaged"),
        (lambda r: r.update(features=[{"name": "x", "labels": None}]), "preorder|node"),
        (lambda r: r["features"][0].update(name=5), "not all text"),
        (lambda r: r["features"][3].update(labels="abc"), "'abc' stands where a list of labels"),
        (lambda r: r["features"][3].update(labels=[None]), "cannot be written"),
        (lambda r: r.update(classes=["a", "b"]), "preorder"),
        (lambda r: r.update(classes_dtype="int64"), "damaged|not all of type"),
        (lambda r: r.update(classes_dtype="O8,f4"), "not known"),
        (lambda r: r.update(classes=[1, 2, 3.5], classes_dtype="int64"), "not all of type int64"),
        (lambda r: r.update(classes=[1, 2, 300], classes_dtype="uint8"), "damaged|not all of type"),
        (lambda r: r.update(leaf="dirichlet"), "not as 'dirichlet'"),
        (lambda r: r.update(leaf={"family": "cauchy"}), "no leaf model of the family 'cauchy'"),
        (lambda r: r.update(leaf={"family": "dirichlet", "alpha": [1.0]}), "statistics"),
        (lambda r: r.update(leaf={"family": "dirichlet", "alpha": [1.0, -1.0, 1.0]}), "must be positive"),
        (lambda r: r.update(log_probability=[]), "stands where a number"),
        (lambda r: r.update(log_probability=0.5), "must not be positive"),
    ],
)
def test_damaged_records_are_refused(record, change, said):
    change(record)
    with pytest.raises(FormatError, match=said):
        Tree.from_dict(record)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "7", '{"format": NaN}', "[" * 100_000, b"\xff\xfe\xff", "1" * 9999]
)
def test_text_that_is_no_tree_is_refused(text):
    with pytest.raises(FormatError):
        Tree.from_json(text)


STRANGERS = [None, True, -1, 0, 5, 1e300, "inf", "x", [], {}, [1.0], [["a"]], {"a": 1}]


@given(st.data())
def test_whatever_is_changed_is_read_as_a_tree_or_refused(data):
    """No change of one place makes anything but a tree or a FormatError."""
    record = random_tree(np.random.default_rng(data.draw(st.integers(0, 20))), 3).to_dict()
    place = record
    while isinstance(place, (dict, list)) and place:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()) or not isinstance(place[key], (dict, list)):
            place[key] = data.draw(st.sampled_from(STRANGERS))
            break
        place = place[key]
    try:
        tree = Tree.from_dict(copy.deepcopy(record))
    except FormatError:
        return
    assert_same(Tree.from_json(tree.to_json()), tree)


# Leaf models


@dataclass(frozen=True)
class OwnLeaf(NormalLeaf):
    """Borrows the family's name."""

    unit: str = "mm"


class NoRecord(bcart.PoissonLeaf):
    """Has a parameter that JSON does not have."""

    def __init__(self):
        object.__setattr__(self, "shape", np.ones(3))
        object.__setattr__(self, "rate", 1.0)


@pytest.mark.parametrize(
    "leaf",
    [
        bcart.DirichletLeaf((1.0, 0.25, 3.0)),
        NormalLeaf(1.0, 0.5, 1.5, 2.0, 0.7),
        bcart.PoissonLeaf(0.1, 1e-9),
        OwnLeaf(prior_mean=3.0, unit="cm"),
    ],
)
def test_leaf_models_come_back_equal_and_of_their_class(leaf):
    again = leaf_from_dict(json.loads(json.dumps(leaf_to_dict(leaf))))
    assert again == leaf
    assert type(again) is type(leaf)


def test_a_leaf_model_that_json_cannot_hold_is_refused():
    with pytest.raises(InvalidModelError, match="shape of NoRecord is array"):
        leaf_to_dict(NoRecord())


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"family": None},
        {"family": "normal", "class": "NeverMade"},
        {"family": "normal", "prior_mean": "0"},
        {"family": "normal", "colour": 1.0},
        {"family": "dirichlet", "alpha": ["1.0", "2.0"]},
        {"family": "dirichlet", "alpha": 1.0},
        {"family": "dirichlet", "alpha": [[1.0]]},
        {"family": "dirichlet"},
        {"family": "poisson", "shape": float("nan"), "rate": 1.0},
        {"family": "poisson", "shape": 10**400, "rate": 1.0},
        {"family": ["normal"]},
    ],
)
def test_records_of_no_leaf_model_are_refused(record):
    with pytest.raises(FormatError):
        leaf_from_dict(record)
