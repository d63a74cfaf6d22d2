"""Text that fits: its width by the metrics of the font, shorter forms of it, and text that grows with its box."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

POINTS = 72.0  # to an inch
ELLIPSIS = "…"
_LEAST_SIZE = 0.1
_LEAST_LOG = -690.0  # whose exponential is a normal number


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width in inches of the longest line of a text, whose font size is in points."""
    font = FontProperties(size=size, weight=weight)
    lines = text.split("\n")
    return (
        float(max(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] for line in lines)) / POINTS
    )


def shorten(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Return the text, with as much left out of its middle as makes it fit into a width in inches.

    Names that begin alike often differ at the end, so that both ends are kept.

    Examples
    --------
    >>> shorten("nodes", width=1.0, size=9)
    'nodes'
    >>> shorten("mean temperature of the left front wheel", width=1.5, size=9)
    'mean temperat…wheel'
    """
    text = " ".join(text.split())
    kept, short = len(text), text
    while text_width(short, size, weight) > width and kept > 2:
        kept -= 1
        first = -(-2 * kept // 3)
        short = text[:first].rstrip() + ELLIPSIS + text[len(text) - (kept - first) :].lstrip()
    return short


def write_chance(log_probability: float) -> str:
    """Write a probability that is given by its logarithm, however small.

    Examples
    --------
    >>> write_chance(-1.5), write_chance(-24.07), write_chance(-1000.0)
    ('0.223', '3.52e-11', '10^-434')
    """
    if log_probability < _LEAST_LOG:
        return f"10^{log_probability / math.log(10):.0f}"
    return f"{math.exp(log_probability):.3g}"


def join_within(words: Sequence[str], width: float, size: float) -> str:
    """Return words with commas between them, in as many lines as fit into a width in inches.

    Examples
    --------
    >>> join_within(["age = 52", "year = 63", "nodes = 1"], width=1.5, size=9)
    'age = 52, year = 63,\\nnodes = 1'
    """
    text = ""
    for word in words:
        longer = f"{text}, {word}" if text else word
        text = longer if text_width(longer, size) <= width or not text else f"{text},\n{word}"
    return text


class ScaledText(Text):
    """Text whose size is a length on its axes, of equal scale in x and y, rather than on the paper.

    It keeps its place in a box that is drawn around it, however the axes are scaled: by a layout, a window that is
    resized, or a closer look at some part.

    Parameters
    ----------
    axes : Axes
        To which it is added.
    x, y, text
        As in `matplotlib.text.Text`, in data units.
    size : float
        In 72nds of a data unit.
    """

    def __init__(self, axes: Axes, x: float, y: float, text: str, size: float, **options: Any) -> None:
        super().__init__(x, y, text, parse_math=False, usetex=False, clip_on=True, **options)
        self._scaled_size = size
        axes.add_artist(self)

    def _scale(self) -> None:
        if self.axes is None or self.figure is None:
            return
        ends = self.axes.transData.transform([(0, 0), (1, 0)])
        size = max(_LEAST_SIZE, self._scaled_size * abs(ends[1, 0] - ends[0, 0]) / self.figure.dpi)
        if size != self.get_fontsize():
            self.set_fontsize(size)

    def get_window_extent(self, renderer: RendererBase | None = None, dpi: float | None = None) -> Any:
        """Return where it is, in pixels."""
        self._scale()
        return super().get_window_extent(renderer, dpi)

    def draw(self, renderer: RendererBase) -> None:
        """Draw it in the size that the axes have now."""
        self._scale()
        super().draw(renderer)
