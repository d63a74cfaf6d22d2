"""Whether the parts of a posterior belong together."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import InvalidModelError
from bcart.graph import Graph
from bcart.grid import Grid
from bcart.leaves import LeafModel
from bcart.parse import refusing
from bcart.priors import TreePrior

_KINDS = {"graph": Graph, "leaf": LeafModel, "prior": TreePrior, "grid": Grid}


def check_kinds(**parts: object) -> None:
    """Raise `InvalidModelError` if a part is not what its name says, or None where there is a default."""
    for name, part in parts.items():
        if not isinstance(part, _KINDS[name]) and (part is not None or name == "graph"):
            raise InvalidModelError(f"{name}={part!r} must be a {_KINDS[name].__name__}")


def check_parts(cells: Cells, grid: Grid, leaf: LeafModel, classes: npt.NDArray[Any] | None) -> None:
    """Raise `InvalidModelError` if parts do not belong together."""
    n_statistics, n_classes = cells.statistics.shape[1], None if classes is None else len(classes)
    if leaf.n_statistics != n_statistics or n_classes not in (None, leaf.n_outputs):
        raise InvalidModelError(
            f"the cells have {n_statistics} statistics, but {leaf} has {leaf.n_statistics}"
            + ("" if n_classes is None else f" and there are {n_classes} classes")
        )
    if classes is not None:
        _refuse_repeated(classes.tolist())
    if len(grid.n_bins) != len(cells.n_bins) or (np.array(grid.n_bins) < np.array(cells.n_bins)).any():
        raise InvalidModelError(f"the grid has bins {grid.n_bins}, but the cells need {cells.n_bins}")
    if grid.kinds != cells.kinds:
        raise InvalidModelError(f"the grid's features are {grid.kinds}, but those of the cells {cells.kinds}")


def _refuse_repeated(classes: list[Any]) -> None:
    with refusing("classes must be labels", InvalidModelError):
        label, count = Counter(classes).most_common(1)[0]
    if count > 1:
        raise InvalidModelError(f"the class {label!r} is there {count} times; give each class a label of its own")
