"""Conjugate families for the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray


class LeafModel(Protocol):
    """A conjugate family: additive statistics, their log marginal likelihood and predictive distribution."""

    @property
    def n_statistics(self) -> int:
        """Number of statistics of a box."""
        ...

    def log_marginal(self, statistics: FloatArray, n_workers: int = 1) -> FloatArray:
        """Log probability of the targets behind each row of statistics, parameters integrated out."""
        ...

    def predictive(self, statistics: FloatArray) -> FloatArray:
        """Distribution of the next target, given each row of statistics."""
        ...


@dataclass(frozen=True)
class DirichletLeaf:
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
    def n_statistics(self) -> int:
        """Number of classes."""
        return len(self.alpha)

    @staticmethod
    def statistics(labels: npt.NDArray[np.integer], n_classes: int) -> FloatArray:
        """Return the statistics of single rows: a 1 in the column of the class."""
        return np.asarray(np.eye(n_classes)[labels])

    def log_marginal(self, statistics: FloatArray, n_workers: int = 1) -> FloatArray:
        """Return ``log(B(counts + alpha) / B(alpha))`` for each row of class counts."""
        counts = np.ascontiguousarray(statistics, dtype=np.float64)
        if counts.ndim != 2 or counts.shape[1] != len(self.alpha):
            raise InvalidDataError(f"class counts have shape {counts.shape}, but alpha has {len(self.alpha)} classes")
        if counts.size and not counts.min() >= 0:
            raise InvalidDataError(f"class counts contain {counts.min()}; they must not be negative")
        return np.asarray(_core.DirichletLeaf(list(self.alpha)).log_marginal(counts, n_workers))

    def predictive(self, statistics: FloatArray) -> FloatArray:
        """Return the class probabilities ``(counts + alpha) / (n + sum(alpha))`` for each row of class counts."""
        weights = statistics + np.asarray(self.alpha)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _as_alpha(alpha: object) -> FloatArray:
    try:
        return np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"alpha={alpha!r} must be a positive number, or one for each class") from None
