"""Mixtures of leaves: where rows end up in all trees at once, and with which probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bcart.cached import cached_property
from bcart.leaves import LeafModel, central_interval
from bcart.leaves.model import BYTES_AT_ONCE
from bcart.parse import FloatArray

_COARSE = 1e-5  # of the probability beyond a quantile: may be left out to find its neighbourhood
_CLOSE = 1e-13  # of the interval that a quantile is looked for in, if it can be negative
_BYTES_A_TERM = 128  # while the density of a target is added up from its leaves
_MAX_STEPS = 100
_PLAIN_STEPS = 30  # that halve an interval; what is not found by then is tiny beside its bounds
_ROUNDING = 1e-12
_TINY = np.finfo(np.float64).tiny

Cdf = Callable[[FloatArray, FloatArray], FloatArray]
Bounds = Callable[[float, FloatArray], tuple[FloatArray, FloatArray]]


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
    n_bytes_at_once : int
        That may be taken for leaves that are looked at together, besides a few numbers for each leaf.
    """

    ends: npt.NDArray[np.integer]
    statistics: FloatArray
    weights: FloatArray
    leaf: LeafModel
    n_bytes_at_once: int = BYTES_AT_ONCE

    def output_interval(self, tail: float) -> tuple[FloatArray, FloatArray]:
        """Return the bounds that leave a probability on either side, for each row and output."""
        n_outputs = self.leaf.n_outputs
        is_mirrored = self.leaf.outputs_sum_to_one and n_outputs == 2  # the second is what the first leaves
        outputs = range(1 if is_mirrored else n_outputs)
        low, high = central_interval(
            lambda level: np.column_stack([self.output_quantile(level, output) for output in outputs]), tail
        )
        return (np.hstack([low, 1 - high]), np.hstack([high, 1 - low])) if is_mirrored else (low, high)

    def output_quantile(self, level: float, output: int) -> FloatArray:
        """Return a quantile of an output (the probability of a class, the mean of the targets) for each row."""
        leaf = self.leaf.around_zero()  # quantiles far from zero would lose digits

        def bounds(level: float, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
            return leaf.output_bounds(level, statistics, output)

        return self.leaf.offset + self._quantile(level, bounds, lambda x, s: leaf.output_cdf(x, s, output))

    def target_quantile(self, level: float) -> FloatArray:
        """Return a quantile of the next target for each row."""
        if self.leaf.is_discrete:
            return self._discrete_quantile(level)
        leaf = self.leaf.around_zero()

        def bounds(level: float, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
            of_leaves = leaf.target_quantile(level, statistics)
            return of_leaves, of_leaves

        return self.leaf.offset + self._quantile(level, bounds, leaf.target_cdf)

    def log_density(self, y: FloatArray, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return the log probability (density) of targets, each for one of the rows; equal neighbours are one."""
        is_new = np.ones(len(y), dtype=np.bool_)
        is_new[1:] = (y[1:] != y[:-1]) | (rows[1:] != rows[:-1])
        targets, which = y[is_new], rows[is_new]
        densities = [self._log_density(targets[some], which[some]) for some in self._together(which)]
        return np.asarray(np.concatenate([np.empty(0), *densities])[np.cumsum(is_new) - 1])

    def _together(self, rows: npt.NDArray[np.intp]) -> list[slice]:
        """Part rows such that there is room for the leaves of each part, or that it is a single row."""
        begins = np.cumsum(self._n_leaves[rows]) - self._n_leaves[rows]
        n_at_once = max(1, self.n_bytes_at_once // _BYTES_A_TERM)
        cuts = (np.flatnonzero(np.diff(begins // n_at_once)) + 1).tolist()
        return [slice(*ends) for ends in pairwise([0, *cuts, len(rows)])] if len(rows) else []

    def _log_density(self, y: FloatArray, rows: npt.NDArray[np.intp]) -> FloatArray:
        n_leaves = self._n_leaves[rows]
        begins = np.cumsum(n_leaves) - n_leaves
        target = np.repeat(np.arange(len(rows)), n_leaves)  # that each term is for
        leaf = np.arange(len(target)) + (self._begins[rows] - begins)[target]

        def find(some: slice) -> FloatArray:
            return self.leaf.log_density(y[target[some]], self.statistics[leaf[some]])

        weights = self.weights[leaf]
        log_terms = np.log(weights)
        log_terms += self.leaf.in_pieces(find, len(leaf), self.n_bytes_at_once)
        highest = np.maximum.reduceat(log_terms, begins)
        safe = np.where(np.isfinite(highest), highest, 0.0)
        log_terms -= safe[target]
        # Weights sum to 1 but for rounding, which is coarse where the log score is huge.
        log_total = np.log(np.add.reduceat(weights, begins))
        with np.errstate(divide="ignore"):
            log_sum = np.log(np.add.reduceat(np.exp(log_terms, out=log_terms), begins))
        return np.asarray(safe + log_sum - log_total)

    def without(self, may_lose: float) -> Mixtures:
        """Leave out leaves that have less probability than this together, for each row."""
        kept = self.weights * self._n_leaves[self._row] > may_lose
        if kept.all():
            return self
        ends = np.cumsum(kept)[self.ends - 1]
        return replace(self, ends=ends, statistics=self.statistics[kept], weights=self.weights[kept])

    @cached_property
    def _begins(self) -> npt.NDArray[np.integer]:
        return np.concatenate([[0], self.ends[:-1]]).astype(np.intp)

    @cached_property
    def _n_leaves(self) -> npt.NDArray[np.integer]:
        """Of each row."""
        return np.diff(self.ends, prepend=0)

    @cached_property
    def _row(self) -> npt.NDArray[np.intp]:
        """The row that each leaf belongs to."""
        return np.repeat(np.arange(len(self.ends)), self._n_leaves)

    def _excess(self, x: FloatArray, level: float, cdf: Cdf) -> FloatArray:
        """Return for each row how far the mixture's cumulative distribution at `x` is above a level."""
        reached = self._of_leaves(lambda some: cdf(x[self._row[some]], self.statistics[some]))
        reached *= self.weights
        return np.asarray(np.add.reduceat(reached, self._begins) - level * np.add.reduceat(self.weights, self._begins))

    def _of_leaves(self, find: Callable[[slice], FloatArray]) -> FloatArray:
        """Return one number for each leaf, found for some leaves at a time."""
        return self.leaf.in_pieces(find, len(self.weights), self.n_bytes_at_once)

    def _quantile(self, level: float, bounds: Bounds, cdf: Cdf) -> FloatArray:
        """Find the quantile with the most probable leaves, then with all of them in what is left.

        Without leaves of probability c, a level is off by c at most. The quantile of a mixture lies between the least
        and the greatest quantile of its parts.
        """
        left_out = _COARSE * min(level, 1 - level)
        coarse = self.without(left_out)
        below, above = (level - left_out) / (1 - left_out), level / (1 - left_out)
        lows = coarse._of_leaves(lambda some: bounds(below, coarse.statistics[some])[0])
        lowest = np.minimum.reduceat(lows, coarse._begins)
        highs = coarse._of_leaves(lambda some: bounds(above, coarse.statistics[some])[1])
        highest = np.maximum.reduceat(highs, coarse._begins)
        del lows, highs
        close = np.where(lowest >= 0, 0.0, _CLOSE * (highest - lowest))
        low = find_root(lambda x: coarse._excess(x, below, cdf), lowest, highest, close)
        high = find_root(lambda x: coarse._excess(x, above, cdf), lowest, highest, close)
        return find_root(lambda x: self._excess(x, level, cdf), low, high, close)

    def _discrete_quantile(self, level: float) -> FloatArray:
        """Bisect over whole numbers, for the least one that reaches the level."""
        of_leaves = self._of_leaves(lambda some: self.leaf.target_quantile(level, self.statistics[some]))
        low = np.minimum.reduceat(of_leaves, self._begins) - 1.0
        high = np.maximum.reduceat(of_leaves, self._begins)
        middle = np.floor((low + high) / 2)
        while ((low < middle) & (middle < high)).any():
            reached = self._excess(middle, level, self.leaf.target_cdf) >= -_ROUNDING
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
            middle = np.floor((low + high) / 2)
        return high


def find_root(
    function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, close: FloatArray
) -> FloatArray:
    """Return where increasing functions reach zero between two bounds, for many of them at once.

    Each step cuts the interval at the root of an interpolation if that can be trusted, else in its middle
    (Chandrupatla 1997); in the end, in the middle of the exponents.
    """
    a, b = low, high
    value_a, value_b = function(a), function(b)
    is_found = (value_a >= 0) | (value_b <= 0)
    root = np.where(value_a >= 0, low, high)
    share = np.full_like(a, 0.5)
    for step in range(_MAX_STEPS):
        if is_found.all():
            break
        x = np.where(is_found, root, a + share * (b - a))
        value = function(x)
        is_same_side = (value >= 0) == (value_a >= 0)
        c, value_c = np.where(is_same_side, a, b), np.where(is_same_side, value_a, value_b)
        b, value_b = np.where(is_same_side, b, a), np.where(is_same_side, value_b, value_a)
        a, value_a = x, value
        with np.errstate(over="ignore"):  # where a and b are one
            tolerance = (close + 4 * np.finfo(np.float64).eps * np.abs(a)) / np.maximum(np.abs(b - a), _TINY)
        tolerance = np.minimum(tolerance, 1.0)
        root = np.where(is_found, root, a)
        is_found = is_found | (tolerance > 0.5) | (value_a == 0)
        middle = np.full_like(a, 0.5) if step < _PLAIN_STEPS else _share_to_middle_exponent(a, b)
        share = _interpolated_share(a, b, c, value_a, value_b, value_c, middle)
        share = np.clip(share, tolerance, 1 - tolerance)
    return root


def _share_to_middle_exponent(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return where from a to b the exponent is half way; a half where a number is negative or both are of one size."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    middle = np.sqrt(np.maximum(low, _TINY)) * np.sqrt(np.maximum(high, _TINY))
    is_wide = (low >= 0) & (low < high / 4)
    return np.where(is_wide, (middle - a) / np.where(is_wide, b - a, 1.0), 0.5)


def _interpolated_share(
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    value_a: FloatArray,
    value_b: FloatArray,
    value_c: FloatArray,
    otherwise: FloatArray,
) -> FloatArray:
    """Return where from a to b an inverse parabola through three points is zero, unless it may mislead."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xi, phi = (a - b) / (c - b), (value_a - value_b) / (value_c - value_b)
        share = value_a / (value_b - value_a) * value_c / (value_b - value_c) + (c - a) / (b - a) * value_a / (
            value_c - value_a
        ) * value_b / (value_c - value_b)
        is_trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(share)
    return np.where(is_trusted, share, otherwise)
