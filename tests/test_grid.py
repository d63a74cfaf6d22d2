"""Bins: chosen from the data, encoded, and put back into the original units."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcart import Grid, InvalidDataError, InvalidModelError

numbers = st.floats(allow_nan=False, allow_infinity=False)
columns = st.lists(numbers, min_size=1, max_size=40)
binnings = st.sampled_from(["uniform", "quantile"])


def as_column(values):
    return np.array(values, dtype=float)[:, None]


@given(st.lists(numbers, min_size=1, max_size=10), binnings)
def test_few_distinct_values_keep_a_bin_each(values, binning):
    grid = Grid.from_data(as_column(values), max_bins=10, binning=binning)
    distinct = sorted(set(values))
    assert grid.n_bins == (len(distinct),)
    assert grid.lowest[0].tolist() == grid.highest[0].tolist() == distinct


@given(columns, st.integers(2, 9), binnings)
def test_bins_are_ordered_non_empty_and_hold_every_value(values, max_bins, binning):
    grid = Grid.from_data(as_column(values), max_bins=max_bins, binning=binning)
    low, high = grid.lowest[0], grid.highest[0]
    assert 1 <= len(low) <= max_bins
    assert (low <= high).all()
    assert (high[:-1] < low[1:]).all()
    assert {*low.tolist(), *high.tolist()} <= set(values)
    codes = grid.encode(as_column(values))[:, 0]
    assert (low[codes] <= values).all()
    assert (values <= high[codes]).all()
    assert set(codes.tolist()) == set(range(len(low)))


@given(columns, st.integers(2, 9), binnings, numbers)
def test_encoding_keeps_the_order(values, max_bins, binning, query):
    grid = Grid.from_data(as_column(values), max_bins=max_bins, binning=binning)
    ordered = sorted([*values, query])
    assert (np.diff(grid.encode(as_column(ordered))[:, 0].astype(int)) >= 0).all()


@given(columns, st.integers(2, 9), binnings, st.data())
def test_a_threshold_parts_the_bins_below_from_those_above(values, max_bins, binning, data):
    grid = Grid.from_data(as_column(values), max_bins=max_bins, binning=binning)
    n_bins = grid.n_bins[0]
    if n_bins == 1:
        return
    lower = data.draw(st.integers(0, n_bins - 2))
    upper = data.draw(st.integers(lower + 1, n_bins - 1))
    threshold = grid.threshold(0, lower, upper)
    codes = grid.encode(as_column(values))[:, 0]
    goes_left = np.array(values) < threshold
    assert goes_left[codes <= lower].all()
    assert not goes_left[codes >= upper].any()
    assert grid.is_below(0, codes[(codes <= lower) | (codes >= upper)], threshold) is not None


def test_uniform_bins_are_of_equal_width():
    grid = Grid.from_data(as_column(np.arange(101.0)), max_bins=4)
    assert grid.lowest[0].tolist() == [0, 25, 50, 75]
    assert grid.highest[0].tolist() == [24, 49, 74, 100]


def test_uniform_bins_without_a_value_do_not_exist():
    values = [*np.linspace(0, 1, 11), 100.0]
    grid = Grid.from_data(as_column(values), max_bins=10)
    assert grid.lowest[0].tolist() == [0, 100]


def test_quantile_bins_are_of_equal_weight():
    values = np.sort(np.random.default_rng(0).normal(size=1000))
    codes = Grid.from_data(as_column(values), max_bins=8, binning="quantile").encode(as_column(values))[:, 0]
    assert np.bincount(codes).tolist() == [125] * 8


def test_quantiles_are_those_of_the_weighted_rows():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=60), rng.integers(0, 5, 60)
    weighted = Grid.from_data(as_column(values), 5, "quantile", sample_weight=weights)
    repeated = Grid.from_data(as_column(np.repeat(values, weights)), 5, "quantile")
    assert weighted.lowest[0].tolist() == repeated.lowest[0].tolist()
    assert weighted.highest[0].tolist() == repeated.highest[0].tolist()


def test_a_value_that_outweighs_the_rest_fills_a_bin_alone():
    values = np.array([*[0.0] * 90, *range(1, 21)])
    grid = Grid.from_data(as_column(values), max_bins=4, binning="quantile")
    assert grid.highest[0][0] == 0.0


@given(st.floats(-3.0, 3.0), st.integers(1, 8))
def test_binning_does_not_depend_on_units_up_to_a_power_of_two(shift, exponent):
    values = np.random.default_rng(2).normal(size=50)
    grid = Grid.from_data(as_column(values), max_bins=5)
    scaled = Grid.from_data(as_column(values * 2.0**exponent), max_bins=5)
    np.testing.assert_array_equal(grid.encode(as_column([shift])), scaled.encode(as_column([shift * 2.0**exponent])))


def test_thresholds_lie_halfway_between_the_observed_neighbours():
    grid = Grid.from_data(as_column([1.0, 2.0, 4.0, 9.0]))
    assert [grid.threshold(0, *pair) for pair in [(0, 1), (1, 2), (0, 2), (0, 3), (2, 3)]] == [1.5, 3.0, 2.5, 5.0, 6.5]


def test_a_value_outside_or_in_a_gap_goes_to_the_nearest_bin():
    grid = Grid.from_data(as_column([1.0, 2.0, 4.0]))
    queries = as_column([-1e300, 0.0, 1.49, 1.5, 2.99, 3.0, 1e300])
    assert grid.encode(queries)[:, 0].tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_a_threshold_through_a_bin_is_no_boundary_of_bins():
    grid = Grid.from_data(as_column(np.arange(100.0)), max_bins=2)
    codes = np.array([0, 1])
    assert grid.is_below(0, codes, 49.5).tolist() == [True, False]
    assert grid.is_below(0, codes, -1.0).tolist() == [False, False]
    assert grid.is_below(0, codes, 30.0) is None
    assert grid.is_below(0, np.array([1]), 30.0).tolist() == [False]


def test_codes_are_their_own_values():
    grid = Grid.of_codes([3, 2], ["colour", "size"])
    assert (grid.n_bins, grid.feature_names) == ((3, 2), ("colour", "size"))
    assert grid.encode([[2, 1], [0, 0]]).tolist() == [[2, 1], [0, 0]]
    assert grid.threshold(0, 0, 2) == 1.0


def test_features_are_named_as_given_or_by_number():
    assert Grid.from_data([[1.0, 2.0]]).feature_names == ("x0", "x1")
    assert Grid.from_data([[1.0, 2.0]], feature_names=["age", 7]).feature_names == ("age", "7")
    with pytest.raises(InvalidDataError, match="2 columns, expected 1: age"):
        Grid.from_data([[1.0, 2.0]], feature_names=["age"])


def test_rows_of_weight_zero_make_no_bins():
    assert Grid.from_data(as_column([1.0, 2.0, 3.0]), sample_weight=[1, 0, 1]).n_bins == (2,)


@pytest.mark.parametrize("weights", [[0, 0], [1], [1, -1], [1, np.nan], [[1], [1]], ["a", "b"]])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(InvalidDataError):
        Grid.from_data([[1.0], [2.0]], sample_weight=weights)


@pytest.mark.parametrize("rows", [[], [[]], [1.0], np.zeros((1, 1, 1)), [["a"]], [[1], [2, 3]], [[np.nan]], [[np.inf]]])
def test_what_is_no_finite_table_is_refused(rows):
    with pytest.raises(InvalidDataError):
        Grid.from_data(rows)
    with pytest.raises(InvalidDataError):
        Grid.of_codes([2]).encode(rows)


@pytest.mark.parametrize(("max_bins", "binning"), [(1, "uniform"), (256, "uniform"), (10, "equal"), (3.0, "quantile")])
def test_binnings_that_make_no_sense_are_refused(max_bins, binning):
    with pytest.raises(InvalidModelError):
        Grid.from_data([[1.0]], max_bins, binning)


def test_no_number_is_lost_to_255_bins():
    values = np.random.default_rng(3).normal(size=255)
    codes = Grid.from_data(as_column(values), max_bins=255).encode(as_column(values))[:, 0]
    assert codes.tolist() == np.argsort(np.argsort(values)).tolist()
