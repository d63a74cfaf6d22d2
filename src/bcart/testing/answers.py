"""Every answer of the posterior as a plain sum over the list of trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.testing.boxes import Cells, FloatArray
from bcart.testing.leaves import LeafFamily, Poisson
from bcart.testing.mixtures import average, quantile, whole_quantile
from bcart.testing.priors import Listed
from bcart.tree import NO_CHILD, Tree

_TIE_TOLERANCE = 1e-12  # log weights closer than rounding are tied; the earlier in the list wins


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """What is known of the parameter behind each output: a class probability, a mean or a rate.

    All arrays have the shape (n_rows, n_outputs). The variance of the next target is the sum of the last three.

    Attributes
    ----------
    mean, std : arrays
        Of the posterior of the parameter; ``std ** 2 == between_trees + within_leaf``.
    low, high : arrays
        Central credible interval of the parameter.
    between_trees : array
        Variance over the trees of the mean in the leaf.
    within_leaf : array
        Posterior variance of the parameter in its leaf, averaged over the trees.
    noise : array
        Variance of the target that no data would take away, averaged over the trees.
    """

    mean: FloatArray
    std: FloatArray
    low: FloatArray
    high: FloatArray
    between_trees: FloatArray
    within_leaf: FloatArray
    noise: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class EnumeratedPosterior:
    """Every tree of a family with its weight; made by `enumerate_posterior`.

    The list is ordered: stop before split, splits by feature and then by test, the left side before the right.
    Queries are rows like those of the training data: labels as labels, NaN for missing values.

    Attributes
    ----------
    log_weights : array of shape (n_trees,)
        Log of the prior weight of a tree times the marginal likelihoods of its leaves.
    log_prior_weights : array of shape (n_trees,)
        Log of the prior weight alone: for the leaf-count prior 0 for a tree of one leaf, for the depth-decay prior
        the log of a probability.

    Examples
    --------
    >>> from bcart.testing import enumerate_posterior
    >>> posterior = enumerate_posterior([[0.0], [1.0], [2.0]], ["a", "a", "b"], log_phi=0.0)
    >>> posterior
    <EnumeratedPosterior: 5 trees, log evidence -2.14843>
    >>> posterior.predict_proba([[2.0]]).round(3).tolist()
    [[0.395, 0.605]]
    """

    log_weights: FloatArray
    log_prior_weights: FloatArray
    feature_names: tuple[str, ...]
    _listed: tuple[Listed, ...]
    _cells: Cells
    _leaf: LeafFamily
    _statistics: dict[int, FloatArray]

    @property
    def classes(self) -> npt.NDArray[np.generic] | None:
        """Sorted labels, or None for regression."""
        return self._leaf.classes

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
        return len({(node.box, node.left) for nodes in self._listed for node in nodes if not node.is_leaf})

    def predictive_mean(self, X: npt.ArrayLike) -> FloatArray:
        """Return the response of the ensemble to each row: class probabilities, or the expected target.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows, n_outputs)
            What the leaves predict, averaged over all trees by their probabilities.
        """
        return average(self._landings(X), self._leaf.mean(self._leaf_statistics))

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the predictive class probabilities of each row, averaged over all trees by their probabilities."""
        if self.classes is None:
            raise InvalidModelError("a regression has no class probabilities; use predictive_mean")
        return self.predictive_mean(X)

    def uncertainty(self, X: npt.ArrayLike, level: float = 0.95) -> Uncertainty:
        """Return the posterior of the parameters behind each output, in numbers.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        level : float
            Probability of the credible interval, as much of the rest below it as above.

        Returns
        -------
        Uncertainty
            Variances that do not exist are infinite.
        """
        landings, statistics = self._landings(X), self._leaf_statistics
        means = self._leaf.mean(statistics)
        mean = average(landings, means)
        between_trees = np.array([row @ (means - centre) ** 2 for row, centre in zip(landings, mean, strict=True)])
        within_leaf = average(landings, self._leaf.variance(statistics))
        low, high = (self._parameter_quantiles(landings, tail) for tail in _tails(level))
        noise = average(landings, self._leaf.noise(statistics))
        return Uncertainty(mean, np.sqrt(between_trees + within_leaf), low, high, between_trees, within_leaf, noise)

    def _parameter_quantiles(self, landings: FloatArray, tail: float) -> FloatArray:
        found = np.empty((len(landings), self._leaf.n_outputs))
        for row, output in np.ndindex(found.shape):
            held = landings[row] > 0
            components = self._leaf.parameter(self._leaf_statistics[held], output)
            found[row, output] = quantile(components, landings[row, held], tail)
        return found

    def predictive_interval(self, X: npt.ArrayLike, level: float = 0.95) -> FloatArray:
        """Return the central interval of the next target, for regression.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        level : float
            Probability of the interval, as much of the rest below it as above. Either end of an interval of counts is
            the smallest count at which the cumulative probability reaches its level.

        Returns
        -------
        array of shape (n_rows, 2)
        """
        find = whole_quantile if isinstance(self._leaf, Poisson) else quantile
        found = []
        for row in self._landings(X):
            components = self._leaf.target(self._leaf_statistics[row > 0])
            found.append([find(components, row[row > 0], tail) for tail in _tails(level)])
        return np.array(found)

    def log_predictive(self, X: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """Return the log probability, or density, of a target given its row.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            A label that did not occur has probability 0.

        Returns
        -------
        array of shape (n_rows,)
        """
        landings, targets = self._landings(X), np.asarray(y)
        if targets.shape != (len(landings),):
            raise InvalidDataError(f"X has {len(landings)} rows, but y has shape {targets.shape}")
        return np.asarray(logsumexp(self._leaf.log_predictive(self._leaf_statistics, targets), b=landings, axis=1))

    def __repr__(self) -> str:
        """Summarise the list in a line."""
        return f"<EnumeratedPosterior: {self.n_trees} trees, log evidence {self.log_evidence:.6g}>"

    @cached_property
    def _leaf_boxes(self) -> list[int]:
        return sorted({node.box for nodes in self._listed for node in nodes if node.is_leaf})

    @cached_property
    def _leaf_statistics(self) -> FloatArray:
        return np.array([self._statistics[box] for box in self._leaf_boxes])

    def _landings(self, X: npt.ArrayLike) -> FloatArray:
        """Return, for each row and each box of `_leaf_boxes`, the probability of the trees with the row in that leaf.

        The same box is the same leaf in all trees, so that no answer needs to know more of them.
        """
        rows = np.asarray(X, dtype=np.float64)
        place = {box: index for index, box in enumerate(self._leaf_boxes)}
        landings = np.zeros((len(rows), len(place)))
        for probability, tree, nodes in zip(self.probabilities, self.trees, self._listed, strict=True):
            places = [place[nodes[leaf].box] for leaf in tree.apply(rows)]
            landings[np.arange(len(rows)), places] += probability
        return landings

    def _tree(self, index: int) -> Tree:
        nodes = self._listed[index]
        statistics = np.array([self._statistics[node.box] for node in nodes])
        left, right = _children(nodes)
        return Tree(
            feature=np.array([node.feature for node in nodes], dtype=np.int32),
            threshold=np.array([node.threshold for node in nodes]),
            left=np.array(left, dtype=np.int32),
            right=np.array(right, dtype=np.int32),
            statistics=statistics,
            predictive=self._leaf.mean(statistics),
            feature_names=self.feature_names,
            classes=self.classes,
            categories=self._cells.categories,
            category=np.array([node.category for node in nodes], dtype=np.int32),
            missing_left=np.array([node.missing_left for node in nodes]),
            saw_missing=np.array([node.saw_missing for node in nodes]),
            n_rows=np.array([self._cells.weight_of(node.box) for node in nodes]),
            std=self._leaf.target_std(statistics),
            log_probability=float(self.log_weights[index]) - self.log_score,
        )


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise InvalidModelError(f"level must be between 0 and 1, not {level}")
    return (1 - level) / 2, 1 - (1 - level) / 2


def _children(nodes: Listed) -> tuple[list[int], list[int]]:
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
