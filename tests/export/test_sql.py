"""Trees as SQL, asked of DuckDB."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcart import InvalidModelError, Tree
from bcart.testing.both import compute
from bcart.testing.strategies import problems, queries
from bcart.testing.trees import random_rows, random_tree

connection = pytest.importorskip("duckdb").connect()


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def ask(expressions, rows, names, types):
    """The values of expressions for each row of a table, of which NULL is what is missing."""
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in zip(names, types, strict=True))
    connection.execute(f"CREATE OR REPLACE TABLE data (place INTEGER, {columns})")
    marks = ", ".join("?" * (1 + len(names)))
    for place, row in enumerate(rows):
        known = [None if value is None or value != value else value for value in row]
        connection.execute(f"INSERT INTO data VALUES ({marks})", [place, *known])
    answers = connection.execute(f"SELECT {', '.join(expressions)} FROM data ORDER BY place").fetchall()
    return list(zip(*answers, strict=True))


MIXED = ["DOUBLE", "DOUBLE", "DOUBLE", "VARCHAR", "INTEGER"]


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 7, 20, 60])
def test_sql_answers_as_the_tree_does(n_leaves):
    rng = np.random.default_rng(n_leaves)
    tree = random_tree(rng, n_leaves)
    rows = random_rows(rng, tree, 150)
    expressions = [tree.to_sql(), *(tree.to_sql(probability_of=label) for label in tree.classes)]
    labels, *chances = ask(expressions, rows, tree.feature_names, MIXED)
    assert list(labels) == tree.predict(rows).tolist()
    assert np.column_stack(chances).tolist() == tree.predict_proba(rows).tolist()


@pytest.mark.parametrize("n_leaves", [1, 4, 20])
def test_sql_expects_what_a_regression_tree_does(n_leaves):
    rng = np.random.default_rng(n_leaves)
    tree = random_tree(rng, n_leaves, classes=None)
    rows = random_rows(rng, tree, 100)
    (answers,) = ask([tree.to_sql()], rows, tree.feature_names, MIXED)
    assert list(answers) == tree.predict(rows).tolist()


@given(st.data())
def test_sql_answers_as_trees_of_the_posterior_do(data):
    problem = data.draw(problems(log_phi=st.just(-3.0)))
    tree = compute(problem).sample(1, data.draw(st.integers(0, 9)))[0]
    rows = data.draw(queries(problem, max_rows=12))
    (answers,) = ask([tree.to_sql()], rows.tolist(), tree.feature_names, ["DOUBLE"] * rows.shape[1])
    assert list(answers) == tree.predict(rows).tolist()


def test_columns_of_single_precision_and_of_whole_numbers_are_compared_exactly():
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 40, kinds=["below"])
    rows = random_rows(rng, tree, 200, precision=np.float32)[:, :3]
    rows[:, 2] = [None if value is None else round(value) for value in rows[:, 2]]
    padded = np.column_stack([rows, np.full((200, 2), None)])
    (answers,) = ask([tree.to_sql()], rows, tree.feature_names[:3], ["REAL", "REAL", "BIGINT"])
    assert list(answers) == tree.predict(padded).tolist()


def one_test(name, label, classes):
    tree = {"feature": [0, -1, -1], "threshold": [np.nan] * 3, "left": [1, -1, -1], "right": [2, -1, -1]}
    about = {"feature_names": (name,), "categories": ((label,),), "category": [0, -1, -1], "classes": classes}
    return Tree(**tree, **about, statistics=np.ones((3, 2)), predictive=[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])


@pytest.mark.parametrize("name", ['a"; DROP TABLE data; --', "select", "a b", "Größe", "'", "a\nb", "%s", "?"])
@pytest.mark.parametrize("label", ["'; DROP TABLE data; --", "it's", "", '"', "\\", "\n", "NULL", "ß"])
def test_names_and_labels_of_any_kind_are_quoted(name, label):
    tree = one_test(name, label, [f"yes {label}", f"no {label}"])
    rows = [[label], [label + "x"], [None]]
    (answers,) = ask([tree.to_sql()], rows, [name], ["VARCHAR"])
    assert list(answers) == [f"yes {label}", f"no {label}", f"no {label}"]


@pytest.mark.parametrize(
    ("label", "kind", "classes"),
    [
        (3, "INTEGER", [1, 2]),
        (2.5, "DOUBLE", [0.1, 0.3]),
        (True, "BOOLEAN", [False, True]),
        (-7, "BIGINT", [-1, 10**12]),
    ],
)
def test_labels_and_classes_keep_their_types(label, kind, classes):
    (answers,) = ask([one_test("x", label, classes).to_sql()], [[label], [None]], ["x"], [kind])
    assert answers == tuple(classes)
    assert [type(answer) for answer in answers] == [type(each) for each in classes]


def test_a_question_that_follows_from_no_is_one_more_when():
    parts = [0, -1, 0, -1, -1], [1, np.nan, 2, np.nan, np.nan], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    tree = Tree(*parts, np.zeros((5, 1)), [[0], [10], [0], [20], [30]], ("x",), missing_left=[0, 0, 1, 0, 0])
    assert tree.to_sql().splitlines() == [
        "CASE",
        '  WHEN "x" < 1.0e0 THEN 10.0e0',
        '  WHEN "x" < 2.0e0 OR "x" IS NULL THEN 20.0e0',
        "  ELSE 30.0e0",
        "END",
    ]


@pytest.mark.parametrize("wrong", ["bettr", 7, ("ill",)])
def test_a_class_that_is_none_is_refused(wrong):
    with pytest.raises(
        InvalidModelError, match="is no class of this tree, which has the classes 'ill', 'so-so', 'well'"
    ):
        random_tree(np.random.default_rng(0), 3).to_sql(probability_of=wrong)


def test_regression_trees_have_no_probability_of_a_class():
    with pytest.raises(InvalidModelError, match="is no class of this tree, which predicts numbers"):
        random_tree(np.random.default_rng(0), 3, classes=None).to_sql(probability_of=1.0)


@pytest.mark.parametrize("tree", [one_test("x\0", "a", ["y", "n"]), one_test("x", "a\0", ["y", "n"])])
def test_what_sql_cannot_write_is_refused(tree):
    with pytest.raises(InvalidModelError, match="SQL cannot write; rename it"):
        tree.to_sql()


def test_labels_that_sql_does_not_have_are_refused():
    with pytest.raises(InvalidModelError, match=r"\(1, 2\) of type tuple cannot be written"):
        one_test("x", (1, 2), ["y", "n"]).to_sql()
