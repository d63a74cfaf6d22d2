"""Prior distributions over trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bcart.parse import as_number


class TreePrior(Protocol):
    """A distribution over trees, given by the log weight of one split against that of stopping."""

    @property
    def log_split(self) -> float:
        """Log weight of a split, where stopping has log weight 0."""
        ...


@dataclass(frozen=True)
class LeafCountPrior:
    """Trees weigh ``phi ** -(number of leaves)``.

    Examples
    --------
    >>> LeafCountPrior(log_phi=2.0).log_split
    -2.0
    """

    log_phi: float = 2.0

    def __post_init__(self) -> None:
        log_phi = as_number(self.log_phi, "log_phi", "a finite number; larger means smaller trees")
        object.__setattr__(self, "log_phi", log_phi)

    @property
    def log_split(self) -> float:
        """Log weight of a split, where stopping has log weight 0."""
        return -self.log_phi
