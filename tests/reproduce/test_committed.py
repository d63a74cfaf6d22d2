"""The results in docs/reproduction belong together, and say what the page says of them."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

from bcart.reproduce.paper import PAPER, ROUNDING

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "reproduction"
TITLES = {
    "Iris": "iris",
    "Caesarian": "caesarian",
    "Haberman": "haberman",
    "Vertebral": "vertebral",
    "Vertebral, 3 classes": "vertebral3",
    "Hidden XOR": "xor",
}
TABLES = {
    "tree_accuracy": ("accuracy", ("CART", "best tree")),
    "ensemble_accuracy": ("accuracy", ("random forest", "ensemble")),
    "nodes": ("nodes", ("CART", "best tree")),
}
AS_THE_PAPER = {"iris": "iris", "caesarian": "caesarian", "haberman": "haberman", "vertebral3": "vertebral"}


def read(name):
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def folds():
    """The numbers of every fold by dataset, binning, model and measure: trials times folds."""
    head, *lines = read("folds")
    found = defaultdict(dict)
    for line in lines:
        row = dict(zip(head, line, strict=True))
        for measure in ("accuracy", "nodes"):
            key = (row["dataset"], row["binning"], row["model"], measure)
            found[key][int(row["trial"]), int(row["fold"])] = float(row[measure] or "nan")
    return {key: np.array([[cells[t, f] for f in range(10)] for t in range(5)]) for key, cells in found.items()}


def cells(name):
    """Dataset, binning, model and our text, of every cell of a table."""
    _, *lines = read(name)
    title = ""
    for line in lines:
        title, binning = line[0] or title, "none" if line[1] == "–" else line[1]
        for model, text in zip(TABLES[name][1], line[3::2], strict=True):
            if text != "–":
                yield TITLES[title], binning, model, text


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_folds(folds, name):
    measure, digits = TABLES[name][0], 1 if name == "nodes" else 3
    seen = 0
    for dataset, binning, model, text in cells(name):
        values = folds[dataset, binning, model, measure]
        trials = values.mean(axis=1)
        half_width = student.ppf(0.975, 4) * trials.std(ddof=1) / 5**0.5
        spread = 1.96 * values.var(axis=1, ddof=1).mean() ** 0.5
        expected = [trials.mean(), half_width, spread]
        mean, rest = text.rstrip(" ▲▼").split(" ± ")
        half, brackets = rest.split(" (")
        shown = [float(mean), float(half), float(brackets.rstrip(")"))]
        assert shown == pytest.approx(expected, abs=0.51 * 10**-digits)
        seen += 1
    assert seen == 2 * 20 - 5  # two models a line; raw numbers are not for ours


@pytest.mark.parametrize("name", TABLES)
def test_marks_are_where_the_papers_interval_ends(folds, name):
    measure = TABLES[name][0]
    for dataset, binning, model, text in cells(name):
        number = PAPER[measure, model][dataset.rstrip("3")]
        distance = folds[dataset, binning, model, measure].mean() - number.mean
        is_outside = abs(distance) > number.half_width + ROUNDING[measure] + 1e-9
        assert text.endswith("▲") == (is_outside and distance > 0)
        assert text.endswith("▼") == (is_outside and distance < 0)


def outside(folds, measure):
    """Which numbers on the real data leave the paper's intervals, in the reading that fits best."""
    for (of_measure, model), numbers in PAPER.items():
        for ours, theirs in AS_THE_PAPER.items():
            mean = folds[ours, "edges", model, measure].mean()
            if of_measure == measure and numbers[theirs].place(mean, ROUNDING[measure]) != 0:
                yield model, ours


def test_with_edges_and_three_classes_all_accuracies_are_within_the_papers_intervals(folds):
    assert list(outside(folds, "accuracy")) == []


def test_with_edges_and_three_classes_only_the_size_without_an_interval_is_another(folds):
    assert list(outside(folds, "nodes")) == [("best tree", "iris")]


def test_the_best_tree_of_hidden_xor_is_right_in_every_fold(folds):
    assert (folds["xor", "none", "best tree", "nodes"] == 31).all()
    assert (folds["xor", "none", "best tree", "accuracy"] == 1).all()
    assert (folds["xor", "none", "ensemble", "accuracy"] == 1).all()
