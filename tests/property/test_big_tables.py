"""Encoding and grouping in the core, against the plain ways of numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcart import BayesianTreeClassifier, BayesianTreeRegressor, Cells, Grid, InvalidDataError, _core
from bcart.estimators.classifier import _number_labels
from bcart.parse import as_weights

N_MANY = 270_000  # rows that are worth several threads

seeds = st.integers(0, 2**32 - 1)
max_bins = st.sampled_from([2, 3, 10, 21, 22, 255])


@st.composite
def code_rows(draw):
    rng = np.random.default_rng(draw(seeds))
    n_features = draw(st.sampled_from([1, 2, 6, 8, 9, 20]))
    n_codes = draw(st.sampled_from([1, 2, 10, 256]))
    originals = rng.integers(0, n_codes, (draw(st.integers(1, 60)), n_features))
    return originals[rng.integers(0, len(originals), draw(st.integers(1, 200)))].astype(np.uint8)


@st.composite
def columns(draw):
    """Numbers with few or many distinct values, and some missing."""
    rng, n = np.random.default_rng(draw(seeds)), draw(st.integers(1, 300))
    kind = draw(st.sampled_from(["normal", "whole", "huge", "near"]))
    values = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(-9, 9, n) * draw(st.sampled_from([1.0, -0.0, 0.1])),
        "huge": rng.choice([-1.7e308, 1.7e308, -5e-324, 5e-324, 0.0, -0.0, 1.0], n),
        "near": np.nextafter(1.0, 2.0) + rng.integers(0, 2**20, n) * 2.0**-52,
    }[kind]
    return np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), np.nan, values)


def plain_bounds(column, weights, max_bins, binning):
    """Bins from all distinct values, sorted."""
    known = ~np.isnan(column)
    values, which = np.unique(column[known] + 0.0, return_inverse=True)
    if len(values) <= max_bins:
        return values, values
    if binning == "uniform":
        fractions = np.arange(1, max_bins) / max_bins
        codes = np.searchsorted(values[0] * (1 - fractions) + values[-1] * fractions, values, side="right")
    else:
        weight_of = np.bincount(which, weights[known])
        middles = (np.cumsum(weight_of) - weight_of / 2) / weight_of.cumsum()[-1]
        codes = np.minimum((middles * max_bins + 1e-9).astype(int), max_bins - 1)
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    return values[first], values[np.append(first[1:], len(values)) - 1]


def plain_codes(grid, column):
    cuts = [grid.threshold(0, k, k + 1) for k in range(grid.has_missing[0], grid.n_bins[0] - 1)]
    known = np.searchsorted(cuts, column, side="right") + grid.has_missing[0]
    return np.where(np.isnan(column), 0, known)


def plain_cells(codes, statistics, weights):
    present = weights > 0
    distinct, which = np.unique(codes[present], axis=0, return_inverse=True)
    sums = [np.bincount(which.ravel(), column) for column in (statistics[present] * weights[present, None]).T]
    return distinct, np.stack(sums, axis=1), np.bincount(which.ravel(), weights[present])


def assert_cells(cells, codes, statistics, weights):
    for found, expected in zip(
        (cells.codes, cells.statistics, cells.weights), (codes, statistics, weights), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


# Bins and codes


@given(columns(), max_bins, st.sampled_from(["uniform", "quantile"]), st.booleans(), seeds)
def test_bins_are_those_of_all_values_sorted(column, max_bins, binning, is_weighted, seed):
    weights = np.random.default_rng(seed).random(len(column)) + 0.1 if is_weighted else np.ones(len(column))
    grid = Grid.from_data(column[:, None], max_bins, binning, sample_weight=weights if is_weighted else None)
    low, high = plain_bounds(column, weights, max_bins, binning)
    np.testing.assert_array_equal(grid.lowest[0], low)
    np.testing.assert_array_equal(grid.highest[0], high)
    assert not np.signbit(grid.lowest[0][grid.lowest[0] == 0]).any()
    assert grid.has_missing == (np.isnan(column).any(),)


@given(columns(), columns(), max_bins)
def test_codes_are_places_among_the_cuts(column, others, max_bins):
    grid = Grid.from_data(column[:, None], max_bins)
    rows = np.concatenate([column, others if grid.has_missing[0] else others[~np.isnan(others)]])
    cuts = [grid.threshold(0, k, k + 1) for k in range(grid.has_missing[0], grid.n_bins[0] - 1)]
    rows = np.concatenate([rows, cuts, np.nextafter(cuts, -np.inf)])
    np.testing.assert_array_equal(grid.encode(rows[:, None])[:, 0], plain_codes(grid, rows))


def test_infinite_numbers_are_outside_of_all_cuts():
    columns = [np.array([-np.inf, np.inf, np.nan, 1.0])]
    for n_cuts in (0, 1, 3, 4, 15, 16, 30, 200):
        codes, has_missing, has_infinite = _core.encode(columns, [np.arange(n_cuts) + 0.5], [1], 1)
        assert codes.tolist() == [1, n_cuts + 1, 0, 1 + min(1, n_cuts)]
        assert has_missing == has_infinite == [True]


TABLE = np.round(np.random.default_rng(0).normal(size=(50, 4)), 1).astype(np.float32)
RECORDS = np.zeros(50, dtype=[("flag", "i1"), ("row", "f8", 4)])
RECORDS["row"] = TABLE
LAYOUTS = {
    "C": np.ascontiguousarray(TABLE, dtype=float),
    "F": np.asfortranarray(TABLE, dtype=float),
    "every other row": np.repeat(TABLE.astype(float), 2, axis=0)[::2],
    "every other column": np.repeat(TABLE.astype(float), 2, axis=1)[:, ::2],
    "backwards": np.ascontiguousarray(TABLE.astype(float)[::-1])[::-1],
    "single precision": TABLE,
    "big-endian": TABLE.astype(">f8"),
    "fields of records": RECORDS["row"],
    "objects": TABLE.astype(object),
    "lists": TABLE.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_does_not_matter_how_a_table_lies_in_memory(layout):
    one, other = Grid.from_data(LAYOUTS["C"], 5), Grid.from_data(LAYOUTS[layout], 5)
    for feature in range(4):
        np.testing.assert_array_equal(one.lowest[feature], other.lowest[feature])
        np.testing.assert_array_equal(one.highest[feature], other.highest[feature])
    np.testing.assert_array_equal(other.encode(LAYOUTS[layout]), one.encode(LAYOUTS["C"]))


@pytest.mark.parametrize("layout", ["C", "F", "backwards"])
def test_a_table_is_read_and_not_changed(layout):
    table = LAYOUTS[layout].view()
    table.flags.writeable = False
    before = table.copy()
    model = BayesianTreeClassifier(max_bins=3, max_depth=2).fit(table, table[:, 0] > 0)
    model.predict_proba(table)
    np.testing.assert_array_equal(table, before)


def test_a_table_without_rows_has_no_codes():
    assert Grid.of_codes([2, 2]).encode(np.zeros((0, 2))).shape == (0, 2)


# Groups and cells


@given(code_rows(), st.sampled_from([np.uint8, np.uint16]), st.integers(1, 4))
def test_groups_are_those_of_sorted_rows(rows, dtype, n_workers):
    rows = rows.astype(dtype) * dtype(1 if dtype is np.uint8 else 257)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    groups, codes = _core.group_rows(rows, n_workers)
    assert len(groups) == len(distinct)
    np.testing.assert_array_equal(codes.reshape(distinct.shape), distinct)
    np.testing.assert_array_equal(groups.group_of, which.ravel())


@given(code_rows(), seeds, st.booleans())
def test_cells_have_the_bits_of_a_plain_sum(rows, seed, is_sliced):
    rng = np.random.default_rng(seed)
    statistics = rng.normal(size=(len(rows), 3))
    weights = np.where(rng.random(len(rows)) < 0.2, 0.0, rng.random(len(rows)))
    weights[rng.integers(len(rows))] = 1.0
    cells = Cells.from_rows(rows, statistics.__getitem__ if is_sliced else statistics, weights)
    assert_cells(cells, *plain_cells(rows, statistics, weights))


@pytest.mark.parametrize("n_features", [1, 6, 20])
def test_the_number_of_threads_changes_no_bit_of_many_rows(n_features):
    rng = np.random.default_rng(n_features)
    X = np.where(rng.random((N_MANY, n_features)) < 0.01, np.nan, rng.normal(size=(N_MANY, n_features)).round(2))
    statistics, weights = rng.normal(size=(N_MANY, 2)), rng.integers(0, 3, N_MANY) / 3
    expected = None
    for n_jobs in (1, 2, 3, 4):
        grid = Grid.from_data(X, 10, n_jobs=n_jobs)
        codes = grid.encode(X, n_jobs=n_jobs)
        cells = Cells.from_rows(codes, statistics, weights, grid.kinds, n_jobs=n_jobs)
        found = cells.codes, cells.statistics, cells.weights
        expected = expected or found
        assert_cells(cells, *expected)
        np.testing.assert_array_equal(codes[:, 0], plain_codes(grid, X[:, 0]))
    assert_cells(cells, *plain_cells(codes, statistics, weights))


@given(code_rows(), seeds, st.integers(1, 3), st.booleans(), st.integers(1, 4))
def test_labels_count_as_a_one_in_the_column_of_their_class(rows, seed, n_labels, is_weighted, n_jobs):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_labels, len(rows))
    weights = np.append(1.0, rng.choice([0.0, 0.1, 0.7, 3.0], len(rows) - 1)) if is_weighted else None
    cells = Cells.from_labels(rows, labels, n_labels, weights, n_jobs=n_jobs)
    expected = Cells.from_rows(rows, np.eye(n_labels)[labels], weights)
    assert_cells(cells, expected.codes, expected.statistics, expected.weights)


@pytest.mark.parametrize("labels", [[0], [0, 2], [-1, 0], [0.0, 1.0], [[0], [1]], ["a", "b"]])
def test_labels_that_make_no_sense_are_refused(labels):
    for weights in (None, [1.0, 0.0], [0.0, 1.0]):
        with pytest.raises(InvalidDataError, match="labels"):
            Cells.from_labels([[0], [1]], labels, 2, weights)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_labels_of_any_width_are_counted_alike(dtype):
    labels = np.array([0, 1, 1, 0, 1], dtype=dtype)
    for numbers in (labels, np.repeat(labels, 2)[::2], labels.astype(labels.dtype.newbyteorder())):
        cells = Cells.from_labels(np.array([[0], [0], [1], [1], [1]]), numbers, 2)
        assert cells.statistics.tolist() == [[1, 1], [1, 2]]


def test_a_label_that_is_too_large_is_told_whatever_its_type():
    for largest in (np.uint8(2), np.uint64(2**64 - 1)):
        with pytest.raises(InvalidDataError, match=f"labels must lie between 0 and 1, got 0 to {largest}"):
            Cells.from_labels([[0], [1]], np.array([0, largest], dtype=largest.dtype), 2)


def test_one_weight_for_all_rows_takes_no_memory_and_is_checked():
    rows, labels = np.zeros((3, 1), dtype=np.uint8), np.array([0, 1, 1])
    assert Cells.from_labels(rows, labels, 2, np.broadcast_to(0.5, 3)).statistics.tolist() == [[0.5, 1.0]]
    assert as_weights(np.broadcast_to(0.5, 3), 3).strides == (0,)
    for weight, message in [(0.0, "no rows with a positive weight"), (-1.0, "not negative"), (np.nan, "finite")]:
        with pytest.raises(InvalidDataError, match=message):
            Cells.from_labels(rows, labels, 2, np.broadcast_to(weight, 3))
    with pytest.raises(InvalidDataError, match=r"shape \(4,\)"):
        as_weights(np.broadcast_to(0.5, 4), 3)


def test_statistics_of_many_rows_are_asked_for_in_order():
    asked, n_rows = [], 600_000

    def statistics_of(rows):
        asked.append((rows.start, rows.stop))
        return np.ones((rows.stop - rows.start, 1))

    weights = np.arange(n_rows) % 2
    cells = Cells.from_rows(np.zeros((n_rows, 1), dtype=np.uint8), statistics_of, weights)
    assert cells.statistics.tolist() == [[n_rows / 2]]
    assert len(asked) > 1
    assert [start for start, _ in asked] == [0, *(stop for _, stop in asked[:-1])]
    assert asked[-1][1] == n_rows


def test_what_does_not_belong_together_is_refused():
    groups, _ = _core.group_rows(np.zeros((3, 1), dtype=np.uint8), 1)
    ones, sums = np.ones((3, 1)), np.zeros((1, 2))
    for begin, statistics, weights, into in [
        (1, ones, np.ones(3), sums),
        (4, ones[:0], np.ones(0), sums),
        (0, ones, np.ones(2), sums),
        (0, ones, np.ones(3), np.zeros((1, 1))),
        (0, ones, np.ones(3), np.zeros((2, 2))),
    ]:
        with pytest.raises(ValueError, match="do not belong"):
            groups.add_up(begin, statistics, weights, into, 1)
    for labels, into in [([0, 0], np.zeros((1, 2))), ([0, 0, 0], np.zeros((1, 0)))]:
        with pytest.raises(ValueError, match="do not belong"):
            groups.count_labels(np.array(labels, dtype=np.int64), np.ones(3), into, 1)
    for label in (-1, 1):
        with pytest.raises(IndexError, match="a label is negative, or not below"):
            groups.count_labels(np.array([0, 0, label]), np.ones(3), np.zeros((1, 2)), 1)
    with pytest.raises(ValueError, match="same length"):
        _core.survey([np.ones(2), np.ones(3)], 5, 1)
    with pytest.raises(ValueError, match="needs its cuts"):
        _core.encode([np.ones(2)], [], [0], 1)
    with pytest.raises(ValueError, match="too many cuts"):
        _core.encode([np.ones(2)], [np.arange(255.0)], [1], 1)


# Labels


@given(st.lists(st.integers(0, 300), min_size=1, max_size=400), st.sampled_from(["i8", "u2", "f4", "U4", "?", "O"]))
def test_labels_are_numbered_as_if_sorted(drawn, dtype):
    labels = np.array(drawn * 3).astype("U4" if dtype == "O" else dtype).astype(dtype)
    classes, places = _number_labels(labels)
    expected, which = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(classes, expected)
    np.testing.assert_array_equal(places, which)
    assert classes.dtype == expected.dtype


@pytest.mark.parametrize("n_classes", [1, 2, 255, 256, 5000])
def test_rare_labels_of_many_rows_are_found(n_classes):
    labels = np.zeros(N_MANY, dtype=int)
    labels[np.random.default_rng(1).permutation(N_MANY)[:n_classes]] = np.arange(n_classes)
    classes, places = _number_labels(labels)
    assert classes.tolist() == list(range(n_classes))
    np.testing.assert_array_equal(classes[places], labels)


def test_numbers_are_no_labels_however_many_there_are():
    numbers = np.random.default_rng(2).normal(size=N_MANY)
    with pytest.raises(InvalidDataError, match="continuous"):
        _number_labels(numbers)
    with pytest.raises(InvalidDataError, match="continuous"):
        _number_labels(np.array([0.5, 0.5, 1.0]))


def test_a_category_has_to_be_hashable_all_through():
    rows = np.empty((2, 1), dtype=object)
    rows[:, 0] = [("a",), ("b", [])]
    with pytest.raises(InvalidDataError, match=r"\(row 1\), which cannot be a category"):
        Grid.from_data(rows, categorical_features=[0])


# All together


@pytest.mark.parametrize("kind", [BayesianTreeClassifier, BayesianTreeRegressor])
def test_many_rows_are_fitted_and_predicted_alike_by_any_number_of_threads(kind):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (N_MANY, 3)) + np.where(rng.random((N_MANY, 3)) < 0.001, np.nan, 0.0)
    y = np.where(X[:, 0] > 1, 1, 0) ^ (rng.random(N_MANY) < 0.2)
    models = [kind(max_depth=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3)]
    assert len({model.posterior_.log_evidence for model in models}) == 1
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    few = rng.permutation(N_MANY)[:500]
    np.testing.assert_array_equal(models[0].predict(X)[few], models[0].predict(X[few]))
