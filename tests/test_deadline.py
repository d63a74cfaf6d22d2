"""Loops over rows in Python end when the time of a fit has come."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bcart
from bcart.deadline import DeadlinePassed, ending_in, steps
from bcart.estimators.classifier import _number_labels
from bcart.grid import Grid
from bcart.parse import plain_labels

N_ROWS = 100_000
WORDS = np.array(["blue", "green", "red"], dtype=object)[np.arange(N_ROWS) % 3]
NUMBERS = (np.arange(N_ROWS) % 7).astype(float)
TABLES = {
    "text in pandas": pd.DataFrame({"colour": WORDS}),
    "categories in pandas": pd.DataFrame({"colour": pd.Categorical(WORDS)}),
    "text in polars": pl.DataFrame({"colour": WORDS.tolist()}),
    "numbers that are objects": NUMBERS.astype(object)[:, None],
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_objects_is_read_no_longer_than_there_is_time(table):
    with pytest.raises(DeadlinePassed), ending_in(0.0):
        Grid.from_data(TABLES[table])


def test_known_labels_are_looked_up_no_longer_than_there_is_time():
    grid = Grid.from_data(TABLES["text in pandas"])
    with pytest.raises(DeadlinePassed), ending_in(0.0):
        grid.encode(TABLES["text in pandas"])


@pytest.mark.parametrize("labels", [WORDS.astype(str), np.arange(N_ROWS) % 1000], ids=["few", "many"])
def test_labels_are_numbered_no_longer_than_there_is_time(labels):
    with pytest.raises(DeadlinePassed), ending_in(0.0):
        _number_labels(labels)


def test_labels_that_are_objects_are_read_no_longer_than_there_is_time():
    with pytest.raises(DeadlinePassed), ending_in(0.0):
        plain_labels(WORDS)


def test_a_fit_whose_time_is_over_says_how_many_rows_it_was_reading():
    with pytest.raises(bcart.TimeBudgetError, match="reading 100,000 rows takes longer than time_limit=1e-06 s"):
        bcart.BayesianTreeClassifier(time_limit=1e-6).fit(NUMBERS[:, None], WORDS)


def test_a_few_rows_are_read_whatever_the_time():
    with ending_in(0.0):
        assert list(steps(1000)) == [slice(0, 1000)]


def test_there_is_time_again_when_a_limited_part_is_over():
    with ending_in(0.0):
        pass
    assert sum(rows.stop - rows.start for rows in steps(N_ROWS)) == N_ROWS


@pytest.mark.parametrize("labels", [WORDS, NUMBERS.astype(object)], ids=["text", "numbers"])
def test_labels_that_are_objects_become_what_they_are_whatever_the_step(labels):
    plain = plain_labels(labels)
    assert plain.dtype.kind in "Uf"
    assert np.array_equal(plain, labels)


@pytest.mark.parametrize("labels", [[*WORDS, 1], [*NUMBERS, "a"]], ids=["a number at the end", "text at the end"])
def test_labels_of_several_types_stay_as_they_are(labels):
    mixed = np.array(labels, dtype=object)
    assert plain_labels(mixed) is mixed


@pytest.mark.parametrize("table", TABLES)
def test_rows_that_are_read_in_steps_are_those_of_one_step(table):
    whole, some = TABLES[table], TABLES[table][:3000]
    assert np.array_equal(Grid.from_data(whole).encode(whole)[:3000], Grid.from_data(some).encode(some))
