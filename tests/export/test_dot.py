"""Trees for Graphviz."""

import html
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import bcart
from bcart.testing.trees import random_tree

QUOTED = r'"((?:[^"\\]|\\.)*)"'


def statements(dot):
    """The labels of nodes, and the edges with theirs."""
    nodes = {int(number): label for number, label in re.findall(rf"^  (\d+) \[label={QUOTED}", dot, re.M)}
    edges = {
        (int(a), int(b)): label.strip() for a, b, label in re.findall(rf"^  (\d+) -> (\d+) \[label={QUOTED}", dot, re.M)
    }
    return nodes, edges


def test_every_node_is_drawn_and_joined_to_its_children():
    tree = random_tree(np.random.default_rng(0), 12)
    nodes, edges = statements(tree.to_dot())
    splits = np.flatnonzero(tree.feature >= 0)
    assert sorted(nodes) == list(range(tree.n_nodes))
    assert edges == {
        **{(node, tree.left[node]): "yes" for node in splits},
        **{(node, tree.right[node]): "no" for node in splits},
    }


def test_leaves_tell_class_probability_interval_and_rows():
    tree = bcart.BayesianTreeClassifier().fit([[0.0]] * 9 + [[1.0]] * 9, ["ill"] * 9 + ["well"] * 9).tree_
    nodes, _ = statements(tree.to_dot(level=0.5))
    low, high = tree.interval(0.5)
    assert nodes[0] == "x0 < 0.5"
    assert nodes[1] == rf"ill\np = 0.909\n50 %: {low[1, 0]:.3f} to {high[1, 0]:.3f}\nn = 9"


def colours(tree):
    return [tuple(bytes.fromhex(found)) for found in re.findall(r'fillcolor="#(\w+)", style=filled', tree.to_dot())]


def test_leaves_of_one_class_share_a_hue_and_the_sure_ones_are_stronger():
    drawn = random_tree(np.random.default_rng(0), 3, classes=["ill", "well"])
    chances = np.full((5, 2), 0.5)
    leaves = np.flatnonzero(drawn.feature < 0)
    chances[leaves] = [[0.95, 0.05], [0.6, 0.4], [0.1, 0.9]]
    sure, unsure, other = colours(replace(drawn, predictive=chances))
    assert np.argmax(sure) == np.argmax(unsure) != np.argmax(other)
    assert sum(sure) < sum(unsure)


def test_larger_targets_are_stronger():
    drawn = random_tree(np.random.default_rng(0), 3, classes=None)
    predictive = np.zeros((5, 1))
    predictive[drawn.feature < 0, 0] = [1.0, 2.0, 3.0]
    assert sorted(colours(replace(drawn, predictive=predictive)), reverse=True) == colours(
        replace(drawn, predictive=predictive)
    )


HOSTILE = (
    '"; evil [label="x"]; "',
    "\\",
    "\\N\\G",
    "a\nb",
    "&lt;b&gt; <b>",
    "<i>not html</i>",
    '\\"',
    "日本",
    "%",
    "{a|b}",
)


def hostile_tree():
    """Its n-th leaf predicts the n-th class."""
    n = len(HOSTILE)
    tree = random_tree(np.random.default_rng(1), n, classes=HOSTILE, kinds=["label"])
    predictive = np.full((tree.n_nodes, n), 1 / n)
    predictive[tree.feature < 0] = np.eye(n)
    labels = (None, None, None, HOSTILE, HOSTILE)
    return replace(tree, feature_names=("a", "b", "c", *HOSTILE[:2]), predictive=predictive, categories=labels)


def test_names_of_any_kind_stay_within_their_quotes():
    dot = hostile_tree().to_dot()
    nodes, edges = statements(dot)
    assert len(nodes) == len(edges) + 1 == hostile_tree().n_nodes
    rest = re.sub(QUOTED, "", dot)
    assert "evil" not in rest
    assert '"' not in rest


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_draws_names_as_they_are():
    drawn = subprocess.run(["dot", "-Tsvg"], input=hostile_tree().to_dot(), capture_output=True, text=True, check=True)
    texts = {html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", drawn.stdout)}
    assert {name.replace("\n", " ") for name in HOSTILE} <= {text.replace("\xa0", " ") for text in texts}
    assert drawn.stderr == ""
