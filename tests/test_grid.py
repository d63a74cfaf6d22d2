"""Bins: chosen from the data, encoded, and put back into the original units."""

import copy
import pickle

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


def sent_left(grid, codes, threshold=np.nan, category=-1, missing_left=False):
    sides = grid.codes_on_the_left(0, np.asarray(codes), threshold, category, missing_left)
    return None if sides is None else sides.tolist()


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
    parted = codes[(codes <= lower) | (codes >= upper)]
    assert sent_left(grid, parted, threshold) == (parted <= lower).tolist()


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


def test_as_many_of_a_great_many_values_fall_into_each_quantile_bin():
    values = np.random.default_rng(0).permutation(600_000)
    grid = Grid.from_data(as_column(values), max_bins=10, binning="quantile")
    assert grid.lowest[0].tolist() == list(range(0, 600_000, 60_000))
    assert grid.highest[0].tolist() == list(range(59_999, 600_000, 60_000))


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
    assert sent_left(grid, [0, 1], 49.5) == [True, False]
    assert sent_left(grid, [0, 1], -1.0) == [False, False]
    assert sent_left(grid, [0, 1], 30.0) is None
    assert sent_left(grid, [1], 30.0) == [False]


def test_codes_are_their_own_values():
    grid = Grid.of_codes([3, 2], feature_names=["height", "size"])
    assert (grid.n_bins, grid.feature_names, grid.kinds) == ((3, 2), ("height", "size"), ("numeric", "numeric"))
    assert grid.encode([[2, 1], [0, 0]]).tolist() == [[2, 1], [0, 0]]
    assert grid.threshold(0, 0, 2) == 1.0


def test_codes_of_every_kind_are_their_own_values_after_the_code_for_missing_ones():
    grid = Grid.of_codes([3, 3, 3], ["numeric", "optional", "nominal"])
    assert (grid.n_bins, grid.has_missing) == ((3, 3, 3), (False, True, False))
    assert grid.categories == (None, None, (0, 1, 2))
    assert grid.encode([[2, 1, 2], [0, np.nan, 0], [1, 0, 1]]).tolist() == [[2, 2, 2], [0, 0, 0], [1, 1, 1]]
    assert grid.threshold(1, 1, 2) == 0.5


def test_missing_values_have_code_zero_and_the_bins_follow():
    grid = Grid.from_data(as_column([5.0, np.nan, 7.0, 5.0]))
    assert (grid.n_bins, grid.kinds, grid.has_missing) == ((3,), ("optional",), (True,))
    assert grid.encode(as_column([np.nan, 5.0, 7.0, 6.5])).ravel().tolist() == [0, 1, 2, 2]
    assert grid.threshold(0, 1, 2) == 6.0


def test_missing_values_do_not_move_the_bins_of_the_others():
    values = np.random.default_rng(5).normal(size=60)
    for binning in ("uniform", "quantile"):
        with_them = Grid.from_data(as_column([*values, np.nan, np.nan]), 4, binning)
        without = Grid.from_data(as_column(values), 4, binning)
        assert with_them.lowest[0].tolist() == without.lowest[0].tolist()
        assert with_them.highest[0].tolist() == without.highest[0].tolist()


def test_255_bins_leave_a_code_for_missing_values():
    values = np.arange(400.0)
    grid = Grid.from_data(as_column([*values, np.nan]), max_bins=255)
    codes = grid.encode(as_column([*values, np.nan]))[:, 0]
    assert grid.n_bins == (256,)
    assert (codes.min(), codes.max(), codes[-1]) == (0, 255, 0)


def test_a_column_of_missing_values_alone_has_one_code():
    grid = Grid.from_data(as_column([np.nan, np.nan]))
    assert (grid.n_bins, grid.kinds) == ((1,), ("optional",))
    assert grid.encode(as_column([np.nan])).tolist() == [[0]]


def test_labels_are_coded_in_their_order_after_the_code_for_missing_ones():
    rows = [["red"], ["blue"], ["green"]]
    grid = Grid.from_data(rows, categorical_features=[0])
    assert (grid.kinds, grid.categories) == (("nominal",), (("blue", "green", "red"),))
    assert grid.encode(rows).ravel().tolist() == [2, 0, 1]
    with_missing = Grid.from_data([*rows, [None]], categorical_features=[0])
    assert with_missing.encode([*rows, [None]]).ravel().tolist() == [3, 1, 2, 0]
    assert with_missing.kinds == ("nominal",)


def test_what_the_grid_was_not_made_from_has_no_code():
    with pytest.raises(InvalidDataError, match=r"'x0' is missing in row 1"):
        Grid.from_data(as_column([1.0, 2.0])).encode(as_column([1.0, np.nan]))
    with pytest.raises(InvalidDataError, match=r"'x0' has a category in row 0 .* knows 'a', 'b'"):
        Grid.from_data([["a"], ["b"]], categorical_features=[0]).encode([["c"]])


def test_the_sides_of_labels_and_of_missing_values():
    labels = Grid.from_data([["a"], ["b"], ["c"], [None]], categorical_features=[0])
    assert sent_left(labels, [0, 1, 2, 3], category=1) == [False, False, True, False]
    assert sent_left(labels, [0, 1, 2, 3], missing_left=True) == [True, False, False, False]
    optional = Grid.from_data(as_column([1.0, 2.0, np.nan]))
    assert sent_left(optional, [0, 1, 2], 1.5, missing_left=True) == [True, True, False]
    assert sent_left(optional, [0, 1, 2], 1.5, missing_left=False) == [False, True, False]
    assert sent_left(optional, [0, 1, 2], -np.inf, missing_left=True) == [True, False, False]


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


@pytest.mark.parametrize("rows", [[], [[]], [1.0], np.zeros((1, 1, 1)), [["a"]], [[1], [2, 3]], [[np.inf]]])
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


TWO = [0.0, 1.0]


@pytest.mark.parametrize(
    "parts",
    [
        ((TWO,), ([0.0, 1.0, 2.0],), ("a",)),
        (([0.0, 1.0, 2.0, 3.0],), ([0.0, 1.0, 2.0],), ("a",)),
        ((0.0,), (0.0,), ("a",)),
        (([TWO],), ([TWO],), ("a",)),
        (([1.0, 0.0],), ([1.0, 0.0],), ("a",)),
        (([0.0, np.nan],), (TWO,), ("a",)),
        ((["x"],), (["x"],), ("a",)),
        (([[0], [0, 1]],), (TWO,), ("a",)),
        (([0, 10**400],), ([0, 10**400],), ("a",)),
        ((TWO,), (TWO,), ("a", "b")),
        ((TWO,), (TWO,), "a"),
        (None, None, ("a",)),
        (5, 5, ("a",)),
        ((TWO,), (TWO,), 5),
        ((TWO,), (TWO,), ("a",), (5,)),
        ((TWO,), (TWO,), ("a",), ("xy",)),
        ((TWO,), (TWO,), ("a",), (("x",),)),
        ((TWO,), (TWO,), ("a",), (), True),
    ],
)
def test_bounds_and_labels_that_do_not_fit_together_make_no_grid(parts):
    with pytest.raises((InvalidModelError, InvalidDataError)):
        Grid(*parts)


@pytest.mark.parametrize(
    ("n_bins", "kinds"),
    [
        ([3, 3], ["numeric"]),
        ([3], ["numeric", "numeric"]),
        ([3], ["ordinal"]),
        ([3], [["numeric"]]),
        ([3], 5),
        ([-1], None),
        ([0], None),
        ([1.5], None),
        ([257], None),
        ([256], None),
        (3, None),
    ],
)
def test_codes_of_no_kind_or_number_make_no_grid(n_bins, kinds):
    with pytest.raises((InvalidModelError, InvalidDataError)):
        Grid.of_codes(n_bins, kinds)


def test_a_value_without_weight_may_be_infinite():
    table, same = as_column([1.0, np.inf, 2.0, 4.0]), as_column([1.0, 2.0, 4.0])
    for binning in ("uniform", "quantile"):
        grid = Grid.from_data(table, 2, binning, sample_weight=[1, 0, 1, 1])
        assert grid.highest[0].tolist() == Grid.from_data(same, 2, binning).highest[0].tolist()
    with pytest.raises(InvalidDataError, match=r"inf \(row 1\)"):
        Grid.from_data(table, sample_weight=[0, 1, 1, 1])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_nobody_can_change_a_copy_of_a_grid(duplicate):
    grid = duplicate(Grid.from_data([[1.0, 2.0], [3.0, 4.0]]))
    assert not any(values.flags.writeable for values in (*grid.lowest, *grid.highest))
    assert grid.encode([[3.0, 2.0]]).tolist() == [[1, 0]]
