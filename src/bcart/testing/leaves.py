"""What a leaf makes of the targets of its rows: three conjugate families, by their textbook formulas.

A leaf has an unknown parameter for each output: the probability of each class, the mean of a normal target, the rate of
a count. Methods that take the statistics of several leaves, one a row, return one row or one component a leaf.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import betaln, gammaln

from bcart.errors import InvalidModelError
from bcart.testing.boxes import FloatArray


class Distribution(Protocol):
    """One distribution a leaf, as scipy freezes them."""

    def cdf(self, x: Any, /) -> Any:
        """Return the probability of at most `x`."""

    def ppf(self, q: Any, /) -> Any:
        """Return the quantiles at `q`."""


class Certainly:
    """All mass on one number."""

    def __init__(self, number: float) -> None:
        self._number = number

    def cdf(self, x: float, /) -> float:
        """Return the probability of at most `x`."""
        return float(x >= self._number)

    def ppf(self, q: float, /) -> float:
        """Return the number, whatever `q`."""
        return self._number


class LeafFamily(ABC):
    """A conjugate family with its prior."""

    classes: npt.NDArray[np.generic] | None = None

    @property
    def n_outputs(self) -> int:
        """Number of parameters of a leaf: one a class, or one."""
        return 1 if self.classes is None else len(self.classes)

    @abstractmethod
    def statistics(self, targets: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return all that matters of the rows of one leaf."""

    @abstractmethod
    def log_marginal(self, statistics: FloatArray) -> float:
        """Return the log marginal likelihood of one leaf."""

    @abstractmethod
    def mean(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior mean of each parameter, which is the expected target too."""

    @abstractmethod
    def variance(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior variance of each parameter."""

    @abstractmethod
    def noise(self, statistics: FloatArray) -> FloatArray:
        """Return the variance of the target that would remain were the parameters known, averaged over them."""

    @abstractmethod
    def parameter(self, statistics: FloatArray, output: int) -> Distribution:
        """Return the posterior of one parameter."""

    @abstractmethod
    def target(self, statistics: FloatArray) -> Distribution:
        """Return the predictive distribution of a target."""

    @abstractmethod
    def log_predictive(self, statistics: FloatArray, targets: npt.NDArray[Any]) -> FloatArray:
        """Return the log predictive probability (density) of each target, one a row, in each leaf, one a column."""

    def target_std(self, statistics: FloatArray) -> FloatArray:
        """Return the standard deviation of the target; classes have none."""
        if self.classes is not None:
            return np.full(len(statistics), np.nan)
        return np.sqrt(self.variance(statistics) + self.noise(statistics))[:, 0]


@dataclass(frozen=True, eq=False)
class Dirichlet(LeafFamily):
    """Classes; the statistics are their weights."""

    alpha: FloatArray
    classes: npt.NDArray[np.generic]

    @classmethod
    def for_labels(cls, alpha: Any, labels: npt.NDArray[np.generic]) -> Dirichlet:
        """Make the family for the labels that occur, in sorted order."""
        classes = np.unique(labels)
        given = np.asarray(alpha, dtype=np.float64)
        if given.shape not in ((), (len(classes),)) or not (np.isfinite(given) & (given > 0)).all():
            raise InvalidModelError(
                f"alpha must be positive, a number or one for each of {len(classes)} classes, not {alpha}"
            )
        return cls(np.broadcast_to(given, len(classes)), classes)

    def statistics(self, targets: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return the weight of each class."""
        return np.array([math.fsum(weights[targets == label]) for label in self.classes])

    def log_marginal(self, statistics: FloatArray) -> float:
        """Return ``log(B(counts + alpha) / B(alpha))``."""
        return _log_beta(statistics + self.alpha) - _log_beta(self.alpha)

    def mean(self, statistics: FloatArray) -> FloatArray:
        """Return the class probabilities."""
        updated = statistics + self.alpha
        return np.asarray(updated / updated.sum(axis=1, keepdims=True))

    def variance(self, statistics: FloatArray) -> FloatArray:
        """Return the variance of each class probability: that of its Beta posterior."""
        chance, total = self.mean(statistics), (statistics + self.alpha).sum(axis=1, keepdims=True)
        return np.asarray(chance * (1 - chance) / (total + 1))

    def noise(self, statistics: FloatArray) -> FloatArray:
        """Return the mean of ``theta * (1 - theta)``."""
        chance = self.mean(statistics)
        return chance * (1 - chance) - self.variance(statistics)

    def parameter(self, statistics: FloatArray, output: int) -> Distribution:
        """Return the Beta posterior of one class probability; a class that is alone is certain."""
        if len(self.classes) == 1:
            return Certainly(1.0)
        updated = statistics + self.alpha
        frozen: Distribution = stats.beta(updated[:, output], np.delete(updated, output, axis=1).sum(axis=1))
        return frozen

    def target(self, statistics: FloatArray) -> Distribution:
        """Refuse: classes have no order."""
        raise InvalidModelError("classes have no interval; use predict_proba")

    def log_predictive(self, statistics: FloatArray, targets: npt.NDArray[Any]) -> FloatArray:
        """Return the log probability of each class; one that is not known has none."""
        chances = np.array([self.mean(statistics)[:, self.classes == label].sum(axis=1) for label in targets])
        return _log(chances)


class _UpdatedNormal(NamedTuple):
    mean: FloatArray
    weight: FloatArray
    shape: FloatArray
    scale: FloatArray


@dataclass(frozen=True)
class Normal(LeafFamily):
    """Numbers with unknown mean and variance; the statistics are weight, mean, and sum of squared deviations."""

    prior_mean: float
    prior_weight: float
    noise_shape: float
    noise_scale: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.prior_mean):
            raise InvalidModelError(f"prior_mean must be finite, not {self.prior_mean}")
        _check_positive(self, "prior_weight", "noise_shape", "noise_scale")

    def statistics(self, targets: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return weight, mean, and sum of squared deviations."""
        mean = np.average(targets, weights=weights)
        return np.array([weights.sum(), mean, weights @ (targets - mean) ** 2])

    def _updated(self, statistics: FloatArray) -> _UpdatedNormal:
        n, mean, squares = statistics[..., 0], statistics[..., 1], statistics[..., 2]
        weight = self.prior_weight + n
        pull = self.prior_weight * n * (mean - self.prior_mean) ** 2 / weight
        return _UpdatedNormal(
            mean=(self.prior_weight * self.prior_mean + n * mean) / weight,
            weight=weight,
            shape=self.noise_shape + n / 2,
            scale=self.noise_scale + squares / 2 + pull / 2,
        )

    def log_marginal(self, statistics: FloatArray) -> float:
        """Return the log of the likelihood, integrated over mean and variance."""
        after = self._updated(statistics)
        return float(
            gammaln(after.shape)
            - gammaln(self.noise_shape)
            + self.noise_shape * np.log(self.noise_scale)
            - after.shape * np.log(after.scale)
            + (np.log(self.prior_weight) - np.log(after.weight)) / 2
            - statistics[0] / 2 * np.log(2 * np.pi)
        )

    def mean(self, statistics: FloatArray) -> FloatArray:
        """Return the centre of the posterior of the mean."""
        return self._updated(statistics).mean[:, None]

    def variance(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior variance of the mean, infinite where there is none."""
        return self.noise(statistics) / self._updated(statistics).weight[:, None]

    def noise(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior mean of the variance, infinite where there is none."""
        after = self._updated(statistics)
        nothing_finite = np.full_like(after.scale, np.inf)
        return np.divide(after.scale, after.shape - 1, out=nothing_finite, where=after.shape > 1)[:, None]

    def parameter(self, statistics: FloatArray, output: int) -> Distribution:
        """Return the Student-t posterior of the mean."""
        after = self._updated(statistics)
        spread = np.sqrt(after.scale / (after.shape * after.weight))
        frozen: Distribution = stats.t(2 * after.shape, after.mean, spread)
        return frozen

    def target(self, statistics: FloatArray) -> Distribution:
        """Return the Student-t predictive."""
        frozen: Distribution = stats.t(*self._predictive(statistics))
        return frozen

    def log_predictive(self, statistics: FloatArray, targets: npt.NDArray[Any]) -> FloatArray:
        """Return the log density of the Student-t predictive."""
        return np.asarray(stats.t.logpdf(targets[:, None], *self._predictive(statistics)))

    def _predictive(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return degrees of freedom, centre and spread."""
        after = self._updated(statistics)
        return 2 * after.shape, after.mean, np.sqrt(after.scale * (after.weight + 1) / (after.shape * after.weight))


@dataclass(frozen=True)
class Poisson(LeafFamily):
    """Counts with unknown rate; the statistics are weight, sum, and log of the product of factorials."""

    prior_mean: float
    prior_weight: float

    def __post_init__(self) -> None:
        _check_positive(self, "prior_mean", "prior_weight")

    def statistics(self, targets: npt.NDArray[Any], weights: FloatArray) -> FloatArray:
        """Return weight, sum, and log of the product of factorials."""
        return np.array([weights.sum(), weights @ targets, weights @ gammaln(targets + 1)])

    def _updated(self, statistics: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shape and rate of the Gamma posterior."""
        return self.prior_weight * self.prior_mean + statistics[..., 1], self.prior_weight + statistics[..., 0]

    def log_marginal(self, statistics: FloatArray) -> float:
        """Return the log of the likelihood, integrated over the rate."""
        before = self.prior_weight * self.prior_mean
        shape, rate = self._updated(statistics)
        log_ratio = gammaln(shape) - gammaln(before) + before * np.log(self.prior_weight) - shape * np.log(rate)
        return float(log_ratio - statistics[2])

    def mean(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior mean of the rate."""
        shape, rate = self._updated(statistics)
        return (shape / rate)[:, None]

    def variance(self, statistics: FloatArray) -> FloatArray:
        """Return the posterior variance of the rate."""
        shape, rate = self._updated(statistics)
        return (shape / rate**2)[:, None]

    def noise(self, statistics: FloatArray) -> FloatArray:
        """Return the expected variance of a count, which is its expected rate."""
        return self.mean(statistics)

    def parameter(self, statistics: FloatArray, output: int) -> Distribution:
        """Return the Gamma posterior of the rate."""
        shape, rate = self._updated(statistics)
        frozen: Distribution = stats.gamma(shape, scale=1 / rate)
        return frozen

    def target(self, statistics: FloatArray) -> Distribution:
        """Return the negative binomial predictive."""
        shape, rate = self._updated(statistics)
        frozen: Distribution = stats.nbinom(shape, rate / (rate + 1))
        return frozen

    def log_predictive(self, statistics: FloatArray, targets: npt.NDArray[Any]) -> FloatArray:
        """Return the log probability of the negative binomial predictive."""
        shape, rate = self._updated(statistics)
        return np.asarray(stats.nbinom.logpmf(targets[:, None], shape, rate / (rate + 1)))


def _check_positive(family: object, *names: str) -> None:
    for name in names:
        if not 0 < getattr(family, name) < math.inf:
            raise InvalidModelError(f"{name} must be finite and positive, not {getattr(family, name)}")


def _log_beta(parameters: FloatArray) -> float:
    """Log of the multivariate beta function, from the usual one: log-gammas of large counts would cancel."""
    return float(betaln(np.cumsum(parameters)[:-1], parameters[1:]).sum())


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))
