"""What samples of trees say of all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from bcart.parse import RandomState
from bcart.posterior import Posterior
from bcart.tree import Tree


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
    >>> import bcart
    >>> cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[9, 0], [8, 1], [0, 9]])
    >>> overview = look_over(bcart.Posterior(bcart.build_graph(cells)), n_samples=100, random_state=0)
    >>> [round(float(np.exp(tree.log_probability)), 3) for tree in overview.top], overview.leaves
    ([0.906, 0.094], {2: 0.92, 3: 0.08})
    """

    n_samples: int
    top: tuple[Tree, ...]
    leaves: dict[int, float]
    depths: dict[int, float]


def look_over(posterior: Posterior, n_samples: int = 1000, n_top: int = 5, random_state: RandomState = 0) -> Overview:
    """Draw trees and return what is common among them."""
    sampled = posterior.sample(n_samples, random_state)
    distinct = {posterior.map_tree(), *sampled}
    top = sorted(distinct, key=lambda tree: (-tree.log_probability, tree.n_leaves, str(tree)))[:n_top]
    sizes, depths = ([getattr(tree, name) for tree in sampled] for name in ("n_leaves", "depth"))
    return Overview(n_samples, tuple(top), _shares(sizes), _shares(depths))


def _shares(numbers: list[int]) -> dict[int, float]:
    return {number: count / len(numbers) for number, count in sorted(Counter(numbers).items())}
