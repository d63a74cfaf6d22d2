"""Make the picture at the top of the README: ``python docs/figures/make_readme_figure.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from bcart import BayesianTreeClassifier, Posterior
from bcart.datasets import load_haberman
from bcart.plotting import plot_posterior, plot_predictive, plot_tree

TARGET = Path(__file__).with_name("readme.png")
INCHES = 10.0, 5.0
DPI = 160
N_COLOURS = 128  # that are kept, which makes the file small


def main(target: Path = TARGET) -> None:
    """Draw the most probable tree above what all trees say together, and write the file."""
    haberman = load_haberman()
    X = pd.DataFrame(haberman.data, columns=haberman.feature_names)
    model = BayesianTreeClassifier(max_depth=3).fit(X, haberman.target)
    figure = Figure(figsize=INCHES, dpi=DPI, facecolor="white")
    places = (0.02, 0.46, 0.96, 0.48), (0.065, 0.1, 0.5, 0.25), (0.71, 0.1, 0.27, 0.25)
    tree, line, sizes = (figure.add_axes(place) for place in places)
    plot_tree(model, tree)
    tree.set_anchor("W")
    entitle(tree, f"Who survives five years? The most probable of {millions(model.posterior_)} million trees", 2)
    plot_predictive(model, "nodes", X, haberman.target, output="died", at={"age": 50, "year": 63}, ax=line)
    line.set(xlabel="lymph nodes with cancer (for age 50, operated on in 1963)", ylabel="chance to die")
    entitle(line, "All trees together: the chance to die, and how sure it is", 20)
    spare = Figure().subplots(1, 2)
    plot_posterior(model, n_samples=10_000, axes=[spare[0], sizes, spare[1]])
    sizes.set(ylabel="share of trees")
    entitle(sizes, "And how large are they?", 20)
    save(figure, target)


def millions(posterior: Posterior) -> int:
    """Return the number of trees, in millions."""
    return round(np.exp(posterior.log_n_trees) / 1e6)


def entitle(ax: Axes, title: str, pad: float) -> None:
    """Say what a panel shows."""
    ax.set_title(title, loc="left", fontsize=11, fontweight="bold", color="#1f2933", pad=pad)


def save(figure: Figure, target: Path) -> None:
    """Write a picture of few colours."""
    figure.savefig(target)
    with Image.open(target) as image:
        small = image.convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    small.save(target, optimize=True)


if __name__ == "__main__":
    main()
