"""Trees and posteriors in notebooks."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import bcart
from bcart.colours import colour_of
from bcart.export import write_html
from bcart.testing.trees import random_tree

ALLOWED = {"div", "table", "thead", "tbody", "tr", "td", "th", "span", "b"}


class Reader(HTMLParser):
    """Follows tags, which must be closed in the order in which they were opened, and collects rows of text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.rows, self.styles = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "colspan"}
        self.styles += [value for name, value in attrs if name == "style"]
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += text


@pytest.fixture(scope="module")
def posterior():
    X = np.repeat(np.arange(6.0), 5)[:, None]
    return bcart.BayesianTreeClassifier().fit(X, np.where(X[:, 0] < 2.5, "ill", "well")).posterior_


def test_a_tree_is_a_table_with_a_row_for_each_node(posterior):
    tree = posterior.map_tree()
    low, high = tree.interval()
    head, *rows = Reader(tree._repr_html_()).rows
    assert head == ["", "class", "", "p", "95 %", "n"]
    assert rows == [
        ["x0 < 2.5", "", "30"],
        ["├─ yes ", "ill", "", "0.941", f"{low[1, 0]:.3f} to {high[1, 0]:.3f}", "15"],
        ["└─ no  ", "well", "", "0.941", f"{low[2, 1]:.3f} to {high[2, 1]:.3f}", "15"],
    ]


def test_intervals_are_of_the_level_that_is_asked_for(posterior):
    tree = posterior.map_tree()
    low, high = tree.interval(0.5)
    head, _, ill, _ = Reader(write_html(tree, 0.5)).rows
    assert (head[4], ill[4]) == ("50 %", f"{low[1, 0]:.3f} to {high[1, 0]:.3f}")
    assert write_html(tree) == write_html(tree, 0.95) == tree._repr_html_()


def test_bars_are_as_long_as_classes_are_probable(posterior):
    page = posterior.map_tree()._repr_html_()
    assert re.findall(r"left:0;width:([\d.]+)%", page) == ["94.12", "94.12"]
    low, high = posterior.map_tree().interval()
    assert f"left:{100 * low[1, 0]:.2f}%;width:{100 * (high[1, 0] - low[1, 0]):.2f}%" in page


def test_a_regression_tree_shows_targets_and_their_standard_deviation():
    X = np.arange(40.0)[:, None]
    tree = bcart.BayesianTreeRegressor().fit(X, np.where(X[:, 0] < 20, 5.0, 9.0)).tree_
    head, _, first, second = Reader(tree._repr_html_()).rows
    assert head == ["", "expected", "", "95 %", "sd", "n"]
    low, high = tree.interval()
    interval = f"{low[1, 0]:.5g} to {high[1, 0]:.5g}"
    assert first == ["├─ yes ", f"{tree.predictive[1, 0]:.5g}", "", interval, f"{tree.std[1]:.3g}", "20"]
    assert second[1] == f"{tree.predictive[2, 0]:.5g}"


def test_a_tree_without_leaf_model_and_rows_is_shown_without_intervals():
    tree = bcart.Tree([-1], [np.nan], [-1], [-1], [[0.0]], [[3.0]], ("x",))
    assert Reader(tree._repr_html_()).rows[1] == ["", "3", "", "", "", ""]


def test_names_of_any_kind_are_text():
    evil = "<script>alert(1)</script>&\"'"
    tree = replace(
        random_tree(np.random.default_rng(0), 9, classes=[evil, "b"]),
        feature_names=(evil,) * 5,
        categories=(None, None, None, (evil,) * 4, (evil,) * 3),
    )
    page = tree._repr_html_()
    assert "<script" not in page
    assert any(evil in cell for row in Reader(page).rows for cell in row)


def test_big_trees_are_cut():
    tree = random_tree(np.random.default_rng(0), 500)
    rows = Reader(tree._repr_html_()).rows
    assert rows[-1] == ["… and 800 more nodes"]
    assert len(rows) == 1 + 199 + 1


def test_nothing_is_fetched_and_no_colour_of_text_is_set(posterior):
    """So that it looks right on dark pages, too."""
    page = posterior._repr_html_()
    assert "http" not in page
    assert "<style" not in page
    colours = re.findall(r"(?:^|[;\"])(?:color|background):([^;\"]+)", page)
    assert set(colours) <= {"currentColor", "rgba(128,128,128,0.2)", colour_of(0), colour_of(1)}


def test_a_posterior_tells_its_facts_and_its_best_tree(posterior):
    page = posterior._repr_html_()
    facts = dict(row for row in Reader(page).rows if len(row) == 2)
    assert facts == {
        "exact for": "all trees",
        "trees": f"{np.exp(posterior.log_n_trees):.0f}",
        "log evidence": f"{posterior.log_evidence:.4f}",
        "prior": "LeafCountPrior(log_phi=2.0)",
        "leaves": "DirichletLeaf(alpha=(1.0, 1.0))",
        "features": "1: x0",
        "classes": "2: ill, well",
        "cells": "6",
        "boxes": f"{posterior.n_boxes}",
        "splits": f"{posterior.n_splits}",
    }
    assert "Most probable tree" in page
    assert "x0 &lt; 2.5" in page


def test_many_classes_do_not_fill_the_page():
    y = [f"class {i % 100}" for i in range(300)]
    page = bcart.BayesianTreeClassifier(max_depth=1).fit(np.arange(300.0)[:, None], y).posterior_._repr_html_()
    facts = {row[0]: row[1] for row in Reader(page).rows if len(row) == 2}
    assert facts["leaves"].startswith("DirichletLeaf(alpha=(1.0, 1.0")
    assert max(len(fact) for fact in facts.values()) < 210
    assert facts["classes"].startswith("100: class 0, class 1, ")


def test_a_folded_posterior_does_not_look_for_what_takes_long():
    X = np.random.default_rng(0).integers(0, 4, (60, 3)).astype(float)
    grid = bcart.Grid.from_data(X)
    cells = bcart.Cells.from_labels(grid.encode(X), (X[:, 0] > 1).astype(int), 2, kinds=grid.kinds)
    graph = bcart.build_graph(cells, bcart.Family(max_depth=3), folding="always")
    posterior = bcart.Posterior(graph, grid=grid)
    facts = {row[0]: row[1] for row in Reader(posterior._repr_html_()).rows if len(row) == 2}
    assert "trees" not in facts
    assert facts["exact for"] == "all trees up to depth 3"
    assert "Most probable tree" not in posterior._repr_html_()
    posterior.map_tree()
    assert "Most probable tree" in posterior._repr_html_()
