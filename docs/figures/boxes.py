"""The boxes of a small problem and the rules between them, for the page on how bcart works."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from bcart import BayesianTreeClassifier, Grammar, Rule

SICK = {(0, 0): 0, (0, 1): 2, (1, 0): 3, (1, 1): 9}  # of ten patients for each (fever, cough)
CELLS = list(SICK)
BOXES = [  # as the grammar numbers them: all, by fever, by cough, the four cells
    CELLS, CELLS[:2], CELLS[2:], CELLS[::2], CELLS[1::2], *([cell] for cell in CELLS)
]  # fmt: skip
PLACES = [(0, 2), (-3, 1), (-1, 1), (1, 1), (3, 1), (-3, 0), (-1, 0), (1, 0), (3, 0)]
WELL, ILL, FAINT = "#0072b2", "#d55e00", "#c8c8c8"
BY_FEVER, BY_COUGH = "#444444", "#999999"
SIZE = 0.22


def grammar() -> Grammar:
    """Return the grammar of forty patients with or without fever and cough."""
    X = pd.DataFrame(np.repeat(CELLS, 10, axis=0), columns=["fever", "cough"])
    y = np.concatenate([["ill"] * n + ["well"] * (10 - n) for n in SICK.values()])
    return BayesianTreeClassifier().fit(X, y).posterior_.grammar()


def draw_box(ax: Axes, number: int, rules: list[Rule]) -> None:
    """Draw which cells are in a box, how many in each are ill, and what the box may do."""
    x, y = PLACES[number]
    ax.add_patch(
        FancyBboxPatch((x - 0.62, y - 0.27), 1.24, 0.54, boxstyle="round,pad=0.06", fc="white", ec="black", lw=1)
    )
    for fever, cough in CELLS:
        corner = x - 0.60 + fever * SIZE * 1.15, y - 0.25 + cough * SIZE * 1.15
        inside = (fever, cough) in BOXES[number]
        share = SICK[fever, cough] / 10
        ax.add_patch(Rectangle(corner, SIZE, SIZE, fc=WELL if inside else "none", ec=FAINT, lw=0.8, alpha=0.85))
        ax.add_patch(Rectangle(corner, SIZE, SIZE * share if inside else 0, fc=ILL, ec="none"))
    may = "\n".join(f"{(rule.test or 'stop').split()[0]} {rule.probability:.2f}" for rule in rules)
    ax.text(x + 0.28, y + 0.26, f"$N_{number}$", ha="center", va="top", fontsize=11)
    ax.text(x + 0.28, y + 0.08, may, ha="center", va="top", fontsize=8)


def draw_rule(ax: Axes, parent: int, children: tuple[int, ...], probability: float, is_fever: bool) -> None:
    """Draw a split as two arrows, as thick as it is probable."""
    x, y = PLACES[parent]
    side = -1 if is_fever else 1
    look = {"color": BY_FEVER if is_fever else BY_COUGH, "linestyle": "-" if is_fever else (0, (4, 2))}
    for child in children:
        arrow = (x + 0.12 * side, y - 0.34), (PLACES[child][0], PLACES[child][1] + 0.34)
        width = 0.7 + 3 * probability
        ax.add_patch(
            FancyArrowPatch(*arrow, arrowstyle="-|>", mutation_scale=9, lw=width, shrinkA=0, shrinkB=0, **look)
        )


def main() -> None:
    """Draw the figure."""
    rules = grammar()
    _, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
    for number in range(len(BOXES)):
        draw_box(ax, number, [rule for rule in rules if rule.parent.box == number])
    for rule in rules:
        if len(rule.children) == 2:
            is_fever = (rule.test or "").startswith("fever")
            draw_rule(ax, rule.parent.box, tuple(c.box for c in rule.children), rule.probability, is_fever)
    for label, colour, style in (("split by fever", BY_FEVER, "-"), ("split by cough", BY_COUGH, "--")):
        ax.plot([], [], color=colour, linestyle=style, lw=2, label=label)
    for label, colour in (("ill", ILL), ("well", WELL)):
        ax.plot([], [], "s", color=colour, label=label)
    ax.text(-1.1, 1.78, "cough: above\nfever: right", ha="center", va="center", fontsize=8, color=BY_FEVER)
    ax.legend(loc="upper right", frameon=False, fontsize=9)
    ax.set(xlim=(-3.9, 3.9), ylim=(-0.42, 2.42))
    ax.axis("off")


if __name__ == "__main__":
    main()
    plt.savefig("boxes.png", dpi=100)
