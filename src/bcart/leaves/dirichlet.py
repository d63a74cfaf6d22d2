"""Classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.leaves.model import LeafModel
from bcart.memory import within_memory
from bcart.parse import FloatArray


@within_memory()
@dataclass(frozen=True)
class DirichletLeaf(LeafModel):
    """Classes with a Dirichlet prior on their probabilities; the statistics are class counts.

    Parameters
    ----------
    alpha : tuple of float
        Pseudo-counts, one a class.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = DirichletLeaf.for_classes(1.0, n_classes=2)
    >>> leaf.predictive(np.array([[3.0, 0.0]]))
    array([[0.8, 0.2]])
    >>> float(np.exp(leaf.log_marginal(np.array([[1.0, 1.0]]))[0]).round(12))
    0.166666666667
    """

    alpha: tuple[float, ...]

    family = "dirichlet"
    outputs_sum_to_one = True

    def __post_init__(self) -> None:
        values = _as_alpha(self.alpha)
        if values.ndim != 1 or len(values) == 0 or not (values > 0).all() or not np.isfinite(values.sum()):
            raise InvalidModelError(f"alpha={self.alpha!r} must be positive and finite, one value a class")
        object.__setattr__(self, "alpha", tuple(float(value) for value in values))

    @classmethod
    def for_classes(cls, alpha: float | Sequence[float], n_classes: int) -> DirichletLeaf:
        """Use one pseudo-count for all classes, or one for each."""
        values = _as_alpha(alpha)
        if values.ndim == 0:
            return cls((float(values),) * n_classes)
        if values.shape != (n_classes,):
            raise InvalidModelError(f"alpha has shape {values.shape}, but there are {n_classes} classes")
        return cls(tuple(values))

    @property
    def core_parameters(self) -> list[float]:
        """The pseudo-counts."""
        return list(self.alpha)

    @staticmethod
    def statistics(labels: npt.NDArray[np.integer], n_classes: int) -> FloatArray:
        """Return the statistics of single rows: a 1 in the column of the class."""
        return np.asarray(np.eye(n_classes)[labels])

    def log_marginal(self, statistics: FloatArray, n_workers: int = 1) -> FloatArray:
        """Return ``log(B(counts + alpha) / B(alpha))`` for each row of class counts."""
        if np.size(statistics) and not np.min(statistics) >= 0:
            raise InvalidDataError(f"class counts contain {np.min(statistics)}; they must not be negative")
        return super().log_marginal(statistics, n_workers)

    def n_rows(self, statistics: FloatArray) -> FloatArray:
        """Return the sum of the class counts."""
        return np.asarray(statistics.sum(axis=1))

    def output_cdf(self, x: FloatArray, statistics: FloatArray, output: int) -> FloatArray:
        """Return the probability that the chance of a class is at most `x`: it has a beta distribution."""
        return np.asarray(betainc(*self._beta(statistics, output), np.clip(x, 0.0, 1.0)))

    def output_quantile(self, level: float, statistics: FloatArray, output: int) -> FloatArray:
        """Return the inverse of `output_cdf`."""
        return np.asarray(betaincinv(*self._beta(statistics, output), level))

    def output_bounds(self, level: float, statistics: FloatArray, output: int) -> tuple[FloatArray, FloatArray]:
        """Return 0 and 1."""
        return np.zeros(len(statistics)), np.ones(len(statistics))

    def target_cdf(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the probability of the classes up to the one numbered `y`."""
        sums = np.cumsum(self.predictive(statistics), axis=1)
        return np.asarray(sums[np.arange(len(sums)), np.asarray(y, dtype=np.intp)])

    def target_quantile(self, level: float | FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the number of the class with which the classes up to it reach the level."""
        sums = np.cumsum(self.predictive(statistics), axis=1)[:, :-1]
        return np.asarray((sums <= np.asarray(level)[..., None]).sum(axis=1), dtype=np.float64)

    def log_density(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the log probability of the class numbered `y`."""
        chances = self.predictive(statistics)
        with np.errstate(divide="ignore"):  # a chance below the least number is none
            return np.asarray(np.log(chances[np.arange(len(chances)), np.asarray(y, dtype=np.intp)]))

    def _beta(self, statistics: FloatArray, output: int) -> tuple[FloatArray, FloatArray]:
        counts = statistics + np.asarray(self.alpha)
        others = np.delete(counts, output, axis=1).sum(axis=1)
        return counts[:, output], np.maximum(others, np.finfo(np.float64).tiny)


def _as_alpha(alpha: object) -> FloatArray:
    try:
        return np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"alpha={alpha!r} must be a positive number, or one for each class") from None
