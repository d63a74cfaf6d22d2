"""The paper's numbers are transcribed without error, and mean what we say they mean."""

import itertools

import numpy as np
import pytest

from bcart.reproduce.paper import PAPER, ROUNDING, Quoted, as_ten_folds, quoted

# Read from the paper's tables a second time, row by row: CART, best tree, random forest, ensemble; CART, best tree.
ROWS = """
iris       0.967±0.069  0.967±0.092  0.96±0.091   0.967±0.092   19.6±4.2     7.0±0.0
caesarian  0.525±0.193  0.562±0.311  0.55±0.263   0.562±0.289   70.2±2.0     3.2±2.2
haberman   0.706±0.219  0.719±0.166  0.703±0.197  0.716±0.205   161.0±17.3   5.6±3.2
vertebral  0.713±0.167  0.716±0.215  0.726±0.191  0.732±0.211   106.2±8.1    15.6±4.5
xor        0.718±0.217  1.0±0.0      0.78±0.121   1.0±0.0       392.2±103.5  31.0±0.0
"""
COLUMNS = [
    ("accuracy", "CART"),
    ("accuracy", "best tree"),
    ("accuracy", "random forest"),
    ("accuracy", "ensemble"),
    ("nodes", "CART"),
    ("nodes", "best tree"),
]
CELLS = [
    (dataset, column, cell)
    for dataset, *cells in map(str.split, ROWS.strip().splitlines())
    for column, cell in zip(COLUMNS, cells, strict=True)
]


@pytest.mark.parametrize(("dataset", "column", "cell"), CELLS)
def test_the_numbers_are_those_of_the_paper(dataset, column, cell):
    mean, half_width = map(float, cell.split("±"))
    number = PAPER[column][dataset]
    assert number.mean == mean
    assert number.half_width == pytest.approx(half_width, abs=0.05 if column[0] == "nodes" else 0)


def test_there_are_no_other_numbers():
    assert sum(len(column) for column in PAPER.values()) == len(CELLS)


@pytest.mark.parametrize(("dataset", "column", "cell"), [cell for cell in CELLS if cell[1][0] == "nodes"])
def test_every_size_is_the_mean_of_ten_trees_with_its_1_96_deviations(dataset, column, cell):
    assert as_ten_folds(PAPER[column][dataset]) is not None


def test_ten_trees_are_found_again_from_their_mean_and_deviation():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = 2 * rng.integers(0, 20, 10) + 1
        number = Quoted(round(sizes.mean(), 3), round(1.96 * sizes.std(ddof=1), 3))
        assert as_ten_folds(number) == (sizes.sum(), (sizes**2).sum())


def test_some_sizes_cannot_be_the_mean_of_five_trees():
    sums = {5 * number.mean for column, numbers in PAPER.items() if column[0] == "nodes" for number in numbers.values()}
    assert {round(total) for total in sums if round(total) % 2 == 0} == {98, 16, 28, 78}  # five odd numbers sum up odd


def test_few_deviations_of_five_trees_are_those_of_ten():
    sizes = np.array(list(itertools.product((1, 3, 5, 7), repeat=5)))
    looks = [as_ten_folds(Quoted(row.mean(), round(1.96 * row.std(ddof=1), 3))) is not None for row in sizes]
    assert np.mean(looks) < 0.05


@pytest.mark.parametrize(
    ("value", "place"), [(6.94, -1), (6.95, 0), (7.0, 0), (7.05, 0), (7.06, 1), (6.0, -1), (8.0, 1)]
)
def test_a_value_is_outside_where_it_would_be_printed_as_another(value, place):
    assert Quoted(7.0, 0.0).place(value, ROUNDING["nodes"]) == place


@pytest.mark.parametrize(("value", "place"), [(0.69, 0), (0.31, 0), (0.7015, 1), (0.2985, -1)])
def test_a_value_is_within_up_to_the_ends(value, place):
    assert Quoted(0.5, 0.2).place(value, ROUNDING["accuracy"]) == place


def test_what_the_paper_does_not_report_is_nothing():
    assert quoted("nodes", "random forest", "iris") is None
    assert quoted("log_loss", "CART", "iris") is None
