"""Mixtures of distributions, one component a leaf: means over them, and their quantiles."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from bcart.testing.boxes import FloatArray
from bcart.testing.leaves import Distribution

_CDF_TOLERANCE = 1e-12  # a sum of probabilities that misses a level by rounding reaches it


def average(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Return the mean of the rows of `values` under each row of weights; what has no weight may be infinite."""
    return np.array([row[row > 0] @ values[row > 0] for row in weights])


def quantile(components: Distribution, weights: FloatArray, level: float) -> float:
    """Return where the cumulative probability of a continuous mixture reaches a level."""
    low, high = _bounds(components, level)

    def excess(x: float) -> float:
        return float(np.sum(weights * components.cdf(x))) - level

    if excess(low) >= 0:
        return low
    if excess(high) <= 0:
        return high
    # As close as the numbers go: quantiles near 0 are asked for their leading digits too.
    return float(brentq(excess, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=2_000))


def whole_quantile(components: Distribution, weights: FloatArray, level: float) -> float:
    """Return the smallest whole number at which the cumulative probability of a mixture of counts reaches a level."""
    low, high = (int(bound) for bound in _bounds(components, level))
    while low < high:
        middle = (low + high) // 2
        if np.sum(weights * components.cdf(middle)) >= level - _CDF_TOLERANCE:
            high = middle
        else:
            low = middle + 1
    return float(low)


def _bounds(components: Distribution, level: float) -> tuple[float, float]:
    """Return the least and the greatest quantile of the components: that of the mixture lies between."""
    quantiles = np.atleast_1d(components.ppf(level))
    return float(quantiles.min()), float(quantiles.max())
