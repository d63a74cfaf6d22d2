"""The posterior over trees by listing every tree: the definition of correct.

A tree is a box that stops, or a split of the box with a tree for each side. Here all of them are written down one by
one, each is weighed by looking at its nodes, and every answer is a plain sum over the list. Nothing is shared with the
library but the `Tree` type and the errors, so the two can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.testing.answers import EnumeratedPosterior
from bcart.testing.boxes import Cells, FloatArray
from bcart.testing.leaves import Dirichlet, LeafFamily, Normal, Poisson
from bcart.testing.priors import Listed, LogPrior, depth_decay_prior, leaf_count_prior
from bcart.testing.splits import Family, Node, splits_in_family

PriorName: TypeAlias = Literal["leaf-count", "depth-decay"]
LeafName: TypeAlias = Literal["dirichlet", "normal", "poisson"]
SplitsOf: TypeAlias = Callable[[int], Sequence[Node]]

_TOO_MANY = "over {:,} trees to list; take fewer distinct rows, set max_depth or min_samples_leaf or raise max_trees"


def enumerate_posterior(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    nominal: Sequence[int] = (),
    prior: PriorName = "leaf-count",
    log_phi: float = 2.0,
    split_alpha: float = 0.95,
    split_beta: float = 2.0,
    leaf: LeafName = "dirichlet",
    alpha: float | Sequence[float] | FloatArray = 1.0,
    prior_mean: float = 0.0,
    prior_weight: float = 1.0,
    noise_shape: float = 2.0,
    noise_scale: float = 1.0,
    max_depth: int | None = None,
    min_samples_leaf: float = 1,
    min_samples_split: float = 2,
    feature_names: Sequence[str] | None = None,
    max_trees: int = 100_000,
) -> EnumeratedPosterior:
    """List every tree on small data and weigh each of them.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Finite numbers, and NaN for missing values. Nothing is binned: the distinct values of a column are its bins.
    y : array of shape (n_rows,)
        Labels, numbers or counts, as the leaves take them.
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, 1 unless given. A row of weight 0 is absent, with its values and its label.
    nominal : sequence of int
        Columns whose numbers are labels, not quantities.
    prior : {"leaf-count", "depth-decay"}
    log_phi : float
        For the leaf-count prior: the prior weight of a tree is ``exp(-log_phi * (leaves - 1))``.
    split_alpha, split_beta : float
        For the depth-decay prior: a box that can split does so at depth t with probability
        ``split_alpha * (1 + t) ** -split_beta``, by any of its splits alike.
    leaf : {"dirichlet", "normal", "poisson"}
        Classes, numbers with unknown mean and variance, or counts.
    alpha : float or array of shape (n_classes,)
        Parameters of the Dirichlet prior of each leaf, in the order of the sorted labels.
    prior_mean, prior_weight : float
        Prior of the mean of a normal leaf, worth so many rows; or of the rate of a Poisson leaf, which is
        Gamma-distributed with shape ``prior_weight * prior_mean`` and rate `prior_weight`.
    noise_shape, noise_scale : float
        The variance in a normal leaf has an inverse Gamma prior of this shape and scale.
    max_depth : int, optional
        Most tests from the root to a leaf.
    min_samples_leaf, min_samples_split : float
        Least weight of either side of a split, and of the box that is split.
    feature_names : sequence of str, default x0, x1, ...
    max_trees : int
        Raise rather than list more trees than this.

    Raises
    ------
    InvalidDataError, InvalidModelError
        If the data or a parameter make no sense, or there are more than `max_trees` trees.

    Examples
    --------
    >>> from bcart.testing import enumerate_posterior
    >>> posterior = enumerate_posterior([[0.0], [1.0], [2.0]], ["a", "a", "b"], log_phi=0.0)
    >>> posterior.n_trees
    5
    >>> print(posterior.map_tree)
    Tree with 2 leaves, depth 1, posterior probability 0.286
    x0 < 1.5
    ├─ yes: a  p=0.750  (a: 2, b: 0)
    └─ no:  b  p=0.667  (a: 0, b: 1)
    """
    family = Family(max_depth, min_samples_leaf, min_samples_split, max_trees)
    rows, targets, weights = _present_rows(X, y, sample_weight)
    model = _leaf_family(leaf, targets, alpha, (prior_mean, prior_weight), (noise_shape, noise_scale))
    cells = Cells.of(rows, _columns(nominal, rows.shape[1]), weights)
    splits_of: SplitsOf = cache(lambda box: tuple(splits_in_family(cells, family, box)))
    log_prior = _log_prior(prior, log_phi, (split_alpha, split_beta), splits_of, max_depth)
    listed = tuple(_list_trees(cells, family, splits_of))
    boxes = {node.box for nodes in listed for node in nodes}
    statistics = {box: model.statistics(targets[has], weights[has]) for box in boxes for has in [cells.rows_of(box)]}
    log_prior_weights = np.array([log_prior(nodes) for nodes in listed])
    return EnumeratedPosterior(
        log_weights=log_prior_weights + _log_likelihoods(listed, model, statistics),
        log_prior_weights=log_prior_weights,
        feature_names=_names(feature_names, rows.shape[1]),
        _listed=listed,
        _cells=cells,
        _leaf=model,
        _statistics=statistics,
    )


def _list_trees(cells: Cells, family: Family, splits_of: SplitsOf) -> list[Listed]:
    """Return every tree of the family, in the order that settles ties."""

    def trees_of(box: int, depth: int) -> list[Listed]:
        found: list[Listed] = [(Node(box),)]
        for split in splits_of(box) if depth > 0 else ():
            left, right = trees_of(split.left, depth - 1), trees_of(split.right, depth - 1)
            # Every tree of a box occurs within some tree of the root: too many for any box are too many for all.
            if len(found) + len(left) * len(right) > family.max_trees:
                raise InvalidModelError(_TOO_MANY.format(family.max_trees))
            found += [(split, *low, *high) for low, high in product(left, right)]
        return found

    # Deeper and deeper, so that a hopeless list is refused before the recursion gets deep. The list is complete when
    # a level adds nothing: a deeper tree, cut off at this level, would have been new.
    listed: list[Listed] = []
    for depth in range(cells.n_cells if family.max_depth is None else family.max_depth + 1):
        shallower, listed = listed, trees_of(cells.root, depth)
        if len(listed) == len(shallower):
            break
    return listed


def _log_likelihoods(listed: Sequence[Listed], leaf: LeafFamily, statistics: dict[int, FloatArray]) -> FloatArray:
    """Return, for each tree, the sum of the log marginal likelihoods of its leaves."""
    log_marginals = {box: leaf.log_marginal(of_box) for box, of_box in statistics.items()}
    return np.array([math.fsum(log_marginals[node.box] for node in nodes if node.is_leaf) for nodes in listed])


def _log_prior(
    prior: str, log_phi: float, decay: tuple[float, float], splits_of: SplitsOf, max_depth: int | None
) -> LogPrior:
    if prior == "leaf-count":
        return leaf_count_prior(log_phi)
    if prior == "depth-decay":
        return depth_decay_prior(*decay, lambda box: len(splits_of(box)), max_depth)
    raise InvalidModelError(f"prior must be 'leaf-count' or 'depth-decay', not {prior!r}")


def _leaf_family(
    leaf: str, targets: npt.NDArray[Any], alpha: Any, prior: tuple[float, float], noise: tuple[float, float]
) -> LeafFamily:
    if leaf == "dirichlet":
        return Dirichlet.for_labels(alpha, targets)
    if leaf not in ("normal", "poisson"):
        raise InvalidModelError(f"leaf must be 'dirichlet', 'normal' or 'poisson', not {leaf!r}")
    if targets.dtype.kind not in "biuf" or not np.isfinite(targets).all():
        raise InvalidDataError("y must be finite numbers for a regression")
    if leaf == "normal":
        return Normal(*prior, *noise)
    if (targets < 0).any() or (targets != np.round(targets)).any():
        raise InvalidDataError("y must be whole numbers that are not negative, for leaves of counts")
    return Poisson(*prior)


def _present_rows(
    X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[FloatArray, npt.NDArray[Any], FloatArray]:
    """Check the data and return the rows, targets and weights of positive weight."""
    rows, targets = np.asarray(X, dtype=np.float64), np.asarray(y)
    if rows.ndim != 2 or rows.shape[1] == 0 or np.isinf(rows).any():
        raise InvalidDataError(f"X must be a matrix of finite or missing numbers; its shape is {rows.shape}")
    weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if targets.shape != (len(rows),) or weights.shape != (len(rows),):
        raise InvalidDataError(f"X has {len(rows)} rows, but y has shape {targets.shape} and weights {weights.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights > 0).any():
        raise InvalidDataError("weights must be finite and not negative, and at least one row must have a positive one")
    present = weights > 0
    return rows[present] + 0.0, targets[present], weights[present]  # adding 0.0 makes -0.0 and 0.0 one value


def _columns(nominal: Sequence[int], n_features: int) -> Sequence[int]:
    if not all(0 <= column < n_features for column in nominal):
        raise InvalidModelError(f"nominal names columns {tuple(nominal)}, but X has {n_features} of them")
    return nominal


def _names(feature_names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    names = tuple([f"x{index}" for index in range(n_features)] if feature_names is None else feature_names)
    if len(names) != n_features:
        raise InvalidDataError(f"X has {n_features} columns, but there are {len(names)} feature names")
    return names
