"""Tables as people have them, all kinds of columns at once, against the list of every tree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import bcart
from bcart.testing.both import enumerate_all
from bcart.testing.strategies import LABELS, Problem, problems


def as_text(column):
    """Labels as text in the same order."""
    return pd.Series([None if np.isnan(value) else f"label {LABELS.index(value)}" for value in column], dtype=object)


def as_frame(problem: Problem, draw) -> pd.DataFrame:
    """The table with columns of text, categories, booleans, float32, nullable and plain numbers, in the same order."""
    columns = {}
    for place, column in enumerate(problem.X.T):
        name = f"column {place}"
        present = np.unique(column[~np.isnan(column)])
        if place in problem.nominal:
            columns[name] = as_text(column).astype(draw(st.sampled_from(["category", "string"])))
        elif len(present) == 2 and not np.isnan(column).any() and draw(st.booleans()):
            columns[name] = column == present[1]
        else:
            columns[name] = pd.Series(column).astype(draw(st.sampled_from(["float64", "float32", "Float64"])))
    return pd.DataFrame(columns)


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@settings(max_examples=150, deadline=None)
@given(problems(leaf=st.just("dirichlet")), st.sampled_from(list(KINDS)), st.data())
def test_a_frame_with_columns_of_all_kinds_gives_the_answers_of_the_list(problem, kind, data):
    frame = KINDS[kind](as_frame(problem, data.draw))
    labels = np.array([f"class {label}" for label in problem.y], dtype=data.draw(st.sampled_from([object, str])))
    parameters = {name: value for name, value in problem.settings.items() if name not in ("nominal", "leaf")}
    model = bcart.BayesianTreeClassifier(n_jobs=1, **parameters)
    model.fit(frame, labels, sample_weight=problem.sample_weight)
    listed = enumerate_all(problem)
    assert abs(model.posterior_.log_evidence - listed.log_evidence) < 1e-10 * (1 + abs(listed.log_evidence))
    assert list(model.feature_names_in_) == [f"column {place}" for place in range(problem.X.shape[1])]
    np.testing.assert_array_equal(model.classes_, [f"class {label}" for label in listed.classes])
    present = problem.weights > 0  # a label of absent rows only is unseen here and known there to nobody
    np.testing.assert_allclose(
        model.predict_proba(frame)[present], listed.predict_proba(problem.X)[present], rtol=1e-10, atol=1e-12
    )
