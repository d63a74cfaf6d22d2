"""Predictions for the rows of a file are those of the model for the same rows in memory."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcart
from bcart.errors import InvalidDataError
from bcart.files.predictions import Predictor, load_features, write_predictions
from bcart.files.source import Source
from bcart.limits import Limits

LABELS = np.array(["red", "it's", 'say "x"', "new", None], object)


def make_frame(n_rows, random, n_labels):
    return pd.DataFrame(
        {
            "size": np.where(random.random(n_rows) < 0.1, np.nan, random.normal(size=n_rows)),
            "kind": pd.Series(random.choice(LABELS[[*range(n_labels), 4]], n_rows), dtype="str"),
            "count": random.integers(0, 30, n_rows),
        }
    )


def predict(frame, model, predictor, suffix, out=".parquet", **settings):
    """What `write_predictions` writes, read again."""
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder, f"rows{suffix}"), Path(folder, f"answers{out}")
        frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
        with Source(path, Limits(n_jobs=1)) as source:
            features = load_features(source, model.feature_names, model.categories)
            write_predictions(source, features, predictor, output, **settings)
        return pd.read_parquet(output) if out == ".parquet" else pd.read_csv(output)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32), who=st.sampled_from(("ensemble", "map")), suffix=st.sampled_from((".csv", ".parquet"))
)
def test_classes_get_the_probabilities_and_intervals_of_the_model(seed, who, suffix):
    random = np.random.default_rng(seed)
    train, rows = make_frame(15, random, 3), make_frame(20, random, 4)
    y = random.choice(["good", "bad"], 15)
    model = bcart.BayesianTreeClassifier(max_bins=3, max_depth=2).fit(train, y)
    is_all = who == "ensemble"
    found = predict(
        rows,
        model.tree_,
        Predictor.of_posterior(model.posterior_) if is_all else Predictor.of_tree(model.tree_),
        suffix,
    )
    sure = model.posterior_.uncertainty(rows, predictor=who)
    assert found["prediction"].tolist() == model.posterior_.predict(rows, who).tolist()
    for place, label in enumerate(model.classes_):
        for name, values in ((f"p_{label}", sure.mean), (f"p_{label}_low", sure.low), (f"p_{label}_high", sure.high)):
            np.testing.assert_allclose(found[name], values[:, place], rtol=1e-7, atol=1e-9)
    assert found["count"].astype(int).tolist() == rows["count"].tolist()


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
@pytest.mark.parametrize("who", ["ensemble", "map"])
def test_numbers_get_intervals_of_the_mean_and_of_the_target(leaf, who):
    random = np.random.default_rng(5)
    train, rows = make_frame(40, random, 3), make_frame(20, random, 4)
    y = random.poisson(5 + train["count"]).astype(float)
    model = bcart.BayesianTreeRegressor(leaf=leaf, max_bins=4, max_depth=2, predictor=who).fit(train, y)
    is_all = who == "ensemble"
    predictor = (
        Predictor.of_posterior(model.posterior_, level=0.8) if is_all else Predictor.of_tree(model.tree_, level=0.8)
    )
    found = predict(rows, model.tree_, predictor, ".parquet")
    sure = model.uncertainty(rows, level=0.8)
    expected = {
        "prediction": sure.mean[:, 0],
        "mean_low": sure.low[:, 0],
        "mean_high": sure.high[:, 0],
        "target_low": model.predict_interval(rows, level=0.8)[:, 0],
        "target_high": model.predict_interval(rows, level=0.8)[:, 1],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-7, atol=1e-8)


@pytest.fixture(scope="module")
def tree():
    random = np.random.default_rng(1)
    frame = make_frame(50, random, 3)
    y = np.where(frame["count"] > 12, "many", np.where(frame["kind"] == "red", "few", "some"))
    return bcart.BayesianTreeClassifier(max_bins=5).fit(frame, y).tree_


def test_rows_stay_in_their_order_and_columns_as_they_were_written(tree, tmp_path):
    text = "code,size,kind,count\n" + "".join(f"00{i},{i}.50,red,{i % 30}\n" for i in range(500))
    (tmp_path / "rows.csv").write_text(text)
    with Source(tmp_path / "rows.csv", Limits()) as source:
        features = load_features(source, tree.feature_names, tree.categories)
        assert write_predictions(source, features, Predictor.of_tree(tree), tmp_path / "out.csv") == 500
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[:4] for line in lines] == [line.split(",") for line in text.splitlines()]


def test_only_predictions_leaves_the_columns_of_the_file_out(tree):
    rows = make_frame(5, np.random.default_rng(0), 2)
    found = predict(rows, tree, Predictor.of_tree(tree), ".csv", ".csv", keep_columns=False)
    assert list(found) == [
        "prediction",
        *(f"p_{c}{end}" for c in ("few", "many", "some") for end in ("", "_low", "_high")),
    ]


def test_names_that_the_file_has_already_are_not_taken_again(tree):
    rows = make_frame(5, np.random.default_rng(0), 2).assign(prediction="mine", P_MANY=1.0)
    found = predict(rows, tree, Predictor.of_tree(tree), ".csv", ".csv")
    assert found["prediction"].tolist() == ["mine"] * 5
    assert {"prediction_", "p_many_"} <= set(found)


@pytest.mark.parametrize("classes", [["bp", "bp_low"], ["A", "a"], ["bp", "bp_HIGH", "bp_HIGH_", "bp_low"]])
@pytest.mark.parametrize("out", [".csv", ".parquet"])
def test_bounds_do_not_take_the_names_of_probabilities(classes, out):
    rows = pd.DataFrame({"size": np.repeat(np.arange(len(classes)), 5)})
    model = bcart.BayesianTreeClassifier(log_phi=0.0).fit(rows, np.repeat(classes, 5))
    found = predict(rows, model.tree_, Predictor.of_posterior(model.posterior_), ".csv", out, keep_columns=False)
    sure = model.posterior_.uncertainty(rows)
    assert len({name.lower() for name in found}) == 1 + 3 * len(classes)
    for place, label in enumerate(classes):
        mean, low, high = (found.iloc[:, 1 + 3 * place + part] for part in range(3))
        assert mean.name == (f"p_{label}" if label != "a" else "p_a_")
        for column, values in ((mean, sure.mean), (low, sure.low), (high, sure.high)):
            np.testing.assert_allclose(column, values[:, place], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("first", [5, 2**60])
@pytest.mark.parametrize("has_missing", [False, True])
def test_whole_numbers_that_are_labels_are_found_in_a_file(suffix, first, has_missing):
    labels = [first, first + 1, None if has_missing else first + 2]
    rows = pd.DataFrame({"id": pd.array(labels * 5, dtype="Int64"), "size": np.arange(15.0)})
    y = ["a", "b", "c"] * 5
    model = bcart.BayesianTreeClassifier(log_phi=0.0, categorical_features=["id"]).fit(rows, y)
    for predictor in (Predictor.of_tree(model.tree_), Predictor.of_posterior(model.posterior_)):
        assert predict(rows, model.tree_, predictor, suffix)["prediction"].tolist() == y


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_feature_that_was_always_missing_may_have_values_in_the_file(suffix):
    train = pd.DataFrame({"label": pd.Series([None] * 6, dtype="str"), "number": np.nan, "size": np.arange(6.0)})
    y = ["low", "low", "low", "high", "high", "high"]
    model = bcart.BayesianTreeClassifier(log_phi=0.0).fit(train, y)
    assert model.tree_.categories == ((), None, None)
    for rows in (train, train.assign(label=["new", None] * 3, number=[1.0, np.nan] * 3)):
        for predictor in (Predictor.of_tree(model.tree_), Predictor.of_posterior(model.posterior_)):
            assert predict(rows, model.tree_, predictor, suffix)["prediction"].tolist() == y


def test_numbers_in_csv_have_six_digits_and_all_in_parquet(tree):
    rows = make_frame(30, np.random.default_rng(0), 2)
    short, long = (predict(rows, tree, Predictor.of_tree(tree), ".csv", out)["p_many"] for out in (".csv", ".parquet"))
    np.testing.assert_allclose(short, long, rtol=5e-6)
    assert short.tolist() == [float(f"{value:.6g}") for value in long]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"size": [1.0], "count": [2]}), "no column 'kind', which the model needs"),
        (pd.DataFrame({"size": ["1", "tall"], "kind": "red", "count": 2}), "column 'size' contains 'tall' (row 2)"),
        (pd.DataFrame({"size": [1.0, np.inf], "kind": "red", "count": 2}), "column 'size' contains 'inf' (row 2)"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_that_does_not_fit_is_refused_and_the_column_named(tree, frame, message, suffix):
    with pytest.raises(InvalidDataError) as error:
        predict(frame, tree, Predictor.of_tree(tree), suffix)
    assert message in str(error.value)


def test_what_was_there_stays_if_predictions_are_interrupted(tree, tmp_path):
    (tmp_path / "rows.csv").write_text("size,kind,count\n1,red,2\n")
    (tmp_path / "out.csv").write_text("before")
    with Source(tmp_path / "rows.csv", Limits()) as source:
        features = load_features(source, tree.feature_names, tree.categories)
        ask, source.do = source.do, lambda command: interrupt() if command.startswith("COPY") else ask(command)
        with pytest.raises(KeyboardInterrupt):
            write_predictions(source, features, Predictor.of_tree(tree), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "rows.csv"]


def interrupt():
    raise KeyboardInterrupt


def test_dates_are_read_as_the_model_reads_them(tmp_path):
    days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    X = days.astype(float)[:, None]
    tree = bcart.BayesianTreeClassifier().fit(X, np.where(days < np.datetime64("2020-02-01"), "Jan", "Feb")).tree_
    (tmp_path / "rows.csv").write_text("x0\n" + "".join(f"{day}\n" for day in days))
    with Source(tmp_path / "rows.csv", Limits()) as source:
        features = load_features(source, ["x0"], [None], [{"name": "x0", "unit": "day"}])
        write_predictions(source, features, Predictor.of_tree(tree), tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["prediction"].tolist() == tree.predict(X).tolist()
