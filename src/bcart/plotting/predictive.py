"""Pictures of what is predicted along one feature or two, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bcart.answers import Uncertainty
from bcart.colours import colour_of
from bcart.memory import within_memory
from bcart.parse import FloatArray
from bcart.plotting.colours import INK, PAPER, QUIET, ramp
from bcart.plotting.frame import add_legend, as_axes, make_axes, quieten
from bcart.plotting.scales import Scale
from bcart.plotting.slices import Slice
from bcart.plotting.text import shorten, text_width
from bcart.rows import Predictor

MAX_STEPS = 400  # along a line
MAX_TILES = 120  # along a side of a map
BAND = 0.2  # opacity
MAX_WIDTH, MAX_HEIGHT = 4.5, 2.6  # room for the names of labels side by side, and above each other
MAX_COUNTED = 10  # slots whose rows are counted
LINE = 0.16  # height of a line of names
SLOT_MARGIN = 0.06  # of the numbers on an axis, at their end: there a slot's name stands beside them
SPREAD = (0.6180339887, 0.4142135624)  # of rows in slots, across and up
UNCERTAIN = "#5e4b8b"


@within_memory()
def plot_predictive(
    model: Any,
    features: int | str | Sequence[int | str],
    X: Any = None,
    y: npt.ArrayLike | None = None,
    *,
    output: Any = None,
    at: Mapping[Any, Any] | None = None,
    level: float = 0.95,
    predictor: Predictor | None = None,
    ax: Any = None,
) -> Any:
    """Draw what is predicted along one feature, with a credible band, or two, with the uncertainty beside it.

    All other features are held at typical values, so that the band is the exact credible interval of the prediction for
    such a row; an average over rows would have none. Trees predict in steps: every threshold that some tree could have
    is a place where the line may step, and between two of them one value is asked for. Labels, and missing values if
    the data had some, have places of their own.

    Parameters
    ----------
    model : Posterior, BayesianTreeClassifier or BayesianTreeRegressor
    features : int, str, or two of them
        The features to follow, by name or number.
    X : array or data frame of shape (n_rows, n_features), optional
        Gives the typical values: the median of a numeric feature, the most frequent label of a nominal one. Its rows
        are shown, as small lines or points. By default the typical values are those of the bins of the training data.
    y : array of shape (n_rows,), optional
        Targets of the rows of `X`. Numbers are shown as points along a line. Rows of the class that is drawn are marked
        at the top, others at the bottom; on a map they are filled points and empty ones.
    output : label of a class, optional
        Whose probability is drawn. By default that of the last class, and along one feature those of all if there are
        three to five.
    at : mapping from features to values, optional
        Holds features, by name or number, at other than typical values; NaN or None for missing.
    level : float
        Probability of the credible intervals.
    predictor : {"ensemble", "map"}, optional
        Who predicts: all trees, or the most probable one. By default as the estimator does.
    ax : Axes, or two Axes for two features, optional
        Where to draw; by default in a new figure. For two features, a single one gets the map of the prediction, and a
        second one that of its standard deviation.

    Returns
    -------
    Axes, or list of Axes for two features

    Notes
    -----
    Beyond 400 thresholds on a feature, or 120 for a map, some are left out evenly; no picture could show them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bcart import BayesianTreeClassifier
    >>> from bcart.datasets import load_haberman
    >>> haberman = load_haberman()
    >>> model = BayesianTreeClassifier(log_phi=4.0).fit(haberman.data, haberman.target)
    >>> ax = plot_predictive(model, "x2", haberman.data, output="died", ax=Figure().add_subplot())
    >>> ax.get_ylabel(), ax.get_xlabel()
    ('probability of “died”', 'x2\\n(at x0 = 52, x1 = 63)')
    """
    view = Slice.through(model, features, X, y, output=output, at=at or {}, level=level, predictor=predictor)
    if len(view.features) == 1:
        return _draw_line(make_axes(6.0, 3.6)[0] if ax is None else as_axes(ax, 1, "ax")[0], view)
    given: Any = make_axes(9.0, 3.7, 2) if ax is None else ax
    return _draw_maps(as_axes(given, min(2, np.size(given)), "ax"), view)


# -- one feature ------------------------------------------------------------------------------------------------------


def _draw_line(ax: Axes, view: Slice) -> Axes:
    scale = Scale.of(view.posterior, view.features[0], MAX_STEPS)
    sure = view.answer(scale.values[:, None], view.level)
    n_lines = len(view.outputs)
    for order, output in enumerate(view.outputs):
        _draw_output(ax, view, scale, sure, output, 0.12 * scale.slot_width * (order - (n_lines - 1) / 2))
    band = f"{100 * view.level:g} % credible interval{'s' * (n_lines > 1)}"
    colour = colour_of(view.outputs[0]) if n_lines == 1 else QUIET
    ax.fill_between([], [], color=colour, alpha=BAND, lw=0, label=band)
    _show_rows(ax, view, scale)
    counts = None if view.columns is None else scale.count(view.columns[view.features[0]])
    _set_scale(ax, scale, "x", view.held(4.4), counts)
    if view.posterior.classes is not None:
        ax.set_ylim(-0.03, 1.03)
    ax.set_ylabel("probability" if n_lines > 1 else view.name(view.outputs[0]), parse_math=False)
    quieten(ax)
    add_legend(ax)
    return ax


def _draw_output(ax: Axes, view: Slice, scale: Scale, sure: Uncertainty, output: int, shift: float) -> None:
    """Draw the expected output and its credible interval: as steps, and as points in slots."""
    colour = colour_of(output)
    mean, low, high = (part[:, output] for part in (sure.mean, sure.low, sure.high))
    n, slots = scale.n_steps, scale.slots + shift
    label = view.line_name(output)
    if n:
        ax.stairs(high[:n], scale.edges, baseline=low[:n], fill=True, color=colour, alpha=BAND, lw=0, zorder=2)
        ax.stairs(mean[:n], scale.edges, baseline=None, color=colour, lw=2, zorder=4, label=label)
    ax.vlines(slots, low[n:], high[n:], color=colour, alpha=0.4, lw=4, zorder=2)
    if len(slots):
        ax.plot(slots, mean[n:], "o", ms=6, color=colour, zorder=4, label=None if n else label)


def _show_rows(ax: Axes, view: Slice, scale: Scale) -> None:
    """Show rows: as marks below, as marks above and below by class, or as points by target."""
    if view.columns is None:
        return
    column = view.columns[view.features[0]]
    classes, y = view.posterior.classes, view.y
    if y is not None and classes is None:
        ax.plot(scale.place(column, SPREAD[0]), y, ".", ms=5, color=QUIET, alpha=0.4, zorder=1, mew=0, label="data")
        return
    is_shown = ~np.isnan(column) & (scale.n_steps > 0)  # rows in slots are counted below them
    is_above = np.zeros(len(column), dtype=np.bool_)
    if y is not None and classes is not None and len(view.outputs) == 1 and is_shown.any():
        name = str(classes[view.outputs[0]])
        is_above = y == classes[view.outputs[0]]
        for text, height in ((shorten(name, 0.6, 7.5), 1.0), ("others", 0.0)):
            options: dict[str, Any] = {"fontsize": 7.5, "color": QUIET, "va": "center", "parse_math": False}
            ax.text(1.01, height, text, transform=ax.transAxes, **options)
    for rows, height in ((is_shown & is_above, 1.0), (is_shown & ~is_above, 0.0)):
        look: dict[str, Any] = {"ms": 7, "mew": 0.8, "color": QUIET, "alpha": 0.4, "zorder": 1}
        where: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "in_layout": False}
        ax.plot(column[rows], np.full(rows.sum(), height), "|", **look, **where)


def _set_scale(
    ax: Axes, scale: Scale, axis: Literal["x", "y"], note: str = "", counts: list[int] | None = None
) -> None:
    """Label an axis: numbers up to the last of them, then the names of slots, with the numbers of rows in them."""
    first, last = scale.limits
    room = 0.02 * (last - first)
    target, set_limits = (ax.xaxis, ax.set_xlim) if axis == "x" else (ax.yaxis, ax.set_ylim)
    target.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    set_limits(first - room, last + room)
    if scale.slot_names:
        numbers = _numbers_on(scale, target.get_majorticklocs(), SLOT_MARGIN if axis == "x" else 0.0)
        names, rotation = _slot_labels(scale, counts) if axis == "x" else (_thinned(scale.slot_names, MAX_HEIGHT), 0)
        target.set_ticks([*numbers, *scale.slots], [*(f"{x:.6g}" for x in numbers), *names], parse_math=False)
        ax.tick_params(axis=axis, rotation=rotation)
    name = shorten(scale.name, 4.0, 9)
    target.set_label_text(f"{name}\n{note}" if note else name, {"parse_math": False})


def _numbers_on(scale: Scale, ticks: Iterable[float], margin: float) -> list[float]:
    """Return the ticks on the steps of a scale, without those at its end that the name of a slot would touch."""
    if not scale.n_steps:
        return []
    first, last = scale.edges[0], scale.edges[-1]
    return [float(x) for x in ticks if first <= x <= last - margin * (last - first)]


def _slot_labels(scale: Scale, counts: list[int] | None) -> tuple[list[str], float]:
    """Return the names of slots side by side, and the angle at which they do not overlap."""
    names = _thinned(scale.slot_names, MAX_WIDTH)
    if counts is not None and len(names) <= MAX_COUNTED:
        names = [f"{name}\nn = {n:,}" for name, n in zip(names, counts, strict=True)]
    if sum(text_width(name, 8) + 0.15 for name in names) <= MAX_WIDTH:
        return names, 0
    return names, 30 if len(names) <= MAX_COUNTED else 90


def _thinned(names: Sequence[str], room: float) -> list[str]:
    """Shorten names, and leave out some if lines of all of them do not fit into a room."""
    step = int(np.ceil(len(names) * LINE / room))
    return [shorten(name, 1.1, 8) if place % step == 0 else "" for place, name in enumerate(names)]


# -- two features -----------------------------------------------------------------------------------------------------


def _draw_maps(panels: list[Axes], view: Slice) -> list[Axes]:
    scales = [Scale.of(view.posterior, feature, MAX_TILES) for feature in view.features]
    across, up = np.meshgrid(*(scale.values for scale in scales))
    sure = view.answer(np.column_stack([across.ravel(), up.ravel()]), None)
    output, note = view.outputs[0], view.held(2.8)
    expected, spread = (part[:, output].reshape(across.shape) for part in (sure.mean, sure.std))
    bounds = (float(expected.min()), float(expected.max())) if view.posterior.classes is None else (0.0, 1.0)
    _draw_map(panels[0], scales, expected, bounds, colour_of(output), view.name(output), note)
    for ax in panels[1:]:
        _draw_map(ax, scales, spread, (0.0, float(spread.max())), UNCERTAIN, "its standard deviation", note)
    for ax in panels:
        _show_points(ax, view, scales)
    return panels


def _draw_map(
    ax: Axes,
    scales: Sequence[Scale],
    values: FloatArray,
    bounds: tuple[float, float],
    colour: str,
    name: str,
    note: str,
) -> None:
    (x, columns), (y, rows) = (_tiles(scale) for scale in scales)
    tiles = np.where((rows < 0)[:, None] | (columns < 0), np.nan, values[rows][:, columns])
    colours = ramp(colour)
    mesh = ax.pcolormesh(x, y, tiles, cmap=colours, vmin=bounds[0], vmax=bounds[1], rasterized=True)
    _set_scale(ax, scales[0], "x", note)
    _set_scale(ax, scales[1], "y")
    quieten(ax)
    bar = ax.figure.colorbar(mesh, cax=ax.inset_axes((1.03, 0, 0.04, 1)))
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=QUIET, labelsize=8, length=3)
    bar.set_label(name, color=INK, size=9, parse_math=False)


def _tiles(scale: Scale) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Return the edges of tiles, and which value each has, -1 for the gap between numbers and missing values."""
    slots = np.arange(scale.n_steps, len(scale.values))
    if not scale.n_steps:
        return np.append(scale.slots - 0.5, scale.slots[-1] + 0.5), slots
    steps = np.arange(scale.n_steps)
    if not len(slots):
        return scale.edges, steps
    ends = scale.slots[0] + scale.slot_width * np.array([-0.5, 0.5])
    return np.concatenate([scale.edges, ends]), np.concatenate([steps, [-1], slots])


def _show_points(ax: Axes, view: Slice, scales: Sequence[Scale]) -> None:
    if view.columns is None:
        return
    x, y = (
        scale.place(view.columns[feature], spread)
        for scale, feature, spread in zip(scales, view.features, SPREAD, strict=True)
    )
    classes = view.posterior.classes
    is_filled = np.ones(len(x), dtype=np.bool_)
    if classes is not None and view.y is not None:
        is_filled = view.y == classes[view.outputs[0]]
    for rows, fill in ((is_filled, INK), (~is_filled, PAPER)):
        edge = PAPER if fill == INK else INK
        look: dict[str, Any] = {"ms": 3.2, "color": fill, "mec": edge, "mew": 0.5, "alpha": 0.75, "zorder": 3}
        ax.plot(x[rows], y[rows], "o", clip_on=False, in_layout=False, **look)
