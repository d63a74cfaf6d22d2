"""Counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, gammainc, gammaincc, gammaincinv, gammaln, xlogy

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.leaves.model import LeafModel
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_number

MAX_COUNT = 1e9  # whose distribution can be told from that of its neighbours
_LARGE_RATE = 1e5  # beyond, the chance that a count stays is too near to 1 to keep its digits
MAX_PRIOR = 1e15  # beyond, the negative binomial distribution cannot be told from a Poisson one


@within_memory()
@dataclass(frozen=True)
class PoissonLeaf(LeafModel):
    """Counts with a Poisson distribution, whose rate has a gamma prior.

    Statistics are the weight, the sum of the counts, and the sum of the logarithms of their factorials.

    Parameters
    ----------
    shape, rate : float
        Of the gamma prior, whose mean is ``shape / rate``; `rate` is the number of rows that it counts for.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = PoissonLeaf(shape=1.0, rate=1.0)
    >>> statistics = leaf.statistics(np.array([2.0, 3.0])).sum(axis=0, keepdims=True)
    >>> leaf.predictive(statistics)
    array([[2.]])
    >>> leaf.target_quantile(0.975, statistics)
    array([6.])
    """

    shape: float = 1.0
    rate: float = 1.0

    family = "poisson"

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            number = as_number(getattr(self, name), name, "a positive number", above=0)
            if number > MAX_PRIOR:
                raise InvalidModelError(
                    f"{name}={number:g} of the prior leaves no room for data; it must be at most {MAX_PRIOR:g}: give a "
                    "smaller prior_weight or prior_mean"
                )
            object.__setattr__(self, name, number)

    @classmethod
    def for_targets(
        cls, y: FloatArray, weights: FloatArray, *, prior_mean: float | None, prior_weight: float, **_: object
    ) -> PoissonLeaf:
        """Let the prior count for `prior_weight` rows of the mean of the targets, unless another mean is given."""
        is_count = (y >= 0) & (y == np.floor(y)) & (y <= MAX_COUNT)
        if not is_count.all():
            row = int(np.flatnonzero(~is_count)[0])
            raise InvalidDataError(
                f"y contains {y[row]} (row {row}), but leaf='poisson' is for counts 0, 1, 2, ... up to "
                f"{MAX_COUNT:g}; use leaf='normal'"
            )
        return cls.for_mean(float(np.average(y, weights=weights)), prior_mean=prior_mean, prior_weight=prior_weight)

    @classmethod
    def for_mean(cls, mean: float, *, prior_mean: float | None = None, prior_weight: float = 0.1) -> PoissonLeaf:
        """Let the prior count for `prior_weight` rows of the mean of the targets, unless another mean is given."""
        weight = as_number(prior_weight, "prior_weight", "a positive number", above=0)
        mean = mean or 1.0
        if prior_mean is not None:
            mean = as_number(prior_mean, "prior_mean", "a positive number for leaf='poisson', or None", above=0)
        return cls(weight * mean, weight)

    @property
    def core_parameters(self) -> list[float]:
        """Shape and rate."""
        return [self.shape, self.rate]

    def statistics(self, y: FloatArray) -> FloatArray:
        """Return the statistics of single rows."""
        counts = np.asarray(y, dtype=np.float64)
        return np.column_stack([np.ones_like(counts), counts, gammaln(counts + 1)])

    def n_rows(self, statistics: FloatArray) -> FloatArray:
        """Return the first statistic."""
        return statistics[:, 0]

    def output_cdf(self, x: FloatArray, statistics: FloatArray, output: int = 0) -> FloatArray:
        """Return the probability that the rate is at most `x`: it has a gamma distribution."""
        shape, rate = self._posterior(statistics)
        return np.asarray(gammainc(shape, np.maximum(x, 0.0) * rate))

    def output_quantile(self, level: float, statistics: FloatArray, output: int = 0) -> FloatArray:
        """Return the inverse of `output_cdf`."""
        shape, rate = self._posterior(statistics)
        return np.asarray(gammaincinv(shape, level) / rate)

    def target_cdf(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the probability that the next count is at most `y`: it has a negative binomial distribution."""
        shape, rate = self._posterior(statistics)
        counts = np.maximum(np.floor(y), 0.0)
        chance = betainc(shape, counts + 1, rate / (rate + 1))
        if (rate > _LARGE_RATE).any():
            chance = np.where(rate > _LARGE_RATE, _cdf_of_large_rate(counts, shape, rate), chance)
        return np.where(y < 0, 0.0, chance)

    def target_quantile(self, level: float | FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the least count whose probability to be reached is at least the level."""
        shape, rate = self._posterior(statistics)
        low: FloatArray = np.full(len(shape), -1.0)
        high: FloatArray = np.ceil(shape / rate)
        while (is_short := self.target_cdf(high, statistics) < level).any():
            low, high = np.where(is_short, high, low), np.where(is_short, 2 * high + 1, high)
        middle = np.floor((low + high) / 2)
        while ((low < middle) & (middle < high)).any():
            is_short = self.target_cdf(middle, statistics) < level
            low, high = np.where(is_short, middle, low), np.where(is_short, high, middle)
            middle = np.floor((low + high) / 2)
        return high

    def log_density(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the log probability of the next count."""
        shape, rate = self._posterior(statistics)
        log_stays = np.where(rate < 1, np.log(rate) - np.log1p(rate), -np.log1p(1 / np.maximum(rate, 1.0)))
        counts = np.maximum(np.floor(y), 0.0)
        log_chance = shape * log_stays + _log_rising(shape, counts, rate + 1) - gammaln(counts + 1)
        return np.where(counts == y, log_chance, -np.inf)

    def _posterior(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.shape + statistics[:, 1], self.rate + statistics[:, 0]


def _cdf_of_large_rate(counts: FloatArray, shape: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the chance of at most so many counts up to ``rate**-2``: a Poisson one, and what its spread changes."""
    large: FloatArray = np.maximum(rate, _LARGE_RATE)
    mean = shape / large
    chance = np.exp(xlogy(counts, mean) - mean - gammaln(counts + 1))
    return np.asarray(gammaincc(counts + 1, mean) + chance * (mean - counts) / (2 * large))


def _log_rising(x: FloatArray, n: FloatArray, scale: FloatArray) -> FloatArray:
    """Return ``log(gamma(x + n) / gamma(x) / scale**n)``, by Stirling's series where both would share their digits."""
    large: FloatArray = np.maximum(x, 100.0)
    by_series = (large + n - 0.5) * np.log1p(n / large) - n + n * np.log(large / scale)
    by_series += _stirling_rest(large + n) - _stirling_rest(large)
    return np.where(x < 100, gammaln(x + n) - gammaln(x) - n * np.log(scale), by_series)


def _stirling_rest(x: FloatArray) -> FloatArray:
    return (1 / 12 - (1 / 360 - 1 / (1260 * x * x)) / (x * x)) / x
