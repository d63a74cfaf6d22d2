"""What is drawn beside the leaves of a tree: a label, strips of bars or intervals, and the number of rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from matplotlib.ticker import MaxNLocator

from bcart.colours import colour_of, darker, lighter
from bcart.parse import FloatArray
from bcart.plotting.colours import BOX, QUIET
from bcart.plotting.text import shorten, text_width
from bcart.plotting.tree_layout import PADDING, SIZE, SMALL
from bcart.tree import Tree

GAP = 0.16  # between columns
MAX_LABEL = 1.3
MAX_CLASSES = 5  # that have a strip each

Interval = tuple[FloatArray, FloatArray]
Segment = tuple[float, float, str]  # from, to, colour


@dataclass(frozen=True)
class Label:
    """What a leaf predicts: a name on the left of its box, a number on the right."""

    name: str
    number: str
    fill: str

    @property
    def width(self) -> float:
        """In inches, with the box."""
        name = text_width(self.name, SIZE) + GAP if self.name else 0.0
        return name + text_width(self.number, SIZE) + 2 * PADDING


@dataclass(frozen=True)
class Heading:
    """A word over a strip: where it is anchored, as a share of the strip, and in which colour and size."""

    text: str
    anchor: float
    colour: str = QUIET
    size: float = SMALL


@dataclass(frozen=True, eq=False)
class Strip:
    """A column with the same scale for every leaf; all places on it are shares of its width.

    Attributes
    ----------
    width : float
    headings : tuple of Heading
    ticks : tuple of pairs of a place and a text
    segments : tuple of lists, one a leaf
        Bars.
    low, high : arrays of shape (n_leaves,), or None
        Ends of the credible intervals; those beyond 0 and 1 do not end on the strip.
    points : array of shape (n_leaves,), or None
        To be marked.
    reference : float or None
        Where a line crosses all rows.
    """

    width: float
    headings: tuple[Heading, ...]
    ticks: tuple[tuple[float, str], ...]
    segments: tuple[list[Segment], ...]
    low: FloatArray | None = None
    high: FloatArray | None = None
    points: FloatArray | None = None
    reference: float | None = None


@dataclass(frozen=True, eq=False)
class LeafRows:
    """All that is drawn to the right of a tree, leaves from the top."""

    heading: str
    labels: tuple[Label, ...]
    strips: tuple[Strip, ...]
    n_rows: tuple[str, ...]
    label_width: float = field(init=False)
    n_width: float = field(init=False)

    def __post_init__(self) -> None:
        heading = text_width(self.heading, SMALL)
        object.__setattr__(self, "label_width", max(heading, *(label.width for label in self.labels)))
        object.__setattr__(self, "n_width", max((text_width(n, SIZE) for n in ("n", *self.n_rows)), default=0.0))

    @property
    def width(self) -> float:
        """In inches."""
        strips = GAP * (2 * len(self.strips) - 1) + sum(strip.width for strip in self.strips)
        return self.label_width + strips + (2 * GAP + self.n_width if self.n_rows else 0.0)


def describe_leaves(tree: Tree, level: float) -> LeafRows:
    """Say what to draw beside each leaf."""
    leaves = np.flatnonzero(tree.feature < 0)
    interval = None
    if tree.leaf is not None:
        low, high = tree.interval(level)
        interval = low[leaves], high[leaves]
    n_rows = _write_numbers_of_rows(tree, leaves)
    if tree.classes is None:
        return LeafRows("mean", *_means(tree, leaves, interval), n_rows)
    names = [shorten(str(name), MAX_LABEL, SIZE) for name in tree.classes]
    chances = tree.predictive[leaves]
    best = np.argmax(chances, axis=1)
    labels = tuple(
        Label(names[place], write_probability(row[place]), lighter(colour_of(place), 0.72))
        for place, row in zip(best, chances, strict=True)
    )
    return LeafRows("predicts", labels, _class_strips(names, chances, best, interval), n_rows)


def write_probability(p: float) -> str:
    """Write a probability with two digits; none but 0 and 1 are called so.

    Examples
    --------
    >>> write_probability(0.803), write_probability(0.9991), write_probability(0.0004)
    ('0.80', '>0.99', '<0.01')
    """
    if 0 < p < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 < p < 1 else f"{p:.2f}"


def _write_numbers_of_rows(tree: Tree, leaves: npt.NDArray[np.intp]) -> tuple[str, ...]:
    """Write the weight of the rows in each leaf; trees made by hand may not know it."""
    n_rows = tree.n_rows[leaves]
    if np.isnan(n_rows).any() and tree.classes is not None:
        n_rows = tree.statistics[leaves].sum(axis=1)
    return () if np.isnan(n_rows).any() else tuple(f"{n:,.0f}" if n == round(n) else f"{n:,.4g}" for n in n_rows)


def _class_strips(
    names: list[str], chances: FloatArray, best: npt.NDArray[np.intp], interval: Interval | None
) -> tuple[Strip, ...]:
    n_classes = len(names)
    if n_classes == 2:
        return (_two_classes(names, chances, interval),)
    if n_classes <= MAX_CLASSES:
        return tuple(_one_class(name, place, chances, interval) for place, name in enumerate(names))
    rows = np.arange(len(best))
    low, high = (None, None) if interval is None else (end[rows, best] for end in interval)
    bars = tuple([(0.0, float(chances[row, place]), _fill(place))] for row, place in enumerate(best))
    return (Strip(1.5, (Heading("its probability", 0.5),), _TICKS, bars, low, high),)


def _two_classes(names: list[str], chances: FloatArray, interval: Interval | None) -> Strip:
    """Return bars that are shared by both classes; where they meet is the probability of either."""
    width = 1.6
    headings = tuple(
        Heading(shorten(name, width / 2 - 0.06, SIZE), float(place), darker(colour_of(place), 0.25), SIZE)
        for place, name in enumerate(names)
    )
    bars = tuple([(0.0, float(p), _fill(0)), (float(p), 1.0, _fill(1))] for p in chances[:, 0])
    low, high = (None, None) if interval is None else (end[:, 0] for end in interval)
    return Strip(width, headings, _TICKS, bars, low, high)


def _one_class(name: str, place: int, chances: FloatArray, interval: Interval | None) -> Strip:
    width = 0.85
    heading = Heading(shorten(name, width, SIZE), 0.5, darker(colour_of(place), 0.25), SIZE)
    bars = tuple([(0.0, float(p), _fill(place))] for p in chances[:, place])
    low, high = (None, None) if interval is None else (end[:, place] for end in interval)
    return Strip(width, (heading,), ((0.0, "0"), (1.0, "1")), bars, low, high)


def _means(
    tree: Tree, leaves: npt.NDArray[np.intp], interval: Interval | None
) -> tuple[tuple[Label, ...], tuple[Strip, ...]]:
    means = tree.predictive[leaves, 0]
    low, high = (means, means) if interval is None else (end[:, 0] for end in interval)
    first, last = scale_for(means, low, high)
    written = write_alike(means, last - first)
    labels = tuple(Label("", text, BOX) for text in written)

    def share(values: FloatArray) -> FloatArray:
        return np.asarray((values - first) / (last - first))

    ticks = [tick for tick in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(first, last) if first <= tick <= last]
    places = share(np.array(ticks)).tolist()
    texts = [f"{tick:,.6g}" for tick in ticks]
    heading = Heading("mean" if interval is None else "interval of the mean", 0.5)
    strip = Strip(
        2.2,
        (heading,),
        tuple(zip(places, texts, strict=True)),
        tuple([] for _ in leaves),
        None if interval is None else share(low),
        None if interval is None else share(high),
        share(means),
        float(share(tree.predictive[:1, 0])[0]),
    )
    return labels, (strip,)


def scale_for(means: FloatArray, low: FloatArray, high: FloatArray) -> tuple[float, float]:
    """Return the ends of a scale for all intervals, on which a few very wide ones do not make all others vanish."""
    first, last = float(means.min()), float(means.max())
    room = max(last - first, float(np.median(high - low)))
    first, last = max(float(low.min()), first - room), min(float(high.max()), last + room)
    margin = 0.04 * (last - first) or 1.0
    return first - margin, last + margin


def write_alike(values: Iterable[float], span: float) -> list[str]:
    """Write numbers with equally many digits, about three of which tell apart what lies within a span.

    Examples
    --------
    >>> write_alike([3.14159, 12.0], span=10.0), write_alike([1234.5, 98765.4], span=1e5)
    (['3.14', '12.00'], ['1,234', '98,765'])
    >>> write_alike([1.234567e-8, 2e9], span=2e9)
    ['1.235e-08', '2e+09']
    """
    if not 1e-4 <= span < 1e7:
        return [f"{value:.4g}" for value in values]
    n_digits = max(0, int(2 - np.floor(np.log10(span))) + (span < 100))
    return [f"{value:,.{n_digits}f}" for value in values]


def _fill(place: int) -> str:
    return lighter(colour_of(place), 0.42)


_TICKS = ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))
