"""A picture of one tree."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from bcart.memory import within_memory
from bcart.plotting.colours import BOX, FAINT, INK, LINE, PAPER, QUIET
from bcart.plotting.frame import size_of
from bcart.plotting.leaf_rows import GAP, Label, LeafRows, Strip, describe_leaves
from bcart.plotting.sources import tree_of
from bcart.plotting.text import ScaledText, text_width, write_chance
from bcart.plotting.tree_layout import BOX_HEIGHT, PADDING, SIZE, SMALL, Skeleton, lay_out
from bcart.tree import Tree

WIDTH = 9.0  # of the whole, if the tree is not too deep for it
LEAST_ROOM = 3.5
MARGIN = 0.12
EDGE = 0.03  # for the lines of boxes
HEAD = 0.3  # above the rows, for the headings of columns
FOOT = 0.42  # below them, for scales
TITLE = 0.24
LARGEST = 1.5  # times the natural size
TITLE_SIZE = 10.0


@within_memory()
def plot_tree(tree: Any, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw a tree from left to right: its tests, and one row for each leaf with what it predicts and how sure it is.

    Classes have bars for their probabilities, with credible intervals: one bar shared by two classes, a column for
    each of up to five, and beyond these the bar of the most probable class alone. Numbers and counts have a point for
    the mean and a line for its credible interval, on one scale for all leaves, with the mean of all rows as a dotted
    line; an arrow marks an interval that goes on beyond the scale. Edges are the wider the more rows go along them.
    Long names are shortened in the middle.

    Parameters
    ----------
    tree : Tree, Posterior, BayesianTreeClassifier or BayesianTreeRegressor
        Of a posterior or an estimator the most probable tree is drawn.
    ax : Axes, optional
        Where to draw; text and boxes shrink or grow with it. By default a new figure of the size that the tree needs.
    level : float
        Probability of the credible intervals, which hold if this tree is the right one. A tree without a leaf model
        has none.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bcart import BayesianTreeClassifier
    >>> from bcart.datasets import load_haberman
    >>> haberman = load_haberman()
    >>> model = BayesianTreeClassifier(log_phi=4.0).fit(haberman.data, haberman.target)
    >>> ax = plot_tree(model, ax=Figure().add_subplot())
    >>> ax.get_title(loc="left")
    'Tree with 2 leaves, posterior probability 0.217'
    """
    drawn = tree_of(tree)
    rows = describe_leaves(drawn, level)
    skeleton = lay_out(drawn, max(LEAST_ROOM, WIDTH - rows.width))
    title = _title(drawn)
    note = f"{100 * level:g} % credible intervals" if drawn.leaf is not None else ""
    width = 2 * EDGE + max(skeleton.end + rows.width, text_width(title, TITLE_SIZE), text_width(note, SMALL))
    height = HEAD + skeleton.row_height * drawn.n_leaves + FOOT
    ax, scale = _prepare(ax, width, height)
    size = TITLE_SIZE * min(1.2, max(0.7, scale))
    ax.set_title(title, loc="left", fontsize=size, color=INK, pad=4, parse_math=False)
    _draw_rows(ax, drawn, skeleton, rows, note)
    _draw_edges(ax, drawn, skeleton)
    _draw_boxes(ax, drawn, skeleton)
    return ax


def _title(tree: Tree) -> str:
    leaves = "1 leaf" if tree.n_leaves == 1 else f"{tree.n_leaves} leaves"
    known = "" if np.isnan(tree.log_probability) else f", posterior probability {write_chance(tree.log_probability)}"
    return f"Tree with {leaves}{known}"


def _prepare(ax: Axes | None, width: float, height: float) -> tuple[Axes, float]:
    """Return axes, new ones if none are given, whose data units are inches of a picture in its natural size.

    The second number is the size that the picture has on them, for now: 1 if it is the natural one.
    """
    scale = 1.0
    if ax is None:
        inches = np.array([width + 2 * MARGIN, height + 2 * MARGIN + TITLE])
        figure = plt.figure(figsize=tuple(inches), facecolor=PAPER)
        box = np.array([MARGIN, MARGIN, width, height]) / np.tile(inches, 2)
        ax = figure.add_axes(tuple(box))
    else:
        room = size_of(ax)
        scale = min(LARGEST, room[0] / width, room[1] / height)
        width, height = max(width, room[0] / LARGEST), max(height, room[1] / LARGEST)
    ax.set(xlim=(-EDGE, width - EDGE), ylim=(height - HEAD, -HEAD))
    ax.set_aspect("equal", adjustable="box")
    ax.set_axis_off()
    return ax, scale


def _write(ax: Axes, x: float, y: float, text: str, size: float = SIZE, **options: Any) -> ScaledText:
    return ScaledText(ax, x, y, text, size, **{"color": INK, "va": "center", "ha": "center", **options})


def _box(ax: Axes, left: float, middle: float, width: float, height: float, fill: str, edge: str) -> None:
    rounding = "round,pad=0,rounding_size=0.05"
    corner = left, middle - height / 2
    ax.add_patch(FancyBboxPatch(corner, width, height, rounding, facecolor=fill, edgecolor=edge, lw=0.8, zorder=3))


def _draw_boxes(ax: Axes, tree: Tree, skeleton: Skeleton) -> None:
    for node in np.flatnonzero(tree.feature >= 0):
        left, middle = skeleton.left[node], skeleton.middle[node]
        _box(ax, left, middle, skeleton.width[node], BOX_HEIGHT, BOX, LINE)
        _write(ax, left + skeleton.width[node] / 2, middle, skeleton.texts[node], zorder=4)


def _draw_edges(ax: Axes, tree: Tree, skeleton: Skeleton) -> None:
    share = tree.n_rows / tree.n_rows[0]
    thickness = np.where(np.isnan(share), 1.0, 0.7 + 3.5 * share)
    for node in np.flatnonzero(tree.feature >= 0):
        fork = skeleton.fork[node]
        start = min(skeleton.left[node] + skeleton.width[node], fork)
        for child, answer in ((tree.left[node], "yes"), (tree.right[node], "no")):
            x = [start, fork, fork, skeleton.left[child]]
            y = [skeleton.middle[node], skeleton.middle[node], skeleton.middle[child], skeleton.middle[child]]
            ax.plot(x, y, color=LINE, lw=thickness[child], solid_joinstyle="round", solid_capstyle="butt", zorder=1)
            backing = {"boxstyle": "square,pad=0.15", "facecolor": PAPER, "edgecolor": "none"}
            _write(ax, fork + 0.2, y[-1], answer, SMALL, color=QUIET, bbox=backing, zorder=2)


def _draw_rows(ax: Axes, tree: Tree, skeleton: Skeleton, rows: LeafRows, note: str) -> None:
    """Draw the labels of the leaves, the strips beside them and the numbers of rows."""
    middles = skeleton.middle[tree.feature < 0]
    bottom = skeleton.row_height * tree.n_leaves
    left = skeleton.end
    _write(ax, left + rows.label_width / 2, -HEAD / 2, rows.heading, SMALL, color=QUIET)
    for middle, label in zip(middles, rows.labels, strict=True):
        _draw_label(ax, left, middle, rows.label_width, label)
    left = first = left + rows.label_width + GAP
    for strip in rows.strips:
        _draw_strip(ax, left, middles, skeleton.row_height, strip)
        left += strip.width + 2 * GAP
    _write(ax, first, bottom + 0.31, note, SMALL, color=QUIET, ha="left")
    if rows.n_rows:
        left += rows.n_width
        _write(ax, left, -HEAD / 2, "n", SMALL, color=QUIET, ha="right")
        for middle, n in zip(middles, rows.n_rows, strict=True):
            _write(ax, left, middle, n, ha="right")


def _draw_label(ax: Axes, left: float, middle: float, width: float, label: Label) -> None:
    _box(ax, left, middle, width, BOX_HEIGHT, label.fill, "none")
    if label.name:
        _write(ax, left + PADDING, middle, label.name, ha="left", zorder=4)
    _write(ax, left + width - PADDING, middle, label.number, ha="right", zorder=4)


def _draw_strip(ax: Axes, left: float, middles: Any, row_height: float, strip: Strip) -> None:
    bottom = row_height * len(middles)
    for place, text in strip.ticks:
        x = left + strip.width * place
        ax.plot([x, x], [0, bottom + 0.03], color=FAINT, lw=0.8, zorder=0)
        _write(ax, x, bottom + 0.12, text, SMALL, color=QUIET)
    for heading in strip.headings:
        side = {0.0: "left", 0.5: "center", 1.0: "right"}[heading.anchor]
        x = left + strip.width * heading.anchor
        _write(ax, x, -HEAD / 2, heading.text, heading.size, color=heading.colour, ha=side)
    if strip.reference is not None:
        x = left + strip.width * strip.reference
        ax.plot([x, x], [0, bottom], color=QUIET, lw=0.8, ls=":", zorder=1)
    for row, middle in enumerate(middles):
        _draw_bars(ax, left, middle, min(0.19, 0.6 * row_height), row, strip)


def _draw_bars(ax: Axes, left: float, middle: float, height: float, row: int, strip: Strip) -> None:
    for start, end, colour in strip.segments[row]:
        corner = left + strip.width * start, middle - height / 2
        ax.add_patch(Rectangle(corner, strip.width * (end - start), height, facecolor=colour, lw=0, zorder=2))
    if strip.low is not None and strip.high is not None:
        _draw_whisker(ax, left, middle, strip, float(strip.low[row]), float(strip.high[row]))
    if strip.points is not None:
        ax.plot(left + strip.width * strip.points[row], middle, "o", ms=3.5, color=INK, zorder=6)


def _draw_whisker(ax: Axes, left: float, middle: float, strip: Strip, low: float, high: float) -> None:
    """Draw an interval: its ends as short lines, or as arrows where it goes on beyond the strip."""
    ends = left + strip.width * np.clip([low, high], 0, 1)
    ax.plot(ends, [middle, middle], color=INK, lw=1.2, solid_capstyle="butt", zorder=5)
    markers = ("<" if low < 0 else "|"), (">" if high > 1 else "|")
    for x, marker in zip(ends, markers, strict=True):
        ax.plot(x, middle, marker, color=INK, ms=5, mew=1.2 if marker == "|" else 0, zorder=5)
