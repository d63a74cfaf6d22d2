"""Tables as people have them: the same content gives the same answers, whatever holds it."""

import datetime
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bcart
from bcart import BayesianTreeClassifier
from bcart.tables import as_rows, read_table
from bcart.testing import enumerate_posterior

N = 60
RNG = np.random.default_rng(0)


def with_gaps(values, every):
    return [None if i % every == every - 1 else value for i, value in enumerate(values)]


COLUMNS = {
    "age": with_gaps(RNG.integers(20, 24, N).tolist(), 7),
    "fare": with_gaps(RNG.choice([7.25, 8.5, 30.0], N).tolist(), 9),
    "sex": with_gaps(RNG.choice(["male", "female"], N).tolist(), 11),
    "port": with_gaps(RNG.choice(["S", "C", "Q"], N).tolist(), 13),
    "alone": with_gaps(RNG.integers(0, 2, N).astype(bool).tolist(), 17),
    "class": RNG.integers(1, 4, N).tolist(),
}
Y = [(s == "male") ^ (a is not None and a > 21) for s, a in zip(COLUMNS["sex"], COLUMNS["age"], strict=True)]
LABELS = [2, 3]  # the columns that hold labels


def pandas_with(**dtypes):
    return pd.DataFrame({name: pd.Series(values, dtype=dtypes.get(name)) for name, values in COLUMNS.items()})


def polars_with(**dtypes):
    return pl.DataFrame(COLUMNS).with_columns(**{name: pl.col(name).cast(dtype) for name, dtype in dtypes.items()})


FRAMES = {
    "pandas, types as it guesses them": pd.DataFrame(COLUMNS),
    "pandas, objects": pd.DataFrame(COLUMNS, dtype=object),
    "pandas, numpy floats and objects": pandas_with(age="float64", alone="float32", sex=object, port=object),
    "pandas, nullable": pandas_with(age="Int64", fare="Float64", sex="string", port="string", alone="boolean"),
    "pandas, categorical": pandas_with(sex="category", port=pd.CategoricalDtype(["S", "unused", "Q", "C"])),
    "pandas, pyarrow": pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame(COLUMNS),
    "polars, categorical and enum": polars_with(sex=pl.Categorical, port=pl.Enum(["S", "Q", "C"])),
    "polars, small numbers": polars_with(age=pl.Float32, fare=pl.Float32, **{"class": pl.UInt8}),
    "polars, NaN for null": polars_with(age=pl.Float64).with_columns(pl.col("age", "fare").fill_null(float("nan"))),
    "pyarrow": pa.table(COLUMNS),
    "pyarrow, dictionary": pa.table({**COLUMNS, "sex": pa.array(COLUMNS["sex"]).dictionary_encode()}),
    "pyarrow, chunks": pa.concat_tables([pa.table(COLUMNS).slice(0, 13), pa.table(COLUMNS).slice(13)]),
}
ARRAY = np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=object)


def fit(X, y=Y, **parameters):
    return BayesianTreeClassifier(**{"n_jobs": 1, "max_depth": 4, **parameters}).fit(X, y)


@pytest.fixture(scope="module")
def of_array():
    return fit(ARRAY, categorical_features=LABELS)


@pytest.fixture(scope="module", params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def test_the_same_content_gives_the_same_bits(frame, of_array):
    model = fit(frame)
    assert model.posterior_.log_score == of_array.posterior_.log_score
    assert model.posterior_.n_boxes == of_array.posterior_.n_boxes
    assert model.tree_ == of_array.tree_
    np.testing.assert_array_equal(model.predict_proba(frame), of_array.predict_proba(ARRAY))


def test_a_model_of_one_kind_of_frame_reads_all_others(frame):
    model = fit(FRAMES["polars"])
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(FRAMES["polars"]))
    np.testing.assert_array_equal(model.tree_.apply(frame), model.tree_.apply(ARRAY))


def test_names_and_labels_survive_into_the_text_of_the_tree(frame):
    model = fit(frame)
    assert model.feature_names_in_.tolist() == list(COLUMNS)
    assert model.posterior_.grid.feature_names == tuple(COLUMNS)
    assert model.posterior_.grid.categories == (None, None, ("female", "male"), ("C", "Q", "S"), None, None)
    text = str(model.tree_)
    assert "sex is male" in text
    assert "age < 21.5" in text


def test_frames_are_read_by_type_but_arrays_only_as_told():
    by_type = [column.is_nominal for column in read_table(FRAMES["polars"]).columns]
    assert by_type == [False, False, True, True, False, False]
    with pytest.raises(bcart.InvalidDataError, match=r"'x2' contains '\w+' \(row 0\), which is no number; name the"):
        fit(ARRAY)


@pytest.mark.parametrize(
    "chosen",
    [
        ["port", "class"],
        ("class", "port"),
        [3, 5],
        [np.int64(3), np.uint8(5)],
        np.array([3, 5]),
        [False, False, False, True, False, True],
        np.array([False, False, False, True, False, True]),
        ["port", 5],
    ],
)
def test_nominal_features_are_chosen_by_name_by_number_or_by_mark(chosen):
    frame = FRAMES["polars"].with_columns(sex=(pl.col("sex") == "male").cast(pl.Int8))
    grid = fit(frame, categorical_features=chosen).posterior_.grid
    assert [labels is not None for labels in grid.categories] == [False, False, False, True, False, True]
    assert grid.categories[5] == (1, 2, 3)


def test_numbers_that_are_labels_are_not_ordered():
    rows, labels = [[1], [2], [3]] * 10, ["a", "b", "a"] * 10
    assert fit(rows, labels).tree_.n_leaves == 3
    as_labels = fit(rows, labels, categorical_features=[0])
    assert as_labels.tree_.n_leaves == 2
    assert "x0 is 2\n" in str(as_labels.tree_)


def test_whole_numbers_that_are_labels_keep_their_digits():
    frame = pl.DataFrame({"id": [2**60, 2**60 + 1] * 5})
    model = fit(frame, [0, 1] * 5, categorical_features=["id"])
    assert model.posterior_.grid.categories == ((2**60, 2**60 + 1),)
    assert model.predict(frame).tolist() == [0, 1] * 5
    assert f"id is {2**60}\n" in str(model.tree_)


@pytest.mark.parametrize(("long", "dtype"), [(2**53 + 1, np.int64), (-(2**63), np.int64), (2**64 - 1, np.uint64)])
def test_columns_side_by_side_are_floats_only_if_these_hold_every_number(long, dtype):
    others = [np.array([0.5, np.nan]), np.array([True, False]), np.array([2**53, -(2**53)])]
    assert as_rows(others).dtype == np.float64
    rows = as_rows([np.array([long, 0], dtype=dtype), *others])
    labels, *numbers = read_table(rows, nominal=[0]).columns
    assert labels.values.tolist() == [long, 0]
    np.testing.assert_array_equal(np.column_stack([c.values for c in numbers]), as_rows(others))
    assert read_table(rows, nominal=None).columns[0].values.tolist() == [float(long), 0.0]


@pytest.mark.parametrize("labels", [[2**60, 2**60 + 1], [1, 2], [False, True], ["a", "b"]])
def test_what_is_masked_is_missing_and_labels_beside_it_keep_their_digits(labels):
    dtype = object if isinstance(labels[0], str) else None
    X = np.ma.array([[labels[0]], [labels[1]], [labels[1]]] * 5, dtype=dtype, mask=[[False], [False], [True]] * 5)
    (column,) = read_table(X, nominal=[0]).columns
    assert column.values.tolist() == [labels[0], labels[1], None] * 5
    y = ["first", "second", "masked"] * 5
    assert fit(X, y, categorical_features=[0], log_phi=0.0).predict(X).tolist() == y


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        pytest.param(np.array([[1, 2], [3, 4], [1, 3]]), None, id="whole numbers"),
        pytest.param(np.array([[1, 2], [3, 4], [1, 3]], dtype=np.float32), np.nan, id="float32"),
        pytest.param(np.array([[True, False], [False, True], [True, True]]), None, id="booleans"),
        pytest.param([[1, 2.5], [True, "3"], ["-1e2", 4]], None, id="mixed objects"),
        pytest.param(np.array([[1, 2], [None, 4], [np.nan, pd.NA]], dtype=object), pd.NA, id="objects"),
    ],
)
def test_arrays_of_every_type_are_the_numbers_they_hold(values, missing):
    as_objects = np.asarray(values, dtype=object)
    numbers = np.array([[np.nan if pd.isna(v) else float(v) for v in row] for row in as_objects])
    np.testing.assert_array_equal(np.column_stack([c.values for c in read_table(values).columns]), numbers)
    one, other = fit(values, [0, 1, 0], log_phi=-3.0), fit(numbers, [0, 1, 0], log_phi=-3.0)
    assert one.posterior_.log_score == other.posterior_.log_score
    if missing is not None:
        query = np.array([[missing, 2.0]], dtype=object)
        np.testing.assert_array_equal(one.predict_proba(query), other.predict_proba([[np.nan, 2.0]]))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_column_without_any_value_tells_nothing(kind):
    columns = {"empty": [None] * 6, "x": [1, 2, 3, 4, 5, 6]}
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[kind]
    labels = [0, 0, 0, 1, 1, 1]
    with_it, without = fit(make(columns), labels), fit(make({"x": columns["x"]}), labels)
    assert with_it.posterior_.log_score == without.posterior_.log_score
    np.testing.assert_array_equal(
        with_it.predict_proba(make(columns)), without.predict_proba(make({"x": columns["x"]}))
    )


# Targets


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(["no", "yes"], id="text"),
        pytest.param(np.array(["no", "yes"], dtype=object), id="objects"),
        pytest.param([False, True], id="booleans"),
        pytest.param([3, 7], id="whole numbers"),
        pytest.param([-1.0, 2.0], id="floats"),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, pd.Series, pl.Series, pa.array])
def test_labels_of_every_kind_come_back_as_they_were_given(labels, kind):
    given = [labels[int(y)] for y in Y]
    model = fit(FRAMES["polars"], kind(given))
    assert model.classes_.tolist() == sorted(set(given))
    expected = fit(FRAMES["polars"], np.asarray(Y).astype(int))
    assert model.predict(FRAMES["polars"]).tolist() == [labels[i] for i in expected.predict(FRAMES["polars"])]
    np.testing.assert_array_equal(model.predict_proba(FRAMES["polars"]), expected.predict_proba(FRAMES["polars"]))


# Values that training has not seen


def test_a_label_that_was_never_seen_goes_with_the_rest():
    frame = pl.DataFrame({"port": ["S", "C", "Q"] * 8, "x": [1.0, 2.0, 3.0, 4.0] * 6})
    model = fit(frame, (["a", "b", "b"] * 8), predictor="map")
    assert str(model.tree_).splitlines()[1] == "port is S"
    unseen = pl.DataFrame({"port": ["S", "X", "never", "C"], "x": [1.0] * 4})
    leaves = model.tree_.apply(unseen)
    assert leaves.tolist() == [model.tree_.left[0], *[model.tree_.right[0]] * 3]
    for predictor in ("map", "ensemble"):
        one, other = (model.posterior_.predict_proba(unseen, predictor)[i] for i in (1, 2))
        np.testing.assert_array_equal(one, other)
    assert model.predict(unseen).tolist() == ["a", "b", "b", "b"]


def test_a_label_that_was_never_seen_is_right_of_every_test_of_the_ensemble():
    labels, targets = list("ABCD") * 5, [0, 1, 1, 0, 1] * 4
    model = fit(pd.DataFrame({"port": labels}), targets, max_depth=None, log_phi=0.5)
    listed = enumerate_posterior(
        np.array([["ABCD".index(label)] for label in labels]), targets, nominal=[0], log_phi=0.5
    )
    expected = sum(
        tree.predictive[rightmost(tree)] * p for tree, p in zip(listed.trees, listed.probabilities, strict=True)
    )
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame({"port": ["never"]}))[0], expected, rtol=1e-12)


def rightmost(tree):
    node = 0
    while tree.feature[node] >= 0:
        node = tree.right[node]
    return node


@pytest.mark.parametrize(("n_low", "n_high", "side"), [(20, 10, "left"), (10, 20, "right"), (15, 15, "left")])
def test_missing_values_that_training_has_not_seen_go_to_the_heavier_side(n_low, n_high, side):
    rows = np.array([[1.0]] * n_low + [[2.0]] * n_high)
    model = fit(rows, [0] * n_low + [1] * n_high, predictor="map")
    assert model.tree_.n_leaves == 2
    expected = model.tree_.left[0] if side == "left" else model.tree_.right[0]
    assert model.tree_.apply([[np.nan]]).tolist() == [expected]
    np.testing.assert_array_equal(model.predict_proba([[np.nan]])[0], model.tree_.predictive[expected])
    chances = model.posterior_.predict_proba([[np.nan], [1.0 if side == "left" else 2.0]])
    np.testing.assert_array_equal(chances[0], chances[1])


def test_where_missing_values_go_is_learned_if_training_has_seen_them():
    rows, labels = [[1.0]] * 30 + [[2.0]] * 10 + [[np.nan]] * 10, [0] * 30 + [1] * 20
    model = fit(rows, labels, predictor="map")
    assert str(model.tree_).splitlines()[1] == "x0 < 1.5"
    assert model.predict([[np.nan], [1.0], [2.0]]).tolist() == [1, 0, 1]
    flipped = fit(rows, [0] * 30 + [1] * 10 + [0] * 10)
    assert str(flipped.tree_).splitlines()[1] == "x0 < 1.5 or missing"
    alone = fit(rows, [0] * 40 + [1] * 10)
    assert str(alone.tree_).splitlines()[1] == "x0 is missing"


# What cannot be read

HEADACHES = {
    "two columns of one name": (lambda: fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), [0, 1]), "'a'"),
    "two columns of one name, pyarrow": (
        lambda: fit(pa.table([[1, 2], [3, 4]], names=["a", "a"]), [0, 1]),
        "'a'",
    ),
    "dates in pandas": (
        lambda: fit(pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-01-01"])}), [0, 1]),
        r"'day' contains Timestamp\('2020.* \(row 0\).* no number; .* turn it into numbers or drop it",
    ),
    "dates in polars": (
        lambda: fit(pl.DataFrame({"day": [None, datetime.date(2021, 1, 1)]}), [0, 1]),
        r"'day' contains datetime.date\(2021, 1, 1\) \(row 1\).* turn it into numbers or drop it",
    ),
    "dates in pyarrow": (
        lambda: fit(pa.table({"day": [datetime.date(2021, 1, 1)] * 2}), [0, 1]),
        r"'day' contains datetime.date.* turn it into numbers or drop it",
    ),
    "lists": (lambda: fit(pl.DataFrame({"words": [[1], [2, 3]]}), [0, 1]), r"'words' contains \[1\] \(row 0\).* drop"),
    "lists as labels": (
        lambda: fit(pl.DataFrame({"words": [[1], [2, 3]]}), [0, 1], categorical_features=["words"]),
        r"'words' contains \[1\].* drop",
    ),
    "complex numbers": (lambda: fit(pd.DataFrame({"z": [1j, 2j]}), [0, 1]), r"'z' contains 1j \(row 0\).* drop it"),
    "too many labels": (
        lambda: fit(pd.DataFrame({"who": [f"p{i}" for i in range(256)]}), [0, 1] * 128),
        "'who' has 256 categories, at most 255 are possible; put rare ones together, or drop the column",
    ),
    "infinite": (
        lambda: fit(pl.DataFrame({"fare": [1.0, -float("inf")]}), [0, 1]),
        r"'fare' contains -inf \(row 1\); clip infinite values, or make them missing \(NaN\)",
    ),
    "infinite, from objects": (lambda: fit([[1.0], ["inf"]], [0, 1]), r"'x0' contains inf \(row 1\); clip"),
    "beyond floating point": (lambda: fit(np.array([[1], [10**400]], dtype=object), [0, 1]), r"'x0' .*\(row 1\)"),
    "text": (
        lambda: fit(pl.DataFrame({"a": ["1", "x"]}), [0, 1], categorical_features=[]),
        r"'a' contains 'x' \(row 1\), which is no number; name the column in categorical_features",
    ),
    "text for a number": (
        lambda: fit(pl.DataFrame({"a": [1, 2]}), [0, 1]).predict(pl.DataFrame({"a": ["1", "x"]})),
        r"'a' contains 'x' \(row 1\)",
    ),
    "no columns": (lambda: fit(pd.DataFrame(index=[0, 1]), [0, 1]), "no columns"),
    "no rows": (lambda: fit(pl.DataFrame({"a": []}), []), "0 sample"),
    "other columns": (
        lambda: fit(pl.DataFrame({"a": [1, 2]}), [0, 1]).predict(pl.DataFrame({"b": [1, 2]})),
        "feature names should match",
    ),
}


@pytest.mark.parametrize("what", HEADACHES)
def test_what_cannot_be_read_is_named_with_its_column_and_a_remedy(what):
    act, said = HEADACHES[what]
    with pytest.raises(bcart.BcartError, match=said):
        act()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_in_another_order_are_refused_by_everyone_who_knows_their_names(kind):
    model = fit(kind({"a": [0, 1] * 9, "b": [5, 6, 7] * 6}), [0, 1] * 9)
    swapped = kind({"b": [5, 6], "a": [0, 1]})
    for ask in (model.predict, model.posterior_.predict, model.tree_.predict, model.posterior_.grid.encode):
        with pytest.raises(bcart.InvalidDataError, match="order"):
            ask(swapped)


def test_255_labels_and_missing_values_fill_all_codes():
    frame = pd.DataFrame({"who": [*(f"p{i}" for i in range(255)), None]})
    posterior = fit(frame, [0, 1] * 128, max_depth=1).posterior_
    assert posterior.graph.cells.n_bins == (256,)
    assert posterior.n_splits == 256  # each label against the rest, and missing against the rest


@pytest.mark.parametrize("chosen", [["nope"], [2], [-1], [1.0], "sex", 3, [True], [True] * 3, [None], ["a", "nope"]])
def test_what_is_no_choice_of_columns_is_refused_by_name(chosen):
    with pytest.raises(bcart.InvalidModelError, match=r"categorical_features"):
        fit(pd.DataFrame({"a": [1, 2], "b": [3, 3]}), [0, 1], categorical_features=chosen)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout


def test_bcart_imports_no_data_frame_library_that_scikit_learn_does_not():
    code = "import sys, {}; print([m for m in ('pandas', 'polars', 'pyarrow', 'nltk') if m in sys.modules])"
    assert run(code.format("bcart")) == run(code.format("sklearn.base"))


WITHOUT_FRAMES = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pandas", "polars", "pyarrow", "nltk"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import bcart
model = bcart.BayesianTreeClassifier(categorical_features=[0]).fit([["a", 1.0], ["b", None]] * 9, [0, 1] * 9)
print(model.predict([["b", None], ["a", 1.0]]))
"""


def test_arrays_need_no_data_frame_library():
    assert run(WITHOUT_FRAMES) == "[1 0]\n"
