"""Prior distributions over trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bcart import _core
from bcart.cached import cached_property
from bcart.errors import InvalidModelError
from bcart.memory import within_memory
from bcart.parse import as_number

MAX_LOG_PHI = 1e100  # sums over many leaves stay finite


@within_memory()
class TreePrior(ABC):
    """A distribution over trees: the product, over the boxes of a tree, of a weight of stopping or of one split.

    A prior is a subclass here, beside the file in ``cpp/src/priors`` that computes the weights.

    Examples
    --------
    >>> from bcart import DepthDecayPrior
    >>> prior = DepthDecayPrior(split_alpha=0.5, split_beta=1.0)
    >>> round(prior.log_stop(depth=0, n_splits=3), 6), prior.log_stop(depth=0, n_splits=0)
    (-0.693147, 0.0)
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def core_parameters(self) -> list[float]:
        """Parameters in the order that the native prior takes them."""

    @cached_property
    def core(self) -> _core.TreePrior:
        """The native prior."""
        return _core.TreePrior(self.name, self.core_parameters)

    def log_stop(self, depth: int, n_splits: int) -> float:
        """Return the log weight of stopping for a box at a depth (the root's is 0) that has so many splits."""
        return self.core.log_stop(depth, n_splits)

    def log_split(self, depth: int, n_splits: int) -> float:
        """Return the log weight of making one of its splits."""
        return self.core.log_split(depth, n_splits)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).copy().items() if name != "core"}


@within_memory()
@dataclass(frozen=True)
class LeafCountPrior(TreePrior):
    """Trees weigh ``phi ** -(number of leaves)``, up to a constant: the tree of one leaf counts 1.

    Examples
    --------
    >>> LeafCountPrior(log_phi=2.0).log_split(depth=3, n_splits=10)
    -2.0
    """

    log_phi: float = 2.0

    name = "leaf-count"

    def __post_init__(self) -> None:
        meaning = f"a number between {-MAX_LOG_PHI:g} and {MAX_LOG_PHI:g}; larger means smaller trees"
        log_phi = as_number(self.log_phi, "log_phi", meaning)
        if abs(log_phi) > MAX_LOG_PHI:
            raise InvalidModelError(f"log_phi={log_phi!r} must be {meaning}")
        object.__setattr__(self, "log_phi", log_phi)

    @property
    def core_parameters(self) -> list[float]:
        """The one parameter."""
        return [self.log_phi]


@within_memory()
@dataclass(frozen=True)
class DepthDecayPrior(TreePrior):
    """A box at depth t splits with probability ``split_alpha * (1 + t) ** -split_beta``, if it can.

    All of its splits are then equally probable (Chipman, George and McCulloch 1998). A box that cannot split, or must
    not because of `max_depth`, stops with probability 1.

    Examples
    --------
    >>> round(DepthDecayPrior().log_split(depth=1, n_splits=4), 6)  # 0.95 / 2**2 / 4
    -2.823882
    """

    split_alpha: float = 0.95
    split_beta: float = 2.0

    name = "depth-decay"

    def __post_init__(self) -> None:
        alpha = as_number(self.split_alpha, "split_alpha", "a number between 0 and 1", above=0)
        if alpha >= 1:
            raise InvalidModelError(f"split_alpha={self.split_alpha!r} must be below 1: the root may have to stop")
        beta = as_number(self.split_beta, "split_beta", "a number, zero or more; larger means smaller trees")
        if beta < 0:
            raise InvalidModelError(f"split_beta={self.split_beta!r} must not be negative; larger means smaller trees")
        object.__setattr__(self, "split_alpha", alpha)
        object.__setattr__(self, "split_beta", beta)

    @property
    def core_parameters(self) -> list[float]:
        """The two parameters."""
        return [self.split_alpha, self.split_beta]


def choose_prior(prior: str | TreePrior, log_phi: float, split_alpha: float, split_beta: float) -> TreePrior:
    """Return the prior that is given, or the one of that name with its parameters."""
    if isinstance(prior, TreePrior):
        return prior
    if prior == LeafCountPrior.name:
        return LeafCountPrior(log_phi)
    if prior == DepthDecayPrior.name:
        return DepthDecayPrior(split_alpha, split_beta)
    raise InvalidModelError(f"prior={prior!r} must be 'leaf-count', 'depth-decay' or a TreePrior")
