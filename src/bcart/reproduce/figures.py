"""The tables as pictures, if matplotlib is there."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bcart.reproduce.binning import BINNINGS
from bcart.reproduce.data import Problem
from bcart.reproduce.paper import MODELS, Model, quoted

if TYPE_CHECKING:
    from bcart.reproduce.report import Report

NEEDED = 'figures are left out: matplotlib is not installed (pip install "bcart[plot]")'
COLOURS: dict[str, str] = {
    "CART": "#9a9a9a",
    "random forest": "#5f5f5f",
    "best tree": "#e07b00",
    "ensemble": "#0b6fb8",
}
MARKERS = {"none": "x", "uniform": "o", "quantile": "s", "edges": "D"}
BAND = 0.8  # of the room of a dataset


@dataclass(frozen=True)
class Panel:
    """One measure of some models; the paper's intervals are shown where there are any."""

    title: str
    measure: str
    models: tuple[Model, ...]
    is_log: bool = False


FIGURES = {
    "paper": (
        Panel("accuracy of single trees", "accuracy", ("CART", "best tree")),
        Panel("accuracy of ensembles", "accuracy", ("random forest", "ensemble")),
        Panel("nodes of single trees", "nodes", ("CART", "best tree"), is_log=True),
    ),
    "scores": (
        Panel("log-loss", "log_loss", MODELS),
        Panel("Brier score", "brier", MODELS),
        Panel("calibration error", "ece", MODELS),
        Panel("seconds to fit", "fit_seconds", MODELS, is_log=True),
    ),
}


def can_draw() -> bool:
    """Tell whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def draw_all(report: Report) -> dict[str, bytes]:
    """Return the pictures as files by their names; none without matplotlib."""
    return {f"{name}.png": draw(report, panels) for name, panels in FIGURES.items()} if can_draw() else {}


def draw(report: Report, panels: Sequence[Panel]) -> bytes:
    """Return a picture: datasets down, measures across."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 1.7 + 0.75 * len(report.problems)), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw_panel(axis, panel, report)
    axes[0].set_yticks(range(len(report.problems)), [problem.title for problem in report.problems])
    axes[0].set_ylim(len(report.problems) - 0.5, -0.5)
    _add_legend(figure, panels)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()


def _draw_panel(axis: Any, panel: Panel, report: Report) -> None:
    extent: list[float] = []
    for row, problem in enumerate(report.problems):
        if row % 2:
            axis.axhspan(row - 0.5, row + 0.5, color="#f5f5f5", linewidth=0, zorder=0)
        for place, model in enumerate(panel.models):
            height = row + BAND * ((place + 0.5) / len(panel.models) - 0.5)
            extent += _draw_paper(axis, panel, problem, model, height)
            extent += _draw_ours(axis, panel, report, problem, model, height)
    axis.set_title(panel.title, fontsize=10)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    _set_limits(axis, panel, extent)


def _set_limits(axis: Any, panel: Panel, extent: Sequence[float]) -> None:
    """Leave some air around what is to be seen."""
    low, high = min(extent), max(extent)
    if panel.is_log:
        axis.set_xscale("log")
        axis.set_xlim(low / 1.3, high * 1.3)
    else:
        axis.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))


def _draw_paper(axis: Any, panel: Panel, problem: Problem, model: Model, height: float) -> list[float]:
    """Draw the paper's interval and mean; return the ends."""
    number = quoted(panel.measure, model, problem.of_paper)
    if number is None:
        return []
    low, high = number.mean - number.half_width, number.mean + number.half_width
    if panel.measure == "accuracy":
        high = min(1.0, high)
    width = 0.8 * BAND / len(panel.models)
    axis.barh(height, high - low, width, low, color=COLOURS[model], alpha=0.2, linewidth=0, zorder=1)
    axis.vlines(number.mean, height - width / 2, height + width / 2, color=COLOURS[model], linewidth=2, zorder=2)
    return [low, high]


def _draw_ours(axis: Any, panel: Panel, report: Report, problem: Problem, model: Model, height: float) -> list[float]:
    """Draw our means, one below the other, with their intervals where these say something; return what is to be seen.

    An interval of two trials may be as wide as its mean: it ends beyond the edge.
    """
    style = {"color": COLOURS[model], "markersize": 4.5, "elinewidth": 1, "zorder": 3}
    extent = []
    for place, binning in enumerate(problem.binnings):
        interval = report.interval(problem.name, binning, model, panel.measure)
        if interval is None:
            continue
        offset = 0.7 * BAND / len(panel.models) * ((place + 0.5) / len(problem.binnings) - 0.5)
        has_error = panel.measure != "fit_seconds" and not math.isnan(interval.half_width)
        error = interval.half_width if has_error else 0.0
        axis.errorbar(interval.mean, height + offset, xerr=error or None, fmt=MARKERS[binning], **style)
        seen = error if error < interval.mean / 2 else 0.0
        extent += [interval.mean - seen, interval.mean + seen]
    return extent


def _add_legend(figure: Any, panels: Sequence[Panel]) -> None:
    from matplotlib.lines import Line2D

    models = [model for model in MODELS if any(model in panel.models for panel in panels)]
    handles = [Line2D([], [], color=COLOURS[model], linewidth=4, label=model) for model in models]
    handles += [
        Line2D([], [], color="black", marker=MARKERS[binning], linestyle="", markersize=5, label=f"bins: {binning}")
        for binning in BINNINGS
    ]
    if any(quoted(panel.measure, model, "iris") for panel in panels for model in panel.models):
        handles.append(Line2D([], [], color="#cfcfcf", linewidth=8, label="paper: interval, its mean a line"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, frameon=False)
