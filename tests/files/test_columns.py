"""What columns and targets are taken for, and what is said of them."""

import numpy as np
import pandas as pd
import pytest

from bcart.errors import InvalidDataError, InvalidModelError, MemoryBudgetError
from bcart.files import source as source_module
from bcart.files.columns import Choice
from bcart.files.source import Source
from bcart.files.training import read_training_file
from bcart.limits import Limits

N = 600


def read(tmp_path, columns, target="y", suffix=".csv", limits=None, **settings):
    """The columns of a file of given values, and its target; `y` is 0 and 1 unless given."""
    y = {"y": np.arange(N) % 2} if target == "y" else {}
    frame = pd.DataFrame({**y, **columns} if "y" not in columns else columns)
    path = tmp_path / f"table{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    with Source(path, limits or Limits(n_jobs=1)) as source:
        training = read_training_file(source, target, **settings)
        return training, {column.name: column for column in training.columns}, training.sample(10)


COLUMNS = {
    "number": np.linspace(0, 1, N),
    "label": np.resize(["a", "b", "c"], N),
    "flag": np.resize([True, False, False], N),
    "day": np.resize(pd.date_range("2020-01-01", periods=30), N),
    "moment": np.resize(pd.date_range("2020-01-01 10:00", periods=30, freq="h"), N),
    "name": [f"person {i}" for i in range(N)],
    "constant": ["same"] * N,
    "empty": [None] * N,
    "rare": [1.0] + [None] * (N - 1),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_are_taken_for_what_they_look_like(tmp_path, suffix):
    _, found, _ = read(tmp_path, COLUMNS, suffix=suffix)
    assert {name: (column.role, column.reason) for name, column in found.items()} == {
        "number": ("numeric", ""),
        "label": ("nominal", ""),
        "flag": ("numeric", ""),
        "day": ("numeric", ""),
        "moment": ("numeric", ""),
        "name": ("dropped", "more than 255 labels"),
        "constant": ("dropped", "constant"),
        "empty": ("dropped", "all missing"),
        "rare": ("numeric", ""),
    }
    assert found["label"].distinct == ("a", "b", "c")
    assert (found["flag"].lowest, found["flag"].highest, found["flag"].feature.note) == (0.0, 1.0, "false 0, true 1")
    day = (pd.Timestamp("2020-01-01") - pd.Timestamp("1970-01-01")).days
    unit = "day" if suffix == ".csv" else "second"  # Parquet has midnights for days
    assert found["day"].feature.unit == unit
    assert found["day"].lowest == (day if unit == "day" else 86400 * day)
    assert found["moment"].lowest == pd.Timestamp("2020-01-01 10:00").timestamp()
    assert found["rare"].n_missing == N - 1


def test_labels_of_nearly_every_row_are_names(tmp_path):
    columns = {"y": [0, 1] * 20, "name": [f"n{i}" for i in range(40)], "town": [f"t{i % 20}" for i in range(40)]}
    _, found, _ = read(tmp_path, columns)
    assert [(column.role, column.reason) for column in found.values()] == [
        ("dropped", "a label for nearly every row"), ("nominal", "")]  # fmt: skip


def test_what_is_said_of_columns_counts_more_than_what_they_look_like(tmp_path):
    columns = {
        "zip": np.arange(N) % 40 + 1000,
        "text": np.resize(["1", "2.5"], N),
        "a": COLUMNS["number"],
        "id": range(N),
    }
    choice = Choice(numeric=("text",), nominal=("zip",), drop=("id",))
    _, found, sample = read(tmp_path, columns, suffix=".parquet", choice=choice)
    assert [(column.role, column.reason) for column in found.values()] == [
        ("nominal", ""), ("numeric", ""), ("numeric", ""), ("dropped", "as you asked")]  # fmt: skip
    assert found["zip"].distinct == tuple(range(1000, 1040))
    assert sample.is_nominal == [True, False, False]
    _, found, _ = read(tmp_path, columns, choice=Choice(only=("a",), nominal=("zip",)))
    assert [column.role for column in found.values()] == ["nominal", "dropped", "numeric", "dropped"]
    assert found["zip"].distinct[0] == "1000"  # as it is written in a CSV file, where a zero may come first


@pytest.mark.parametrize(
    ("columns", "choice", "message"),
    [
        ({"x": ["1", "two"] * (N // 2)}, {"numeric": ("x",)}, "column 'x' contains 'two' (row 2), which is no number"),
        ({"x": COLUMNS["name"]}, {"nominal": ("x",)}, "at most 255 are possible"),
        ({"x": COLUMNS["name"]}, {}, "no column is left to predict 'y' from (x: more than 255 labels)"),
        ({}, {}, "there is no other column"),
        ({"x": [*range(N - 1), np.inf]}, {}, "column 'x' contains inf"),
        ({"x": range(N)}, {"drop": ("nowhere",)}, "has no column 'nowhere'; its columns are 'y', 'x'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(tmp_path, columns, choice, message):
    with pytest.raises(InvalidDataError) as error:
        read(tmp_path, columns, choice=Choice(**choice))
    assert message in str(error.value)


@pytest.mark.parametrize("names", [{"numeric": ("x",), "drop": ("x",)}, {"nominal": ("x",), "numeric": ("x",)}])
def test_a_column_has_one_purpose(names):
    with pytest.raises(InvalidModelError, match="two purposes"):
        Choice(**names)


def test_the_target_is_no_feature(tmp_path):
    with pytest.raises(InvalidModelError, match="no feature besides"):
        read(tmp_path, {"x": range(N)}, choice=Choice(nominal=("y",)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (np.resize(["no", "yes"], N), "classify", ["no", "yes"]),
        (np.arange(N) % 7, "classify", list(range(7))),
        (np.resize([1.0, 0.0, np.nan], N), "classify", [0, 1]),
        (np.arange(N) % 21, "regress", None),
        (np.resize([0.5, 1.0], N), "regress", None),
        (np.linspace(0, 1, N), "regress", None),
        (pd.date_range("2020-01-01", periods=N), "regress", None),
    ],
)
def test_the_task_is_guessed_from_the_target(tmp_path, suffix, values, task, classes):
    training, _, _ = read(tmp_path, {"x": range(N), "t": values}, target="t", suffix=suffix)
    assert (training.target.task, training.target.is_guessed) == (task, True)
    assert (None if training.target.classes is None else training.target.classes.tolist()) == classes


def test_the_task_can_be_said(tmp_path):
    columns = {"x": range(N), "t": np.arange(N) % 30}
    assert read(tmp_path, columns, target="t", task="count")[0].target.leaf().family == "poisson"
    assert len(read(tmp_path, columns, target="t", task="classify")[0].target.classes) == 30
    assert not read(tmp_path, columns, target="t", task="classify")[0].target.is_guessed


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        (["same"] * N, {}, "has a single value; there is nothing to tell apart"),
        (COLUMNS["name"], {}, "has 600 distinct values; at most 255 can be classes"),
        (np.resize(["a", "b"], N), {"task": "regress"}, "column 't' contains 'a' (row 1), which is no number"),
        (np.resize([0.5, 1.0], N), {"task": "count"}, "counts are 0, 1, 2, ..."),
        (np.resize([-1, 40, *range(30)], N), {"task": "count"}, "goes from -1 to 40"),
        ([None] * N, {}, "'t' is missing in all of its 600 rows"),
        (np.resize([1.5, np.inf], N), {}, "column 't' contains 'inf' (row 2)"),
        (np.resize([0, 1], N), {"weight": "bad"}, "the weights 'bad' are missing, negative or infinite in 200 rows"),
        (np.resize([0, 1], N), {"weight": "none"}, "nothing to learn from"),
        (np.resize([0, 1], N), {"weight": "where"}, "has no column 'where'"),
    ],
)
def test_targets_and_weights_that_make_no_sense_are_refused(tmp_path, values, settings, message):
    columns = {"x": range(N), "t": values, "bad": np.resize([1.0, -1.0, 2.0], N), "none": np.zeros(N)}
    with pytest.raises(InvalidDataError) as error:
        read(tmp_path, columns, target="t", **settings)
    assert message in str(error.value)


def test_rows_without_target_or_weight_are_left_out_and_counted(tmp_path):
    columns = {"x": range(10), "t": [0, 1, None, 1, 0, None, 1, 0, 1, 0], "w": [1, 2, 1, 0, 0, 1, 1, 1, 1, 1]}
    training, _, sample = read(tmp_path, columns, target="t", weight="w")
    rows = training.target.rows
    assert (rows.n_rows, rows.n_without_target, rows.n_without_weight) == (6, 2, 2)
    assert training.target.counts == (3.0, 4.0)
    assert sample.columns[0].tolist() == [0, 1, 6, 7, 8, 9]
    assert sample.weights.tolist() == [1, 2, 1, 1, 1, 1]


def test_a_sample_is_the_same_for_the_same_seed_and_in_the_order_of_the_file(tmp_path):
    frame = pd.DataFrame({"x": range(N), "y": np.arange(N) % 2})
    frame.to_parquet(tmp_path / "t.parquet")
    with Source(tmp_path / "t.parquet", Limits()) as source:
        training = read_training_file(source, "y")
        one, same, other = (training.sample(50, seed).columns[0].tolist() for seed in (1, 1, 2))
    assert one == same == sorted(one)
    assert one != other
    assert len(set(one)) == 50
    assert 200 < np.mean(one) < 400


def test_quantiles_do_not_depend_on_how_many_values_are_in_memory_at_once(tmp_path, monkeypatch):
    values, weights = np.random.default_rng(0).normal(size=N), np.resize([0.1, 1 / 3, 2.0], N)
    pd.DataFrame({"x": values, "y": np.arange(N) % 2, "w": weights}).to_csv(tmp_path / "t.csv", index=False)
    grids = []
    for n_rows in (7, 100_000):
        monkeypatch.setattr(source_module, "ROWS_PER_CHUNK", n_rows)
        with Source(tmp_path / "t.csv", Limits()) as source:
            grids.append(read_training_file(source, "y", weight="w").grid("quantile"))
    assert [bound.tolist() for bound in grids[0].lowest] == [bound.tolist() for bound in grids[1].lowest]
    assert [bound.tolist() for bound in grids[0].highest] == [bound.tolist() for bound in grids[1].highest]
    assert len(grids[0].lowest[0]) == 10


def test_too_many_cells_for_the_memory_are_refused(tmp_path):
    columns = {f"x{i}": np.random.default_rng(i).random(N) for i in range(8)}
    pd.DataFrame({"y": np.arange(N) % 2, **columns}).to_csv(tmp_path / "t.csv", index=False)
    with Source(tmp_path / "t.csv", Limits(max_memory="10kB")) as source:
        training = read_training_file(source, "y")
        with pytest.raises(MemoryBudgetError, match="lower max_bins, drop columns, or raise max_memory"):
            training.cells(training.grid(), training.target.leaf())
