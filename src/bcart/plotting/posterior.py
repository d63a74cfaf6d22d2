"""A picture of a whole posterior: which trees, and how large they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bcart.colours import colour_of, lighter
from bcart.limits import format_count
from bcart.memory import within_memory
from bcart.overview import look_over
from bcart.parse import FloatArray, RandomState, as_whole
from bcart.plotting.colours import INK
from bcart.plotting.frame import as_axes, entitle, make_axes, quieten
from bcart.plotting.sources import posterior_of
from bcart.plotting.text import shorten, text_width, write_chance
from bcart.plotting.tree_layout import write_test
from bcart.posterior import Posterior
from bcart.tree import Tree

LEAST_PROBABILITY = 1e-3  # of the best tree, for a scale of plain probabilities
FAR = float(np.log(1e9))  # from the best tree: not worth a bar
LEAST_RATIO = 0.02  # of the least probable tree to the best, for a linear scale
NAME_WIDTH = 2.1
NAME_SIZE = 8.0
LEAST_PLACES = 5  # for trees, so that a single bar is no wall
LEAST_SPAN = 6.0  # of sizes


@within_memory()
def plot_posterior(
    posterior: Any, n_samples: int = 1000, n_top: int = 10, random_state: RandomState = 0, axes: Any = None
) -> list[Axes]:
    """Draw which trees are probable, how many leaves trees have and how deep they are.

    The first panel has the exact probabilities of the best tree and of the most probable ones that can be found: among
    independent samples from the posterior, and among those that are drawn often under priors for smaller trees. Ones
    that are a billion times less probable than the best are left out. Where even the best tree has a probability below
    0.001, trees are compared with it instead: its bar has length 1, and its own probability stands in the title. The
    scale is logarithmic if the bars differ much, and says so. The other panels show what share of the samples has so
    many leaves, and such a depth; a mark shows where the best tree stands, which is often far from the typical one.

    Parameters
    ----------
    posterior : Posterior, BayesianTreeClassifier or BayesianTreeRegressor
    n_samples : int
        Trees to draw from the posterior.
    n_top : int
        Most trees in the first panel.
    random_state : int, numpy Generator or RandomState, or None
        For the samples.
    axes : three Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    list of three Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from bcart import BayesianTreeClassifier
    >>> from bcart.datasets import load_haberman
    >>> haberman = load_haberman()
    >>> model = BayesianTreeClassifier(log_phi=4.0).fit(haberman.data, haberman.target)
    >>> axes = plot_posterior(model, axes=Figure().subplots(1, 3))
    >>> axes[0].get_xlabel(), axes[0].patches[0].get_width().round(3)
    ('posterior probability', np.float64(0.217))
    """
    source = posterior_of(posterior)
    n_samples = as_whole(n_samples, "n_samples", "a whole number of trees, at least 1", least=1)
    n_top = as_whole(n_top, "n_top", "a whole number of trees, at least 1", least=1)
    if axes is None:
        panels = make_axes(10.0, 0.9 + 0.24 * max(8, n_top), 3, width_ratios=[1.3, 1, 1])
    else:
        panels = as_axes(axes, 3, "axes")
    overview = look_over(source, n_samples, n_top, random_state)
    best = overview.top[0]
    _draw_top(panels[0], source, [tree for tree in overview.top if tree.log_probability > best.log_probability - FAR])
    _draw_sizes(panels[1], best.n_leaves, overview.leaves, 1, "number of leaves", f"{n_samples:,} sampled trees")
    _draw_sizes(panels[2], best.depth, overview.depths, 0, "depth", "")
    return panels


def _draw_top(ax: Axes, posterior: Posterior, trees: Sequence[Tree]) -> None:
    logs = np.array([tree.log_probability for tree in trees])
    is_relative = bool(np.exp(logs[0]) < LEAST_PROBABILITY)
    lengths = np.exp(logs - logs[0]) if is_relative else np.exp(logs)
    places = np.arange(len(trees))
    colours = [colour_of(0)] + [lighter(colour_of(0), 0.42)] * (len(trees) - 1)
    is_log = bool(lengths[-1] < LEAST_RATIO * lengths[0])
    start = _start_of_log_scale(lengths) if is_log else 0.0
    ax.barh(places, lengths - start, left=start, color=colours, height=0.7, log=is_log)
    ax.set_yticks(places, [_name(tree) for tree in trees], parse_math=False)
    ax.set_ylim(max(LEAST_PLACES, len(trees)) - 0.5, -0.6)
    quieten(ax, ("bottom",))
    ax.tick_params(axis="y", length=0, colors=INK)
    what = "probability, best tree = 1" if is_relative else "posterior probability"
    ax.set_xlabel(what + (" (log scale)" if is_log else ""))
    best = f"\nthe best has probability {write_chance(logs[0])}" if is_relative else ""
    entitle(ax, _family(posterior) + best)


def _start_of_log_scale(lengths: FloatArray) -> float:
    """Return where bars of a logarithmic scale begin, so that the shortest can be seen."""
    span = np.log(lengths.max() / lengths.min())
    return float(np.exp(np.log(lengths.min()) - 0.08 * span))


def _family(posterior: Posterior) -> str:
    """Say for which trees the posterior is exact; to count those of a folded graph would take long."""
    n_trees = "" if posterior.graph.is_folded else f"{format_count(posterior.log_n_trees)} "
    depth = "" if posterior.max_depth is None else f"\nup to depth {posterior.max_depth}"
    return f"Exact for all {n_trees}trees{depth}"


def _name(tree: Tree) -> str:
    """Return the first tests of a tree, as many as fit, and its number of leaves."""
    if tree.n_leaves == 1:
        return "no test, 1 leaf"
    first, *others = (write_test(tree, node) for node in range(tree.n_nodes) if tree.feature[node] >= 0)
    name = shorten(first, NAME_WIDTH, NAME_SIZE)
    for other in others:
        if text_width(f"{name}, {other}, …", NAME_SIZE) > NAME_WIDTH:
            return f"{name}, …  {tree.n_leaves} leaves"
        name = f"{name}, {other}"
    return f"{name}  {tree.n_leaves} leaves"


def _draw_sizes(ax: Axes, best: int, share_of: Mapping[int, float], least: int, name: str, title: str) -> None:
    """Draw the shares of the sampled sizes, none below `least`, and where the best tree is."""
    sizes, shares = [best, *share_of], np.array(list(share_of.values()))
    short = max(0.0, LEAST_SPAN - (max(sizes) - min(sizes))) / 2
    low = max(least, min(sizes) - short) - 0.8
    high = max(max(sizes) + 0.8, low + LEAST_SPAN)
    ax.bar(list(share_of), shares, width=0.8, color=lighter(colour_of(0), 0.42))
    ax.vlines(best, 0, 1.1 * shares.max(), color=colour_of(0), lw=1.2, ls=(0, (4, 2)))
    where = (best - low) / (high - low)
    side = "left" if where < 0.3 else "right" if where > 0.7 else "center"
    ax.text(best, 1.12 * shares.max(), "best tree", ha=side, va="bottom", fontsize=8, color=colour_of(0))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    ax.set(xlabel=name, ylabel="share of sampled trees", xlim=(low, high), ylim=(0, 1.22 * shares.max()))
    ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 1.1 * shares.max()])
    quieten(ax)
    entitle(ax, title)
