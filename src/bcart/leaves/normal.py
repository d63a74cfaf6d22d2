"""Numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, stdtr, stdtrit

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.leaves.model import LeafModel, Targets
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_number

_MAX_DISTANCE = 1e150
_LEAST_SCALE = 1e-300  # below, numbers lose digits
_LEAST_VARIANCE = 1e-280


@within_memory()
@dataclass(frozen=True)
class NormalLeaf(LeafModel):
    """Targets with a normal distribution, whose mean and variance have a normal-inverse-gamma prior.

    The variance is inverse-gamma distributed, and the mean, given the variance, is normal around `prior_mean` with
    the variance divided by `prior_weight`. Statistics are the weight, the sum and the sum of squares of the targets,
    counted from `center`: a centre near the mean of all targets keeps the digits of targets that are far from zero.

    Parameters
    ----------
    prior_mean : float
        Expected mean, in the units of the targets.
    prior_weight : float
        How many rows the prior mean counts for.
    noise_shape, noise_scale : float
        Shape and scale of the inverse-gamma prior on the variance, whose mean is ``scale / (shape - 1)``.
    center : float
        Where statistics count from.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = NormalLeaf(prior_mean=0.0, prior_weight=1.0, noise_shape=2.0, noise_scale=1.0)
    >>> statistics = leaf.statistics(np.array([1.0, 3.0])).sum(axis=0, keepdims=True)
    >>> leaf.predictive(statistics)
    array([[1.33333333]])
    >>> leaf.target_quantile(0.975, statistics).round(3)
    array([4.312])
    """

    prior_mean: float = 0.0
    prior_weight: float = 1.0
    noise_shape: float = 2.0
    noise_scale: float = 1.0
    center: float = 0.0

    family = "normal"
    is_discrete = False

    def __post_init__(self) -> None:
        for name in ("prior_mean", "center"):
            object.__setattr__(self, name, as_number(getattr(self, name), name, "a finite number"))
        for name, least in (("prior_weight", 0.0), ("noise_shape", 0.0), ("noise_scale", _LEAST_SCALE)):
            meaning = f"a number above {least:g}"
            object.__setattr__(self, name, as_number(getattr(self, name), name, meaning, above=least))
        if abs(self.prior_mean - self.center) > _MAX_DISTANCE:
            raise InvalidModelError(
                f"prior_mean={self.prior_mean!r} is too far from the targets; give a nearer one, or None"
            )

    @classmethod
    def for_targets(
        cls,
        y: FloatArray,
        weights: FloatArray,
        *,
        prior_mean: float | None,
        prior_weight: float,
        noise_shape: float,
        noise_fraction: float,
    ) -> NormalLeaf:
        """Choose parameters that shift and scale with the targets."""
        return cls.for_moments(
            Targets.of(y, weights),
            prior_mean=prior_mean,
            prior_weight=prior_weight,
            noise_shape=noise_shape,
            noise_fraction=noise_fraction,
        )

    @classmethod
    def for_moments(
        cls,
        y: Targets,
        *,
        prior_mean: float | None = None,
        prior_weight: float = 0.1,
        noise_shape: float = 1.0,
        noise_fraction: float = 0.03,
    ) -> NormalLeaf:
        """Choose parameters that shift and scale with the targets, of which no more than this need be known.

        The prior mean is the mean of the targets unless given; the prior guess of the noise, ``scale / shape``, is a
        fraction of their variance, or of 1 if they are all equal.
        """
        average, variance = (y.lowest, 1.0) if y.lowest == y.highest else (y.mean, y.variance)
        if not _LEAST_VARIANCE < variance < np.inf:
            size, remedy = ("little", "multiply") if variance <= _LEAST_VARIANCE else ("far", "divide")
            raise InvalidDataError(
                f"y goes from {y.lowest:g} to {y.highest:g}, too {size} for its squares; {remedy} it by a number"
            )
        shape = as_number(noise_shape, "noise_shape", "a positive number", above=0)
        fraction = as_number(noise_fraction, "noise_fraction", "a positive number", above=0)
        mean = average if prior_mean is None else prior_mean
        return cls(mean, prior_weight, shape, shape * fraction * variance, average)

    @property
    def offset(self) -> float:  # type: ignore[override]
        """What the native means lack."""
        return self.center

    @property
    def core_parameters(self) -> list[float]:
        """Prior mean (counted from the centre) and weight, noise shape and scale."""
        return [self.prior_mean - self.center, self.prior_weight, self.noise_shape, self.noise_scale]

    def for_statistics_of(self, other: LeafModel) -> LeafModel:
        """Return this model with the centre of the other one, from which the statistics count."""
        super().for_statistics_of(other)
        return replace(self, center=other.offset)

    def around_zero(self) -> NormalLeaf:
        """Return the model that counts targets from the centre, too."""
        return replace(self, prior_mean=self.prior_mean - self.center, center=0.0)

    def statistics(self, y: FloatArray) -> FloatArray:
        """Return the statistics of single rows."""
        distance = np.asarray(y, dtype=np.float64) - self.center
        return np.column_stack([np.ones_like(distance), distance, distance**2])

    def n_rows(self, statistics: FloatArray) -> FloatArray:
        """Return the first statistic."""
        return statistics[:, 0]

    def output_cdf(self, x: FloatArray, statistics: FloatArray, output: int = 0) -> FloatArray:
        """Return the probability that the mean is at most `x`: it has Student's t distribution."""
        degrees, mean, scale, weight = self._posterior(statistics)
        return np.asarray(stdtr(degrees, (x - self.center - mean) / (scale / np.sqrt(weight))))

    def output_quantile(self, level: float, statistics: FloatArray, output: int = 0) -> FloatArray:
        """Return the inverse of `output_cdf`."""
        degrees, mean, scale, weight = self._posterior(statistics)
        return np.asarray(self.center + mean + scale / np.sqrt(weight) * stdtrit(degrees, level))

    def target_cdf(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the probability that the next target is at most `y`: it has Student's t distribution."""
        degrees, mean, scale, weight = self._posterior(statistics)
        return np.asarray(stdtr(degrees, (y - self.center - mean) / (scale * np.sqrt(1 + 1 / weight))))

    def target_quantile(self, level: float | FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the inverse of `target_cdf`."""
        degrees, mean, scale, weight = self._posterior(statistics)
        return np.asarray(self.center + mean + scale * np.sqrt(1 + 1 / weight) * stdtrit(degrees, level))

    def log_density(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the log density of the next target at `y`."""
        degrees, mean, scale, weight = self._posterior(statistics)
        width = scale * np.sqrt(1 + 1 / weight)
        log_height = gammaln((degrees + 1) / 2) - gammaln(degrees / 2) - np.log(np.pi * degrees) / 2 - np.log(width)
        with np.errstate(over="ignore"):  # the density of what is too far away is zero
            distance = ((y - self.center - mean) / width) ** 2
        return np.asarray(log_height - (degrees + 1) / 2 * np.log1p(distance / degrees))

    def _posterior(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Degrees of freedom, mean (from the centre) and width of a target around it, and the weight of the mean."""
        n, total, squares = statistics.T
        weight, shape = self.prior_weight + n, self.noise_shape + n / 2
        prior_mean = self.prior_mean - self.center
        mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
        rest = np.maximum(0.0, squares - total * mean)
        of_prior = self.prior_weight / weight
        scale = self.noise_scale + rest / 2 + of_prior * n * (mean - prior_mean) ** 2 / 2
        return 2 * shape, of_prior * prior_mean + total / weight, np.sqrt(scale / shape), weight
