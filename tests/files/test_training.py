"""A file gives the grid, the cells and the posterior that the estimators make of the same data frame."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bcart
from bcart.errors import InvalidDataError
from bcart.files.source import Source
from bcart.files.training import read_training_file
from bcart.limits import Limits

NUMBERS = (-1e6, -2.5, -0.1, -0.0, 0.0, 0.1, 1 / 3, 0.3, 7.0, 1e-300, 12345678.9, 2.0**60)
LABELS = ("red", "Red", "grün", "it's", 'say "x"', "a,b", "zz", "日本", "line\nbreak", " space")
WEIGHTS = (1.0, 2.0, 3.0, 0.0, 0.5, 1 / 3, 0.1)


@st.composite
def tables(draw):
    """A data frame of numbers, whole numbers, truth values and labels, with missing values, a target and weights."""
    n_rows = draw(st.integers(2, 40))
    kinds = draw(st.lists(st.sampled_from(("number", "whole", "flag", "label", "free")), min_size=1, max_size=4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    frame = pd.DataFrame({f"x{i}": draw_column(kind, n_rows, random) for i, kind in enumerate(kinds)})
    weighted = draw(st.booleans())
    weights = random.choice(WEIGHTS if draw(st.booleans()) else WEIGHTS[:4], n_rows) if weighted else None
    target = draw(st.sampled_from(("text", "whole", "flag", "number", "count")))
    return frame, draw_target(target, n_rows, random), weights, draw(st.integers(2, 12)), draw(st.booleans())


def draw_column(kind, n_rows, random):
    has_missing = random.random() < 0.5
    if kind == "label":
        values = random.choice(np.array([*LABELS, None], object)[: len(LABELS) + has_missing], n_rows)
        return pd.Series(values, dtype="str")
    if kind == "flag":
        return pd.Series(random.integers(0, 2, n_rows), dtype="bool")
    if kind == "whole":
        return pd.Series(random.integers(-3, 30, n_rows))
    values = (
        random.choice(NUMBERS, n_rows)
        if kind == "number"
        else random.normal(size=n_rows) * 10.0 ** random.integers(-5, 5)
    )
    return pd.Series(np.where(random.random(n_rows) < 0.2 * has_missing, np.nan, values))


def draw_target(kind, n_rows, random):
    y = {
        "text": random.choice(["no", "yes", "perhaps"], n_rows),
        "whole": random.integers(3, 6, n_rows),
        "flag": random.integers(0, 2, n_rows).astype(bool),
        "number": random.normal(size=n_rows) + 1000,
        "count": random.poisson(30, n_rows),
    }[kind]
    return {"text": "classify", "whole": "classify", "flag": "classify", "number": "regress"}.get(
        kind, "count"
    ), pd.Series(y)


def write(frame, path):
    frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)


def read(frame, suffix, task, max_bins, binning, weight, choice=None):
    """The grid, the cells and the leaf model of a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{suffix}")
        write(frame, path)
        with Source(path, Limits(n_jobs=1)) as source:
            file = read_training_file(source, "y", task=task, weight=weight, max_bins=max_bins, choice=choice)
            grid = file.grid(binning)
            leaf = file.target.leaf()
            return file, grid, file.cells(grid, leaf), leaf


def fit(frame, y, weights, task, **settings):
    if task == "classify":
        return bcart.BayesianTreeClassifier(**settings).fit(frame, y, weights)
    return bcart.BayesianTreeRegressor(leaf={"regress": "normal", "count": "poisson"}[task], **settings).fit(
        frame, y.astype(float), weights
    )


def is_constant(column):
    return column.nunique() == 0 or (column.nunique() == 1 and column.notna().all())


def is_useful(frame, y, weights, task):
    counts = np.ones(len(y)) if weights is None else weights
    kept = y[counts > 0]
    return len(kept) > 0 and (task != "classify" or kept.nunique() > 1)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@settings(max_examples=30)
@given(table=tables())
def test_a_file_gives_what_the_estimators_make_of_the_same_frame(suffix, table):
    frame, (task, y), weights, max_bins, is_quantile = table
    if not is_useful(frame, y, weights, task):
        return
    binning = "quantile" if is_quantile else "uniform"
    whole = frame.assign(y=y) if weights is None else frame.assign(y=y, w=weights)
    try:
        file, grid, cells, leaf = read(whole, suffix, task, max_bins, binning, None if weights is None else "w")
    except InvalidDataError:
        assert all(
            is_constant(column[np.ones(len(y)) > 0 if weights is None else weights > 0]) for _, column in frame.items()
        )
        return
    model = fit(frame[list(grid.feature_names)], y, weights, task, max_bins=max_bins, binning=binning, max_depth=3)
    there = model.posterior_.grid
    for here, expected in zip(grid.lowest + grid.highest, there.lowest + there.highest, strict=True):
        assert here.tobytes() == expected.tobytes()
    assert (grid.categories, grid.has_missing) == (there.categories, there.has_missing)
    expected = model.posterior_.graph.cells
    assert cells.codes.tolist() == expected.codes.tolist()
    assert cells.kinds == expected.kinds
    is_exact = task == "classify" and (weights is None or (weights == np.floor(weights)).all())
    np.testing.assert_allclose(
        cells.statistics, expected.statistics, rtol=0 if is_exact else 1e-12, atol=0 if is_exact else 1e-9
    )
    if task == "classify":
        is_text = suffix == ".csv" and y.dtype == bool  # in a CSV file, true and false are words
        assert file.target.classes.tolist() == [str(label) if is_text else label for label in model.classes_.tolist()]
    posterior = bcart.Posterior(
        bcart.build_graph(cells, bcart.Family(max_depth=3)), leaf, grid=grid, classes=file.target.classes
    )
    assert posterior.log_evidence == pytest.approx(model.posterior_.log_evidence, rel=1e-9, abs=1e-9)
