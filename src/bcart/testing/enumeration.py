"""The posterior over trees by listing every tree: the definition of correct.

A tree is a box that stops, or a split of the box with a tree for each side. Here all of them are written down one by
one, each is weighed by looking at its leaves, and every answer is a plain sum over the list. Nothing is shared with the
library but the `Tree` type and the errors, so the two can disagree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, product
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, logsumexp

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.tree import NO_CHILD, Tree

# Sums of weights are compared with a minimum up to rounding, so that ten rows of weight 0.1 count as one.
_WEIGHT_TOLERANCE = 1e-9
_TIE_TOLERANCE = 1e-12  # log weights closer than rounding are tied; the earlier in the list wins
_TOO_MANY = "over {:,} trees to list; take fewer distinct rows, set max_depth or min_samples_leaf or raise max_trees"


class _Node(NamedTuple):
    """A box within a tree: a leaf, or a box split by ``x[feature] < threshold``. Bit i of a box is set for cell i."""

    box: int
    feature: int = -1
    threshold: float = math.nan
    left: int = 0
    right: int = 0

    @property
    def is_leaf(self) -> bool:
        return self.feature < 0


_Listed: TypeAlias = tuple[_Node, ...]  # a tree as its nodes in preorder
FloatArray: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _LeafModel:
    """What a leaf does with its statistics."""

    log_marginal: Callable[[FloatArray], float]
    predictive: Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class _Family:
    """Which trees are listed."""

    max_depth: int | None
    min_samples_leaf: float
    min_samples_split: float
    max_trees: int

    def __post_init__(self) -> None:
        if self.max_depth is not None and self.max_depth < 0:
            raise InvalidModelError(f"max_depth must be None or at least 0, not {self.max_depth}")
        for name in ("min_samples_leaf", "min_samples_split", "max_trees"):
            if not getattr(self, name) > 0:
                raise InvalidModelError(f"{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True)
class _Cells:
    """Distinct rows of X, each with the added-up statistics and weight of its rows."""

    values: FloatArray
    statistics: FloatArray
    weights: FloatArray

    @cached_property
    def levels(self) -> list[list[tuple[float, int]]]:
        """For each feature its distinct values in increasing order, each with the box of the cells that have it."""
        return [[(value, _box_of(column == value)) for value in np.unique(column).tolist()] for column in self.values.T]

    def statistics_of(self, box: int) -> FloatArray:
        """Return the statistics of a box, added up over its cells."""
        return np.asarray(self.statistics[_members(box)].sum(axis=0), dtype=np.float64)

    def weight_of(self, box: int) -> float:
        """Return the weight of a box, added up over its cells, with the tolerance on top."""
        return math.fsum(self.weights[_members(box)]) * (1 + _WEIGHT_TOLERANCE)


@dataclass(frozen=True, eq=False, repr=False)
class EnumeratedPosterior:
    """Every tree of a family with its weight; made by `enumerate_posterior`.

    The list is ordered: stop before split, splits by feature and then by cut, the left side before the right.

    Attributes
    ----------
    log_weights : array of shape (n_trees,)
        Log of the prior weight of a tree times the marginal likelihoods of its leaves.
    log_prior_weights : array of shape (n_trees,)
        Log of the prior weight alone; the tree of one leaf has prior weight 1.
    """

    log_weights: FloatArray
    log_prior_weights: FloatArray
    feature_names: tuple[str, ...]
    classes: npt.NDArray[np.generic]
    _listed: tuple[_Listed, ...]
    _cells: _Cells
    _leaf: _LeafModel

    @property
    def n_trees(self) -> int:
        """Number of trees in the family."""
        return len(self._listed)

    @property
    def log_n_trees(self) -> float:
        """Log of the number of trees in the family."""
        return math.log(self.n_trees)

    @cached_property
    def log_score(self) -> float:
        """Log of the summed weights of all trees."""
        return float(logsumexp(self.log_weights))

    @cached_property
    def log_prior_mass(self) -> float:
        """Log of the summed prior weights of all trees: the score, were every marginal likelihood 1."""
        return float(logsumexp(self.log_prior_weights))

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the data under the normalised prior."""
        return self.log_score - self.log_prior_mass

    @cached_property
    def probabilities(self) -> FloatArray:
        """Posterior probability of each tree, in the order of `trees`."""
        return np.asarray(np.exp(self.log_weights - self.log_score), dtype=np.float64)

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        """Every tree of the family, with its log posterior probability."""
        return tuple(self._tree(index) for index in range(self.n_trees))

    @property
    def map_log_score(self) -> float:
        """Log weight of the most probable tree."""
        return float(self.log_weights.max())

    @cached_property
    def map_tree(self) -> Tree:
        """The most probable tree; among equals the first of the list."""
        slack = _TIE_TOLERANCE * max(1.0, abs(self.map_log_score))
        return self._tree(int(np.argmax(self.log_weights >= self.map_log_score - slack)))

    @cached_property
    def n_boxes(self) -> int:
        """Number of distinct boxes in all trees, boxes of one cell included."""
        return len({node.box for nodes in self._listed for node in nodes})

    @cached_property
    def n_splits(self) -> int:
        """Number of distinct splits in all trees, where a split belongs to the box that it divides."""
        return len({node for nodes in self._listed for node in nodes if not node.is_leaf})

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the predictive class probabilities of each row, averaged over all trees by their probabilities."""
        weighted = (p * tree.predict_proba(X) for p, tree in zip(self.probabilities, self.trees, strict=True))
        return sum(weighted, start=np.zeros(len(self.classes)))

    def __repr__(self) -> str:
        """Summarise the list in a line."""
        return f"<EnumeratedPosterior: {self.n_trees} trees, log evidence {self.log_evidence:.6g}>"

    def _tree(self, index: int) -> Tree:
        nodes = self._listed[index]
        statistics = np.array([self._cells.statistics_of(node.box) for node in nodes])
        left, right = _children(nodes)
        return Tree(
            feature=np.array([node.feature for node in nodes], dtype=np.int32),
            threshold=np.array([node.threshold for node in nodes]),
            left=np.array(left, dtype=np.int32),
            right=np.array(right, dtype=np.int32),
            statistics=statistics,
            predictive=np.array([self._leaf.predictive(row) for row in statistics]),
            feature_names=self.feature_names,
            classes=self.classes,
            log_probability=float(self.log_weights[index]) - self.log_score,
        )


def enumerate_posterior(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    log_phi: float = 2.0,
    alpha: float | Sequence[float] | FloatArray = 1.0,
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
        Finite numbers. Nothing is binned: the distinct values of a column are its bins.
    y : array of shape (n_rows,)
    sample_weight : array of shape (n_rows,), optional
        Weights of the rows, 1 unless given. A row of weight 0 is absent, with its values and its label.
    log_phi : float
        The prior weight of a tree is ``exp(-log_phi * (leaves - 1))``.
    alpha : float or array of shape (n_classes,)
        Parameters of the Dirichlet prior of each leaf, in the order of the sorted labels.
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
    family = _Family(max_depth, min_samples_leaf, min_samples_split, max_trees)
    log_prior = _leaf_count_prior(log_phi)
    rows, labels, weights = _present_rows(X, y, sample_weight)
    classes, codes = np.unique(labels, return_inverse=True)
    cells = _count_classes(rows, codes.reshape(-1), weights, len(classes))
    leaf = _dirichlet_leaf(alpha, len(classes))
    listed = tuple(_list_trees(cells, family))
    log_prior_weights = np.array([log_prior(nodes) for nodes in listed])
    return EnumeratedPosterior(
        log_weights=log_prior_weights + _log_likelihoods(listed, cells, leaf),
        log_prior_weights=log_prior_weights,
        feature_names=_names(feature_names, rows.shape[1]),
        classes=classes,
        _listed=listed,
        _cells=cells,
        _leaf=leaf,
    )


def _list_trees(cells: _Cells, family: _Family) -> list[_Listed]:
    """Return every tree of the family, in the order that settles ties."""
    root = _box_of(np.ones(len(cells.values), dtype=np.bool_))
    splits_of = cache(lambda box: tuple(_splits(cells, family, box)))

    def trees_of(box: int, depth: int) -> list[_Listed]:
        found: list[_Listed] = [(_Node(box),)]
        for split in splits_of(box) if depth > 0 else ():
            left, right = trees_of(split.left, depth - 1), trees_of(split.right, depth - 1)
            # Every tree of a box occurs within some tree of the root: too many for any box are too many for all.
            if len(found) + len(left) * len(right) > family.max_trees:
                raise InvalidModelError(_TOO_MANY.format(family.max_trees))
            found += [(split, *low, *high) for low, high in product(left, right)]
        return found

    # Deeper and deeper, so that a hopeless list is refused before the recursion gets deep. The list is complete when
    # a level adds nothing: a deeper tree, cut off at this level, would have been new.
    listed: list[_Listed] = []
    for depth in range(len(cells.values) if family.max_depth is None else family.max_depth + 1):
        shallower, listed = listed, trees_of(root, depth)
        if len(listed) == len(shallower):
            break
    return listed


def _splits(cells: _Cells, family: _Family, box: int) -> Iterator[_Node]:
    """Yield the splits of a box that the family allows."""
    if cells.weight_of(box) >= family.min_samples_split:
        for split in _bipartitions(cells, box):
            if min(cells.weight_of(split.left), cells.weight_of(split.right)) >= family.min_samples_leaf:
                yield split


def _bipartitions(cells: _Cells, box: int) -> Iterator[_Node]:
    """Yield each way to divide a box by one test once, by its lowest feature and then its lowest cut."""
    seen: set[int] = set()
    for feature, levels in enumerate(cells.levels):
        present = [(value, box & having) for value, having in levels if box & having]
        left = 0
        for (below, having), (above, _) in pairwise(present):
            left |= having
            right = box ^ left
            # The two sides are not ordered, so either one alone, say the lesser number, stands for the pair.
            if min(left, right) not in seen:
                seen.add(min(left, right))
                yield _Node(box, feature, _midpoint(below, above), left, right)


def _midpoint(below: float, above: float) -> float:
    """Return a threshold that has `below` on its left and `above` on its right, halfway if rounding allows it."""
    middle = below / 2 + above / 2
    return middle if below < middle <= above else above


def _log_likelihoods(listed: Sequence[_Listed], cells: _Cells, leaf: _LeafModel) -> FloatArray:
    """Return, for each tree, the sum of the log marginal likelihoods of its leaves."""
    log_marginal_of = cache(lambda box: leaf.log_marginal(cells.statistics_of(box)))
    return np.array([math.fsum(log_marginal_of(node.box) for node in nodes if node.is_leaf) for nodes in listed])


def _leaf_count_prior(log_phi: float) -> Callable[[_Listed], float]:
    if not math.isfinite(log_phi):
        raise InvalidModelError(f"log_phi must be finite, not {log_phi}")
    return lambda nodes: -log_phi * (sum(node.is_leaf for node in nodes) - 1)


def _dirichlet_leaf(alpha: float | Sequence[float] | FloatArray, n_classes: int) -> _LeafModel:
    given = np.asarray(alpha, dtype=np.float64)
    if given.shape not in ((), (n_classes,)) or not (np.isfinite(given) & (given > 0)).all():
        raise InvalidModelError(f"alpha must be positive, a number or one for each of {n_classes} classes, not {alpha}")
    prior = np.broadcast_to(given, n_classes)
    return _LeafModel(
        log_marginal=lambda counts: _log_beta(counts + prior) - _log_beta(prior),
        predictive=lambda counts: (counts + prior) / (counts + prior).sum(),
    )


def _log_beta(parameters: FloatArray) -> float:
    """Log of the multivariate beta function, from the usual one: log-gammas of large counts would cancel."""
    return float(betaln(np.cumsum(parameters)[:-1], parameters[1:]).sum())


def _count_classes(rows: FloatArray, codes: npt.NDArray[np.intp], weights: FloatArray, n_classes: int) -> _Cells:
    values, cell_of_row = np.unique(rows, axis=0, return_inverse=True)
    counts = np.zeros((len(values), n_classes))
    np.add.at(counts, (cell_of_row.reshape(-1), codes), weights)
    return _Cells(values=values, statistics=counts, weights=counts.sum(axis=1))


def _present_rows(
    X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[FloatArray, npt.NDArray[np.generic], FloatArray]:
    """Check the data and return the rows, labels and weights of positive weight."""
    rows, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if rows.ndim != 2 or rows.shape[1] == 0 or not np.isfinite(rows).all():
        raise InvalidDataError(f"X must be a finite matrix with at least one column; its shape is {rows.shape}")
    weights = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if labels.shape != (len(rows),) or weights.shape != (len(rows),):
        raise InvalidDataError(f"X has {len(rows)} rows, but y has shape {labels.shape} and weights {weights.shape}")
    if not (np.isfinite(weights) & (weights >= 0)).all() or not (weights > 0).any():
        raise InvalidDataError("weights must be finite and not negative, and at least one row must have a positive one")
    present = weights > 0
    return rows[present] + 0.0, labels[present], weights[present]  # adding 0.0 makes -0.0 and 0.0 one value


def _names(feature_names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    names = tuple([f"x{index}" for index in range(n_features)] if feature_names is None else feature_names)
    if len(names) != n_features:
        raise InvalidDataError(f"X has {n_features} columns, but there are {len(names)} feature names")
    return names


def _children(nodes: _Listed) -> tuple[list[int], list[int]]:
    """Return the left and right child of each node of a tree in preorder."""
    left, right = [NO_CHILD] * len(nodes), [NO_CHILD] * len(nodes)
    waiting: list[int] = []
    for index, node in enumerate(nodes):
        if not node.is_leaf:
            left[index] = index + 1
            waiting.append(index)
        elif waiting:
            # After a leaf comes the right side of the last split whose right side is still missing.
            right[waiting.pop()] = index + 1
    return left, right


def _box_of(has: npt.NDArray[np.bool_]) -> int:
    return sum(1 << int(index) for index in np.flatnonzero(has))


def _members(box: int) -> list[int]:
    return [index for index, bit in enumerate(reversed(f"{box:b}")) if bit == "1"]
