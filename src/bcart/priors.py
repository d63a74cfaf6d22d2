"""Prior distributions over trees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Protocol

from bcart.errors import InvalidModelError


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
        if not isinstance(self.log_phi, Real) or not math.isfinite(self.log_phi):
            raise InvalidModelError(f"log_phi={self.log_phi!r} must be a finite number; larger means smaller trees")

    @property
    def log_split(self) -> float:
        """Log weight of a split, where stopping has log weight 0."""
        return -float(self.log_phi)
