"""Where the parts of a drawn tree stand: the root on the left, one row a leaf, all leaves in one column.

All lengths are inches of a picture in its natural size. Rows are numbered from the top; y grows downwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bcart.parse import FloatArray
from bcart.plotting.text import shorten, text_width
from bcart.questions import describe_test
from bcart.tree import Tree

SIZE = 9.0  # of text, in points
SMALL = 7.5
BOX_HEIGHT = 0.205  # of one line of text and its box
PADDING = 0.07  # between a text and the sides of its box
STUB = 0.12  # from a box to where its edges part, if there is room
TWIG = 0.42  # from there to the next box; "yes" and "no" stand here
LEAST_STUB = 0.14  # from the left of a box to there, if there is none
TAIL = 0.2  # from the last box to the leaves
MAX_NAME = 1.75  # width of a name before it is shortened

ROW_HEIGHTS = ((6, 24), (0.38, 0.31))  # by number of leaves


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The inner nodes of a drawn tree, and where its edges run.

    Attributes
    ----------
    texts : tuple of str
        What each node asks; empty for a leaf.
    left, width : arrays of shape (n_nodes,)
        Of the boxes of the inner nodes; for a leaf, where its edge ends, and 0.
    middle : array of shape (n_nodes,)
        Height of the middle of each node, from the top of the first row.
    fork : array of shape (n_nodes,)
        Where the edges to the children of a node part.
    end : float
        Where the column of the leaves begins.
    row_height : float

    Notes
    -----
    A node stands between the last leaf of its yes and the first leaf of its no. Each gap between two leaves has one
    such node, so no two boxes stand side by side, and an edge to a leaf passes all boxes at a distance of half a row.
    Boxes that are lower than a row overlap with nothing, wherever they begin: where a tree is deep, a box may begin
    above or below that of its parent, and the picture stays narrow.
    """

    texts: tuple[str, ...]
    left: FloatArray
    width: FloatArray
    middle: FloatArray
    fork: FloatArray
    end: float
    row_height: float


def lay_out(tree: Tree, room: float) -> Skeleton:
    """Give every node its place, within a width if possible."""
    row_height = float(np.interp(tree.n_leaves, *ROW_HEIGHTS))
    is_inner = tree.feature >= 0
    texts = tuple(write_test(tree, node) if is_inner[node] else "" for node in range(tree.n_nodes))
    width = np.array([text_width(text, SIZE) + 2 * PADDING if text else 0.0 for text in texts])
    depth = _depths(tree)
    for tightness in np.linspace(0, 1, 41):
        starts = _columns(width, depth, tree.depth, tightness)
        end = float(np.max((starts[depth] + width + TAIL)[is_inner], initial=starts[-1]))
        if end <= room:
            break
    left = np.where(is_inner, starts[depth], end)
    fork = np.append(starts[1:] - TWIG, 0.0)[depth]
    return Skeleton(texts, left, width, row_height * _rows(tree), fork, end, row_height)


def _columns(width: FloatArray, depth: npt.NDArray[np.intp], max_depth: int, tightness: float) -> FloatArray:
    """Return where the boxes of each depth begin: behind those before them, or, if it is tight, above or below."""
    widest = np.array([width[depth == d].max() for d in range(max_depth)])
    steps = (1 - tightness) * (widest + STUB) + tightness * LEAST_STUB + TWIG
    return np.concatenate([[0.0], np.cumsum(steps)])


def write_test(tree: Tree, node: int) -> str:
    """Write the test of a node, with long names and thresholds in short."""
    feature, category = int(tree.feature[node]), int(tree.category[node])
    name = shorten(tree.feature_names[feature], MAX_NAME, SIZE)
    labels = tree.categories[feature]
    short = None if labels is None else tuple(shorten(str(label), MAX_NAME, SIZE) for label in labels)
    learned_left = bool(tree.missing_left[node] and tree.saw_missing[node])
    return describe_test(name, short, rounded(tree.threshold[node]), category, learned_left)


def rounded(threshold: float) -> float:
    """Return a threshold with six digits, or with two behind the point if it is large."""
    return float(f"{threshold:.6g}") if abs(threshold) < 1e4 else round(float(threshold), 2)


def _depths(tree: Tree) -> npt.NDArray[np.intp]:
    depth = np.zeros(tree.n_nodes, dtype=np.intp)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return depth


def _rows(tree: Tree) -> FloatArray:
    """Return the row of the middle of each node: of a leaf a whole number and a half, of others a whole number."""
    n_leaves_before = np.cumsum(tree.feature < 0)
    row: FloatArray = n_leaves_before.astype(np.float64) - 0.5
    for node in np.flatnonzero(tree.feature >= 0):
        row[node] = n_leaves_before[tree.right[node] - 1]  # nodes are in preorder: the last of its yes
    return row
