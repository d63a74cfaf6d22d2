"""Trees in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bcart.colours import colour_of, lighter
from bcart.export.wording import Wording
from bcart.memory import within_memory
from bcart.tree import Tree

_HEAD = """\
digraph tree {
  graph [ordering=out, nodesep=0.25, ranksep=0.35, bgcolor=transparent]
  node [shape=box, style="rounded,filled", fillcolor="#f4f4f4", color="#666666", fontname="Helvetica", fontsize=11,
        margin="0.14,0.07"]
  edge [color="#666666", fontname="Helvetica", fontsize=10, fontcolor="#666666", arrowsize=0.6]"""
_FAINTEST, _STRONGEST = 0.12, 0.85  # how much of its colour a leaf shows


@within_memory()
def write_dot(tree: Tree, level: float = 0.95) -> str:
    """Return a digraph: questions, yes to the left and no to the right, and leaves in the colours of their classes."""
    wording = Wording(tree, level)
    return "\n".join([_HEAD, *_statements(wording), "}"]) + "\n"


def _statements(wording: Wording) -> Iterator[str]:
    tree = wording.tree
    colours = _leaf_colours(tree)
    for node in range(tree.n_nodes):
        if tree.feature[node] < 0:
            yield f'  {node} [label="{_leaf_label(wording, node)}", fillcolor="{colours[node]}", style=filled]'
        else:
            yield f'  {node} [label="{_escape(tree.describe_test(node))}"]'
            yield f'  {node} -> {tree.left[node]} [label=" yes"]'
            yield f'  {node} -> {tree.right[node]} [label=" no"]'


def _leaf_label(wording: Wording, leaf: int) -> str:
    """Write a leaf in up to four lines."""
    lines = [wording.name(leaf)]
    if wording.tree.classes is not None:
        lines.append(f"p = {wording.number(wording.tree.predictive[leaf].max())}")
    ends = wording.ends(leaf)
    lines += [] if ends is None else [f"{wording.percent}: {ends[0]} to {ends[1]}"]
    lines += [f"n = {wording.rows(leaf)}"] if wording.rows(leaf) else []
    return r"\n".join(map(_escape, lines))


def _leaf_colours(tree: Tree) -> list[str]:
    """Return a colour for each node: of the class, stronger where it is more probable; or of the target."""
    best = np.argmax(tree.predictive, axis=1)
    values = tree.predictive[np.arange(tree.n_nodes), best]
    if tree.classes is None:
        inside = values[tree.feature < 0]
        least, most = float(inside.min()), float(inside.max())
    else:
        least, most = 1 / len(tree.classes), 1.0
    shares = np.clip((values - least) / (most - least), 0, 1) if most > least else np.zeros(tree.n_nodes)
    strengths = _FAINTEST + (_STRONGEST - _FAINTEST) * np.nan_to_num(shares)
    return [lighter(colour_of(int(place)), 1 - float(s)) for place, s in zip(best, strengths, strict=True)]


def _escape(text: str) -> str:
    r"""Return text that means itself in a quoted label, where ``\N`` and ``&amp;`` mean something else.

    Examples
    --------
    >>> print(_escape('a "b" \\N &amp;'))
    a \"b\" \\N &amp;amp;
    """
    visible = "".join(c if c.isprintable() else " " for c in text)
    return visible.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
