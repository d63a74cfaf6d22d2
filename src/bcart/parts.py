"""Whether the parts of a posterior belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import InvalidModelError
from bcart.grid import Grid
from bcart.leaves import LeafModel


def check_parts(cells: Cells, grid: Grid, leaf: LeafModel, classes: npt.NDArray[Any] | None) -> None:
    """Raise `InvalidModelError` if parts do not belong together."""
    n_statistics, n_classes = cells.statistics.shape[1], None if classes is None else len(classes)
    if leaf.n_statistics != n_statistics or n_classes not in (None, leaf.n_outputs):
        raise InvalidModelError(
            f"the cells have {n_statistics} statistics, but {leaf} has {leaf.n_statistics}"
            + ("" if n_classes is None else f" and there are {n_classes} classes")
        )
    if len(grid.n_bins) != len(cells.n_bins) or (np.array(grid.n_bins) < np.array(cells.n_bins)).any():
        raise InvalidModelError(f"the grid has bins {grid.n_bins}, but the cells need {cells.n_bins}")
    if grid.kinds != cells.kinds:
        raise InvalidModelError(f"the grid's features are {grid.kinds}, but those of the cells {cells.kinds}")
