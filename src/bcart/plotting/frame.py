"""What axes with scales look like in all pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from bcart.errors import InvalidModelError
from bcart.parse import FloatArray
from bcart.plotting.colours import INK, LINE, PAPER, QUIET
from bcart.plotting.text import text_width

LEGEND_SIZE = 8.0
HANDLE = 0.45  # width of what stands before a label of a legend, and of the space behind it


def make_axes(width: float, height: float, n: int = 1, **options: Any) -> list[Axes]:
    """Return the axes of a new figure, side by side."""
    figure = plt.figure(figsize=(width, height), facecolor=PAPER, layout="constrained")
    return list(np.ravel(figure.subplots(1, n, subplot_kw={"facecolor": PAPER}, **options)))


def as_axes(given: Any, n: int, name: str) -> list[Axes]:
    """Return the given axes as a list of a certain length."""
    axes = list(np.ravel(np.asarray(given, dtype=object)))
    if len(axes) != n or not all(isinstance(ax, Axes) for ax in axes):
        raise InvalidModelError(f"{name} must be {n} matplotlib axes, got {given!r}")
    return axes


def quieten(ax: Axes, sides: Sequence[str] = ("left", "bottom")) -> None:
    """Leave only the lines and marks that help to read off a value."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(LINE)
    ax.tick_params(colors=QUIET, labelsize=8, length=3)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=INK, size=9)


def entitle(ax: Axes, title: str) -> None:
    """Write a title over the left of axes; signs in names are not formulas."""
    ax.set_title(title, loc="left", fontsize=10, color=INK, parse_math=False)


def add_legend(ax: Axes, n_columns: int | None = None) -> None:
    """Explain colours above the axes, where nothing is covered, in as many columns as given or as fit."""
    handles, labels = ax.get_legend_handles_labels()
    if n_columns is None:
        widths = [text_width(label, LEGEND_SIZE) + HANDLE for label in labels]
        width = size_of(ax)[0]
        n_columns = len(labels) if sum(widths) <= width else max(1, int(width / max(widths)))
    look: dict[str, Any] = {"fontsize": LEGEND_SIZE, "frameon": False, "labelcolor": INK, "ncols": n_columns}
    spaces: dict[str, Any] = {"borderpad": 0.2, "columnspacing": 1.2, "handlelength": 1.6, "handletextpad": 0.6}
    for text in ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(-0.01, 1), **look, **spaces).get_texts():
        text.set_parse_math(False)


def size_of(ax: Axes) -> FloatArray:
    """Return width and height of axes in inches, as they are before a layout changes them."""
    if ax.figure is None:
        raise InvalidModelError("the axes belong to no figure")
    return np.asarray(ax.get_window_extent().size) / ax.figure.dpi
