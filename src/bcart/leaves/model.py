"""What every conjugate family has to know of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bcart import _core
from bcart.cached import cached_property
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.memory import within_memory
from bcart.parse import FloatArray

BYTES_AT_ONCE = 2**22  # of leaves that are answered together: they stay in the cache, and take a few milliseconds


def central_interval(quantile: Callable[[float], FloatArray], tail: float) -> tuple[FloatArray, FloatArray]:
    """Return the quantiles that leave a probability on either side; in order, also where rounding has crossed them."""
    low, high = quantile(tail), quantile(1 - tail)
    return low, np.maximum(low, high)


class Moments(NamedTuple):
    """What is known of the outputs of leaves, arrays of shape (n_leaves, n_outputs)."""

    mean: FloatArray
    variance: FloatArray
    noise: FloatArray


class Targets(NamedTuple):
    """What a family for regression has to know of all targets to choose its parameters."""

    mean: float
    variance: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, y: FloatArray, weights: FloatArray) -> Targets:
        """Look at targets and their weights."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            mean = float(np.average(y, weights=weights))
            variance = float(np.average((y - mean) ** 2, weights=weights))
        return cls(mean, variance, float(y.min()), float(y.max()))


@within_memory()
class LeafModel(ABC):
    """A conjugate family: additive statistics, their log marginal likelihood, and what they say of the next target.

    The *output* of a leaf is the parameter of interest: the probabilities of the classes, the mean of the targets, the
    rate of the counts. A family is a subclass in a file of its own, beside the file in ``cpp/src/leaves`` that computes
    marginal likelihoods and moments. Arrays of statistics have one row a leaf.

    Examples
    --------
    >>> from bcart import DirichletLeaf, LeafModel
    >>> isinstance(DirichletLeaf((1.0, 1.0)), LeafModel)
    True
    """

    family: ClassVar[str]
    is_discrete: ClassVar[bool] = True
    outputs_sum_to_one: ClassVar[bool] = False
    offset: float = 0.0

    @property
    @abstractmethod
    def core_parameters(self) -> list[float]:
        """Parameters in the order that the native family takes them."""

    @abstractmethod
    def n_rows(self, statistics: FloatArray) -> FloatArray:
        """Return the weight of the rows behind each row of statistics."""

    @abstractmethod
    def output_cdf(self, x: FloatArray, statistics: FloatArray, output: int) -> FloatArray:
        """Return the posterior probability that an output of each leaf is at most `x`."""

    @abstractmethod
    def output_quantile(self, level: float, statistics: FloatArray, output: int) -> FloatArray:
        """Return the inverse of `output_cdf`."""

    def output_bounds(self, level: float, statistics: FloatArray, output: int) -> tuple[FloatArray, FloatArray]:
        """Return bounds of `output_quantile` that are quick to find."""
        quantile = self.output_quantile(level, statistics, output)
        return quantile, quantile

    @abstractmethod
    def target_cdf(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the probability that the next target of each leaf is at most `y`."""

    @abstractmethod
    def target_quantile(self, level: float | FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the inverse of `target_cdf`: for discrete targets the least one that reaches the level."""

    @abstractmethod
    def log_density(self, y: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return the log probability (density) of the next target of each leaf."""

    @property
    def n_statistics(self) -> int:
        """Number of statistics of a box."""
        return self.core.n_statistics

    @property
    def n_outputs(self) -> int:
        """Number of outputs of a leaf."""
        return self.core.n_outputs

    @cached_property
    def core(self) -> _core.LeafModel:
        """The native family."""
        return _core.LeafModel(self.family, self.core_parameters)

    def log_marginal(self, statistics: FloatArray, n_workers: int = 1) -> FloatArray:
        """Return the log probability of the targets behind each row of statistics, parameters integrated out."""
        return np.asarray(self.core.log_marginal(self._checked(statistics), n_workers))

    def moments(self, statistics: FloatArray) -> Moments:
        """Return mean and variance of the outputs, and the expected variance of a target around them."""
        rows = self._checked(statistics)
        parts = [np.asarray(part).reshape(len(rows), self.n_outputs) for part in self.core.moments(rows)]
        return Moments(parts[0] + self.offset, parts[1], parts[2])

    def predictive(self, statistics: FloatArray) -> FloatArray:
        """Return what each leaf predicts: class probabilities, or the expected target."""
        return self.moments(statistics).mean

    def predictive_std(self, statistics: FloatArray) -> FloatArray:
        """Return the standard deviation of the next target of each leaf, by output."""
        moments = self.moments(statistics)
        return np.asarray(np.sqrt(moments.variance + moments.noise))

    @property
    def n_bytes_a_leaf(self) -> int:
        """What one leaf takes at most while something is found for it, besides its statistics and the result."""
        return 8 * (2 * self.n_statistics + 6 * self.n_outputs + 16)

    def in_pieces(self, find: Callable[[slice], FloatArray], n_leaves: int, n_bytes: int = BYTES_AT_ONCE) -> FloatArray:
        """Return one number for each of many leaves, found for as many at once as some bytes have room for."""
        found = np.empty(n_leaves)
        n_at_once = max(1, n_bytes // self.n_bytes_a_leaf)
        for start in range(0, n_leaves, n_at_once):
            piece = slice(start, start + n_at_once)
            found[piece] = find(piece)
        return found

    def for_statistics_of(self, other: LeafModel) -> LeafModel:
        """Return this model for statistics that were made for another of its family."""
        if type(self) is not type(other):
            raise InvalidModelError(
                f"the statistics were made for {type(other).__name__}, not for {type(self).__name__}; fit anew"
            )
        return self

    def around_zero(self) -> LeafModel:
        """Return the model of what is left of targets and outputs without `offset`."""
        return self

    def _checked(self, statistics: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(statistics, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_statistics:
            raise InvalidDataError(
                f"statistics of {type(self).__name__} have {self.n_statistics} columns, got shape {rows.shape}"
            )
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).copy().items() if name != "core"}
