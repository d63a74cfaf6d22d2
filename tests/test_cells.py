"""Cells: distinct rows of codes, and sums over the rows behind them."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcart import Cells, InvalidDataError, InvalidModelError
from bcart.cells import as_weights


@st.composite
def coded_rows(draw):
    n_features = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 9]))  # around the number of columns packed at once
    code = st.sampled_from([0, 1, 2, 254])
    rows = draw(st.lists(st.tuples(*[code] * n_features), min_size=1, max_size=30))
    labels = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(rows), max_size=len(rows)).filter(any))
    return rows, labels, weights


@given(coded_rows())
def test_rows_with_equal_codes_add_up(drawn):
    rows, labels, weights = drawn
    sums = Counter()
    for row, label, weight in zip(rows, labels, weights, strict=True):
        sums[row, label] += weight
    expected = {row: [sums[row, label] for label in range(3)] for row, _ in sums if any(sums[row, k] for k in range(3))}
    cells = Cells.from_rows(rows, np.eye(3)[labels], weights)
    found = dict(zip(map(tuple, cells.codes.tolist()), cells.statistics.tolist(), strict=True))
    assert found == expected
    assert cells.weights.tolist() == [sum(counts) for counts in found.values()]


@given(coded_rows(), st.randoms())
def test_the_order_of_rows_does_not_matter(drawn, random):
    rows, labels, weights = drawn
    order = random.sample(range(len(rows)), len(rows))
    one = Cells.from_rows(rows, np.eye(3)[labels], weights)
    other = Cells.from_rows(
        [rows[i] for i in order], np.eye(3)[[labels[i] for i in order]], [weights[i] for i in order]
    )
    np.testing.assert_array_equal(one.codes, other.codes)
    np.testing.assert_array_equal(one.statistics, other.statistics)


def test_cells_can_be_made_straight_from_counts():
    cells = Cells(codes=[[0, 3], [1, 0]], statistics=[[5, 0], [1e9, 2.5]])
    assert (cells.n_cells, cells.n_bins) == (2, (2, 4))
    assert cells.weights.tolist() == [5.0, 1e9 + 2.5]


def test_weights_need_not_be_the_sum_of_the_statistics():
    assert Cells([[0]], [[3.0, -7.0]], weights=[2.0]).weights.tolist() == [2.0]


def test_cells_are_copies_that_nobody_can_change():
    codes, statistics = np.array([[0], [1]], dtype=np.uint8), np.ones((2, 2))
    cells = Cells(codes, statistics)
    codes[0], statistics[0] = 1, 9
    assert cells.codes.tolist() == [[0], [1]]
    assert cells.statistics.tolist() == [[1, 1], [1, 1]]
    for array in (cells.codes, cells.statistics, cells.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        cells.codes = codes


@pytest.mark.parametrize(
    "codes",
    [[], [[]], [0, 1], [[[0]]], [[0.5]], [["a"]], [[-1]], [[256]], [[True]], [[0], [1, 2]], [[0], [0]], None],
)
def test_codes_that_make_no_sense_are_refused(codes):
    with pytest.raises(InvalidDataError):
        Cells(codes, np.ones((1 if codes is None else len(codes), 1)))


def test_codes_go_from_0_to_255():
    assert Cells([[0], [255]], [[1.0], [1.0]]).n_bins == (256,)


def test_codes_are_numeric_unless_said_otherwise():
    codes, counts = [[0, 0], [1, 1]], [[1.0], [1.0]]
    assert Cells(codes, counts).kinds == ("numeric", "numeric")
    assert Cells(codes, counts, kinds=["optional", "nominal"]).kinds == ("optional", "nominal")
    assert Cells.from_rows(codes, counts, kinds=("nominal", "numeric")).kinds == ("nominal", "numeric")


@pytest.mark.parametrize("kinds", [["numeric"], ["numeric"] * 3, ["numeric", "ordinal"], "numeric", []])
def test_kinds_that_make_no_sense_are_refused(kinds):
    with pytest.raises(InvalidDataError, match="numeric, optional, nominal for each of 2 features"):
        Cells([[0, 0], [1, 1]], [[1.0], [1.0]], kinds=kinds)


@pytest.mark.parametrize(
    ("statistics", "weights"),
    [
        ([[1.0]], None),
        ([[1.0], [1.0], [1.0]], None),
        ([[1.0], [np.nan]], None),
        ([[1.0], [np.inf]], None),
        ([[1.0], [0.0]], None),
        ([[1.0], [1.0]], [1.0]),
        ([[1.0], [1.0]], [1.0, 0.0]),
        ([[1.0], [1.0]], [1.0, -1.0]),
        ([[1.0], [1.0]], [1.0, np.nan]),
        ([[1.0], [1.0]], "ab"),
        ([["a"], ["b"]], None),
        ([[1.0], [1.0, 2.0]], None),
        (np.ones((2, 1, 1)), [1.0, 1.0]),
    ],
)
def test_statistics_and_weights_that_make_no_sense_are_refused(statistics, weights):
    with pytest.raises(InvalidDataError):
        Cells([[0], [1]], statistics, weights)


@pytest.mark.parametrize("statistics", [[[1.0]], [1.0, 1.0], np.ones((3, 1)), np.ones((2, 1, 1)), [["a"], ["b"]]])
def test_rows_need_a_row_of_statistics_each(statistics):
    with pytest.raises(InvalidDataError):
        Cells.from_rows([[0], [1]], statistics)


def test_rows_of_weight_zero_are_absent():
    cells = Cells.from_rows([[0], [1], [0]], np.eye(3), [1, 0, 2])
    assert cells.codes.tolist() == [[0]]
    assert cells.statistics.tolist() == [[1, 0, 2]]
    with pytest.raises(InvalidDataError, match="no rows with a positive weight"):
        Cells.from_rows([[0]], [[1.0]], [0])


def test_weights_are_one_a_row_and_not_negative():
    assert as_weights(None, 3).tolist() == [1, 1, 1]
    assert as_weights([0, 2], 2).tolist() == [0, 2]
    for wrong, said in (([1, -2], r"-2\.0 \(row 1\)"), ([np.nan, 1], r"nan \(row 0\)"), ([1], "shape"), (2.0, "shape")):
        with pytest.raises(InvalidDataError, match=said):
            as_weights(wrong, 2)


def test_more_labels_than_can_be_counted_are_refused():
    with pytest.raises(InvalidModelError, match="n_labels"):
        Cells.from_labels([[0], [1]], [0, 1], n_labels=2**62)


@pytest.mark.parametrize(
    "statistics",
    [5, np.ones(3), np.ones((2, 1)), np.ones((3, 0)), np.ones((3, 1, 1)), [[1], [1, 2], [3]], "text", None],
)
def test_a_function_must_return_a_row_of_statistics_for_each_row(statistics):
    with pytest.raises(InvalidDataError, match="statistics"):
        Cells.from_rows([[0], [1], [0]], lambda rows: statistics)


def test_a_function_must_return_as_many_statistics_for_all_rows():
    def statistics(rows):
        return np.ones((rows.stop - rows.start, 1 if rows.start == 0 else 2))

    with pytest.raises(InvalidDataError, match="in 1 columns"):
        Cells.from_rows(np.zeros((300_000, 1), dtype=np.uint8), statistics)


def test_a_function_may_return_lists():
    assert Cells.from_rows([[0], [1], [0]], lambda rows: [[1], [2], [3]]).statistics.tolist() == [[4.0], [2.0]]


def test_what_is_no_column_of_labels_is_refused():
    for labels in ([[0], [0, 1]], "ab", None, [0.5, 1.0], [10**400, 0]):
        with pytest.raises(InvalidDataError, match="labels"):
            Cells.from_labels([[0], [1]], labels, n_labels=2)


@pytest.mark.parametrize("wrong", [[[10**400]], [["a"]], [[1], [1, 2]]])
def test_statistics_that_are_no_numbers_are_refused(wrong):
    with pytest.raises(InvalidDataError, match="statistics must be numbers"):
        Cells([[0]], wrong)
    with pytest.raises(InvalidDataError, match="sample_weight must be numbers"):
        as_weights([10**400, 1], 2)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_nobody_can_change_a_copy_of_cells(duplicate):
    cells = duplicate(Cells([[0], [1]], [[1.0], [2.0]]))
    assert not any(array.flags.writeable for array in (cells.codes, cells.statistics, cells.weights))
    assert (cells.n_cells, cells.kinds) == (2, ("numeric",))
