"""What bcart does, on a real dataset: ``python -m bcart.demo``, with the name of a file for a picture behind it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from bcart import __version__
from bcart.cells import Cells
from bcart.datasets import Dataset, load_haberman
from bcart.estimators import BayesianTreeClassifier
from bcart.estimators.comparison import compare_with_cart
from bcart.graph import build_graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf
from bcart.limits import format_count
from bcart.posterior import Posterior
from bcart.priors import LeafCountPrior
from bcart.tree import Tree

N_FOLDS = 10
N_SAMPLES = 10_000
PATIENTS = ((40.0, 62.0, 0.0), (55.0, 62.0, 5.0), (55.0, 62.0, 30.0))


def main(picture: str | None = None) -> None:
    """Fit Haberman's Survival data and show the answers; draw the tree into a file, if one is named."""
    haberman = load_haberman()
    n_rows, n_features = haberman.data.shape
    print(f"bcart {__version__} on Haberman's Survival data: {n_rows} patients, {n_features} features\n")
    start = time.perf_counter()
    posterior = fit(haberman)
    best = posterior.map_tree()
    seconds = time.perf_counter() - start
    print("The most probable tree:\n")
    print(best)
    print(f"\n{describe(posterior)}\n")
    print(sampled_trees(posterior))
    print(f"\n{how_sure(posterior)}")
    print(f"\n{beside_cart(haberman)}")
    if picture is not None:
        print(f"\n{draw(best, Path(picture))}")
    total = time.perf_counter() - start
    print(f"\nThe posterior and its most probable tree took {seconds:.2f} s, all of this {total:.1f} s.")


def fit(dataset: Dataset) -> Posterior:
    """Return the posterior, step by step as the estimator makes it."""
    classes, labels = np.unique(dataset.target, return_inverse=True)
    grid = Grid.from_data(dataset.data, feature_names=dataset.feature_names)
    cells = Cells.from_labels(grid.encode(dataset.data), labels, len(classes), kinds=grid.kinds)
    leaf = DirichletLeaf.for_classes(1.0, len(classes))
    return Posterior(build_graph(cells), leaf, LeafCountPrior(), grid, classes)


def describe(posterior: Posterior) -> str:
    """Return the numbers that describe a posterior, one a line."""
    trees = "all trees" if posterior.max_depth is None else f"all trees up to depth {posterior.max_depth}"
    return "\n".join(
        [
            f"Exact for {trees} on this grid of {posterior.graph.cells.n_cells:,} cells. Among so many no single tree",
            "is probable, not even the best; the evidence and samples of trees speak for all of them.",
            f"  log evidence        {posterior.log_evidence:12.4f}",
            f"  number of trees     {format_count(posterior.log_n_trees):>12}",
            f"  distinct boxes      {posterior.n_boxes:12,}",
            f"  splits              {posterior.n_splits:12,}",
        ]
    )


def sampled_trees(posterior: Posterior) -> str:
    """Return what independent samples of trees look like."""
    trees = posterior.sample(N_SAMPLES, random_state=0)
    leaves = np.array([tree.n_leaves for tree in trees])
    low, high = np.quantile(leaves, [0.05, 0.95]).astype(int)
    return f"{N_SAMPLES:,} sampled trees: {leaves.mean():.1f} leaves on average, 90 % have {low} to {high}."


def how_sure(posterior: Posterior) -> str:
    """Return the chance of dying within five years for a few patients, averaged over all trees, and how sure it is."""
    sure = posterior.uncertainty(PATIENTS)
    lines = [f"{'The chance of dying, by all trees':36}{'expected':>10}{'95 % interval':>18}"]
    for patient, mean, low, high in zip(PATIENTS, sure.mean[:, 0], sure.low[:, 0], sure.high[:, 0], strict=True):
        who = ", ".join(f"{name} {value:g}" for name, value in zip(posterior.grid.feature_names, patient, strict=True))
        lines.append(f"  {who:34}{mean:10.3f}{f'{low:.3f} to {high:.3f}':>18}")
    return "\n".join(lines)


def beside_cart(dataset: Dataset) -> str:
    """Return cross-validated scores of all trees, of the most probable one, and of scikit-learn's CART."""
    columns, weights = list(dataset.data.T), np.ones(len(dataset.target))
    scores, n_folds = compare_with_cart(
        BayesianTreeClassifier(), columns, [False] * len(columns), dataset.target, weights, N_FOLDS
    )
    rows = [f"{f'{n_folds}-fold cross-validation':28}{'accuracy':>10}{'log-loss':>10}{'leaves':>8}"]
    for score in scores:
        leaves = "all" if score.n_leaves is None else f"{score.n_leaves:.1f}"
        rows.append(f"{score.model:28}{score.values['accuracy']:10.3f}{score.values['log-loss']:10.3f}{leaves:>8}")
    return "\n".join(rows)


def draw(tree: Tree, path: Path) -> str:
    """Draw a tree into a file, and say where it is."""
    from bcart.plotting import plot_tree  # which needs matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    figure = plot_tree(tree).get_figure(root=True)
    assert figure is not None
    figure.savefig(path, dpi=150)
    return f"A picture of the tree is in {path}."


if __name__ == "__main__":
    main(*sys.argv[1:2])
