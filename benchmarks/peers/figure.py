"""The results as a figure: models down, what was measured across, a small dot a table and a large one for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]
PATH = Path(__file__).parents[1] / "results" / "peers.png"
OURS, THEIRS = "#0b6fb8", "#8a8a8a"


class Panel(NamedTuple):
    """One score; those that are relative are shown as the distance to the best model on the same table."""

    score: str
    title: str
    is_relative: bool = False
    is_log: bool = False
    most: float | None = None  # what lies beyond is drawn at the edge, as an arrow
    mark: float | None = None


PANELS = {
    "classes": (
        Panel("log_loss", "log-loss\nabove the best", is_relative=True, most=1.0),
        Panel("accuracy", "accuracy\nbelow the best", is_relative=True, most=0.25),
        Panel("ece", "calibration\nerror", most=0.3),
        Panel("leaves", "leaves", is_log=True),
        Panel("fit", "seconds\nto fit", is_log=True),
        Panel("predict", "seconds for\n1,000 rows", is_log=True),
    ),
    "regression": (
        Panel("rmse", "RMSE\nabove the best", is_relative=True, most=0.5),
        Panel("nlpd", "−log density\nabove the best", is_relative=True, most=1.5),
        Panel("coverage", "coverage of\n90 % intervals", mark=0.9),
        Panel("leaves", "leaves", is_log=True),
        Panel("fit", "seconds\nto fit", is_log=True),
        Panel("predict", "seconds for\n1,000 rows", is_log=True),
    ),
}
TITLES = {"classes": "Classes", "regression": "Numbers"}


def draw(rows: list[Row], path: Path = PATH) -> None:
    """Draw all panels."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    groups = {task: [row for row in rows if row["task"] == task] for task in PANELS}
    groups = {task: here for task, here in groups.items() if here}
    heights = [len(model_names(here)) for here in groups.values()]
    figure, axes = plt.subplots(
        len(groups),
        6,
        figsize=(11, 1.6 + 0.3 * sum(heights)),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    for line, (task, here) in zip(axes, groups.items(), strict=True):
        for axis, panel in zip(line, PANELS[task], strict=True):
            draw_panel(axis, panel, here, has_names=axis is line[0])
        n_tables = len({row["table"] for row in here})
        line[0].annotate(
            f"{TITLES[task]} ({n_tables} real tables)", (0, 1), (-150, 24), textcoords="offset points",
            xycoords="axes fraction", fontweight="bold", fontsize=10, annotation_clip=False,
        )  # fmt: skip
    figure.suptitle(
        "Further left is better (coverage: nearer to 0.9). Small: one table; large: all of them, the geometric mean on "
        "log scales. Arrows: further right than shown.",
        fontsize=9,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def model_names(rows: list[Row]) -> list[str]:
    """Return the models, the first at the bottom of the figure."""
    return list(dict.fromkeys(row["model"] for row in rows))[::-1]


def draw_panel(axis: Any, panel: Panel, rows: list[Row], has_names: bool) -> None:
    """Draw one score of all models."""
    names = model_names(rows)
    best = best_of_tables(panel, rows)
    for height, name in enumerate(names):
        mine = [row for row in rows if row["model"] == name and panel.score in row]
        values = np.array([abs(row[panel.score] - best.get(row["table"], 0.0)) for row in mine])
        if len(values):
            draw_model(axis, panel, values, height, OURS if mine[0]["package"] == "bcart" else THEIRS)
    axis.set_title(panel.title, fontsize=9)
    axis.set_yticks(range(len(names)), names if has_names else [""] * len(names), fontsize=9)
    for label in axis.get_yticklabels():
        is_ours = label.get_text().startswith("bcart")
        label.set(color=OURS if is_ours else "black", fontweight="bold" if is_ours else "normal")
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.tick_params(axis="x", labelsize=8)
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#e4e4e4", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    if panel.is_log:
        axis.set_xscale("log")
    elif panel.most:
        axis.set_xlim(-0.04 * panel.most, 1.06 * panel.most)
    if panel.mark is not None:
        axis.axvline(panel.mark, color="black", linewidth=0.8, linestyle=":")


def draw_model(axis: Any, panel: Panel, values: np.ndarray, height: float, colour: str) -> None:
    """Draw the tables of a model, and what they are together."""
    middle = float(np.exp(np.log(values).mean())) if panel.is_log else float(values.mean())
    for value in values:
        draw_mark(axis, panel, value, height, s=11, color=colour, alpha=0.45)
    draw_mark(axis, panel, middle, height, s=52, color=colour, zorder=3)


def draw_mark(axis: Any, panel: Panel, value: float, height: float, **style: Any) -> None:
    """Draw a dot, or an arrow at the edge for what lies beyond."""
    is_beyond = panel.most is not None and value > panel.most
    axis.scatter(panel.most if is_beyond else value, height, marker=">" if is_beyond else "o", linewidths=0, **style)


def best_of_tables(panel: Panel, rows: list[Row]) -> dict[str, float]:
    """Return the best score of every table, if scores are relative."""
    if not panel.is_relative:
        return {}
    choose = max if panel.score == "accuracy" else min
    tables = {row["table"] for row in rows}
    return {
        table: choose(row[panel.score] for row in rows if row["table"] == table and panel.score in row)
        for table in tables
    }
