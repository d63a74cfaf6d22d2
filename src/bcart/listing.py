"""Which trees are looked at, and the list of their boxes and splits as the core makes it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bcart import _core
from bcart.cells import Cells
from bcart.errors import InvalidModelError
from bcart.grid import Kind
from bcart.limits import Limits
from bcart.memory import within_memory
from bcart.parse import as_number, as_whole

Folding = Literal["automatic", "never", "always"]

FOLDED_LEVELS = 2


@within_memory()
@dataclass(frozen=True)
class Family:
    """Which trees are looked at.

    Parameters
    ----------
    max_depth : int or None
        Most tests on a way from the root to a leaf.
    min_samples_leaf, min_samples_split : float
        Least total weight of the rows in a leaf, and in a box that may be split.

    Examples
    --------
    >>> Family(max_depth=3, min_samples_leaf=5)
    Family(max_depth=3, min_samples_leaf=5.0, min_samples_split=2.0)
    """

    max_depth: int | None = None
    min_samples_leaf: float = 1
    min_samples_split: float = 2

    def __post_init__(self) -> None:
        if self.max_depth is not None:
            depth = as_whole(self.max_depth, "max_depth", "a positive whole number, or None for no limit", least=1)
            object.__setattr__(self, "max_depth", min(depth, sys.maxsize))
        for name in ("min_samples_leaf", "min_samples_split"):
            number = as_number(getattr(self, name), name, "a positive number of (weighted) rows", above=0)
            object.__setattr__(self, name, number)


def list_boxes(
    cells: Cells,
    family: Family,
    limits: Limits,
    folding: Folding = "automatic",
    report: Callable[..., object] | None = None,
) -> _core.Graph:
    """Return all boxes and splits of a family, or of as many levels as the limits allow."""
    return _core.build_graph(
        cells.codes, list(cells.n_bins), core_kinds(cells.kinds), cells.statistics, cells.weights,
        family.max_depth, family.min_samples_leaf, family.min_samples_split, _as_folding(folding),
        limits.n_bytes, limits.seconds, limits.n_workers, report,
    )  # fmt: skip


def _as_folding(folding: str) -> _core.Folding:
    if folding not in ("automatic", "never", "always"):
        raise InvalidModelError(f"folding={folding!r} must be 'automatic', 'never' or 'always'")
    return _core.Folding[folding.upper()]


def core_kinds(kinds: tuple[Kind, ...]) -> list[_core.Kind]:
    """Return kinds of features as the core names them."""
    return [getattr(_core.Kind, kind.upper()) for kind in kinds]
