"""Prior distributions over trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bcart.errors import InvalidModelError
from bcart.parse import as_number

MAX_LOG_PHI = 1e100  # sums over many leaves stay finite


class TreePrior(Protocol):
    """A distribution over trees, given by the log weight of one split against that of stopping."""

    @property
    def log_split(self) -> float:
        """Log weight of a split, where stopping has log weight 0."""
        ...


@dataclass(frozen=True)
class LeafCountPrior:
    """Trees weigh ``phi ** -(number of leaves)``, up to a constant: the tree of one leaf counts 1.

    Examples
    --------
    >>> LeafCountPrior(log_phi=2.0).log_split
    -2.0
    """

    log_phi: float = 2.0

    def __post_init__(self) -> None:
        meaning = f"a number between {-MAX_LOG_PHI:g} and {MAX_LOG_PHI:g}; larger means smaller trees"
        log_phi = as_number(self.log_phi, "log_phi", meaning)
        if abs(log_phi) > MAX_LOG_PHI:
            raise InvalidModelError(f"log_phi={log_phi!r} must be {meaning}")
        object.__setattr__(self, "log_phi", log_phi)

    @property
    def log_split(self) -> float:
        """Log weight of a split, where stopping has log weight 0."""
        return -self.log_phi
