"""What samples of trees say of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bcart.memory import within_memory
from bcart.parse import RandomState
from bcart.posterior import Posterior
from bcart.tree import ARRAYS, Tree

_LOG_PHIS = 3.0, 4.0, 6.0, 8.0, 12.0
_N_DRAWN, _N_TRIED = 300, 6  # trees under each of these priors
_MOST_PRUNED = 25  # tests of a large tree that are left out in turn
_MOST_SPLITS = 5_000_000  # whose sweeps take no time worth speaking of


@dataclass(frozen=True)
class Overview:
    """The top of a posterior, and how large its trees are.

    Attributes
    ----------
    n_samples : int
        How many trees were drawn.
    top : tuple of Tree
        The most probable ones of these and of the best tree, which comes first; their probabilities are exact.
    leaves, depths : dict
        The share of the samples with each number of leaves, and of each depth.

    Examples
    --------
    >>> import bcart, numpy as np
    >>> cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[9, 0], [8, 1], [0, 9]])
    >>> overview = look_over(bcart.Posterior(bcart.build_graph(cells)), n_samples=100, random_state=0)
    >>> [round(float(np.exp(tree.log_probability)), 3) for tree in overview.top[:3]], overview.leaves
    ([0.906, 0.047, 0.047], {2: 0.92, 3: 0.08})
    """

    n_samples: int
    top: tuple[Tree, ...]
    leaves: dict[int, float]
    depths: dict[int, float]


@within_memory()
def look_over(posterior: Posterior, n_samples: int = 1000, n_top: int = 5, random_state: RandomState = 0) -> Overview:
    """Draw trees and return what is common among them.

    Where trees are many, hardly one is drawn twice, and those that are drawn are larger than the most probable ones.
    These are looked for under priors that prefer smaller trees, and compared under the prior that counts.
    """
    sampled = posterior.sample(n_samples, random_state)
    best = posterior.map_tree()
    known = {tree: tree.log_probability for tree in (*sampled, best)}
    for tree in (*_pruned(best), *_smaller_trees(posterior, random_state)):
        if tree not in known:
            known[tree] = posterior.log_probability(tree)
    others = sorted((tree for tree in known if tree != best), key=lambda tree: -known[tree])[: n_top - 1]
    top = (best, *(replace(tree, log_probability=known[tree]) for tree in others))
    leaves, depths = ([getattr(tree, name) for tree in sampled] for name in ("n_leaves", "depth"))
    return Overview(n_samples, top, _shares(leaves), _shares(depths))


def _pruned(tree: Tree) -> Iterator[Tree]:
    """Yield the trees that do without one of the last tests of a tree."""
    tests = np.flatnonzero(tree.feature >= 0)
    is_last = (tree.feature[tree.left[tests]] < 0) & (tree.feature[tree.right[tests]] < 0)
    for node in tests[is_last][:_MOST_PRUNED]:
        yield _without_test(tree, int(node))


def _without_test(tree: Tree, node: int) -> Tree:
    """Return a tree in which a node above two leaves, which follow it, is a leaf itself."""
    arrays = {name: np.delete(getattr(tree, name), [node + 1, node + 2], axis=0) for name in ARRAYS}
    for name in ("left", "right"):
        arrays[name] = arrays[name] - 2 * (arrays[name] > node + 2)
    ending = {"feature": -1, "threshold": np.nan, "left": -1, "right": -1, "category": -1}
    for name, value in {**ending, "missing_left": False, "saw_missing": False}.items():
        arrays[name][node] = value
    return replace(tree, **arrays)


def _smaller_trees(posterior: Posterior, random_state: RandomState) -> Iterator[Tree]:
    """Yield trees that are often drawn under priors that prefer smaller ones; none if that would take long."""
    if posterior.graph.is_folded or posterior.n_splits > _MOST_SPLITS:
        return
    for log_phi in _LOG_PHIS:
        drawn = Counter(posterior.with_prior(log_phi=log_phi).sample(_N_DRAWN, random_state))
        yield from (tree for tree, _ in drawn.most_common(_N_TRIED))


def _shares(numbers: list[int]) -> dict[int, float]:
    return {number: count / len(numbers) for number, count in sorted(Counter(numbers).items())}
