"""Mixtures of leaves: where rows end up in all trees at once, and with which probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bcart.leaves import LeafModel
from bcart.parse import FloatArray

_NEGLIGIBLE = 1e-13  # probability that may be left out of a mixture before its quantiles are looked for
_CLOSE = 1e-13  # of the interval in which bisection begins
_MAX_STEPS = 60

Cdf = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Mixtures:
    """One mixture a row of a table: leaves by their statistics, with their probabilities.

    Parameters
    ----------
    ends : array of shape (n_rows,)
        Where the leaves of each row end in the arrays below.
    statistics : array of shape (n_leaves, n_statistics)
    weights : array of shape (n_leaves,)
        They sum to 1 for each row.
    leaf : LeafModel
    """

    ends: npt.NDArray[np.integer]
    statistics: FloatArray
    weights: FloatArray
    leaf: LeafModel

    def output_quantile(self, level: float, output: int) -> FloatArray:
        """Return a quantile of an output (the probability of a class, the mean of the targets) for each row."""
        bounds = self.leaf.output_quantile(level, self.statistics, output)
        return self._quantile(level, bounds, lambda x, statistics: self.leaf.output_cdf(x, statistics, output))

    def target_quantile(self, level: float) -> FloatArray:
        """Return a quantile of the next target for each row."""
        bounds = self.leaf.target_quantile(level, self.statistics)
        if self.leaf.is_discrete:
            return self._discrete_quantile(level, bounds, self.leaf.target_cdf)
        return self._quantile(level, bounds, self.leaf.target_cdf)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Return the log probability (density) of one target for each row."""
        log_terms = np.log(self.weights) + self.leaf.log_density(y[self._row], self.statistics)
        highest = np.maximum.reduceat(log_terms, self._begins)
        safe = np.where(np.isfinite(highest), highest, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(safe + np.log(np.add.reduceat(np.exp(log_terms - safe[self._row]), self._begins)))

    def without_negligible(self) -> Mixtures:
        """Leave out leaves that have less than 1e-13 together, for each row."""
        n_leaves = np.diff(self.ends, prepend=0)
        kept = self.weights * n_leaves[self._row] > _NEGLIGIBLE
        ends = np.cumsum(kept)[self.ends - 1]
        return Mixtures(ends, self.statistics[kept], self.weights[kept], self.leaf)

    @cached_property
    def _begins(self) -> npt.NDArray[np.integer]:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.intp)

    @cached_property
    def _row(self) -> npt.NDArray[np.intp]:
        """The row that each leaf belongs to."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def _reaches(self, x: FloatArray, level: float, cdf: Cdf) -> npt.NDArray[np.bool_]:
        """Tell for each row whether the mixture's cumulative distribution at `x` is at least the level."""
        sums = np.add.reduceat(self.weights * cdf(x[self._row], self.statistics), self._begins)
        return np.asarray(sums >= level * np.add.reduceat(self.weights, self._begins))

    def _quantile(self, level: float, bounds: FloatArray, cdf: Cdf) -> FloatArray:
        """Bisect: the quantile of a mixture lies between the least and the greatest quantile of its parts."""
        low = np.minimum.reduceat(bounds, self._begins)
        high = np.maximum.reduceat(bounds, self._begins)
        close = _CLOSE * (high - low)
        for _ in range(_MAX_STEPS):
            middle = low / 2 + high / 2
            if ((high - low <= close) | (middle <= low) | (middle >= high)).all():
                break
            reached = self._reaches(middle, level, cdf)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def _discrete_quantile(self, level: float, bounds: FloatArray, cdf: Cdf) -> FloatArray:
        """Bisect over whole numbers, for the least one that reaches the level."""
        low = np.minimum.reduceat(bounds, self._begins) - 1.0
        high = np.maximum.reduceat(bounds, self._begins)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            reached = self._reaches(middle, level, cdf)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high
