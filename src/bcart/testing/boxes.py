"""Cells and boxes: distinct rows, and sets of them, in the plainest form."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

# Sums of weights are compared up to rounding, so that ten rows of weight 0.1 count as one.
_WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct rows of a table, and which of them each row is. A box is a number whose bit i is set for cell i."""

    values: FloatArray  # NaN where a value is missing
    nominal: frozenset[int]  # columns whose numbers are labels
    cell_of_row: npt.NDArray[np.intp]
    row_weights: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, nominal: Collection[int], weights: FloatArray) -> Cells:
        """Put equal rows together; missing values are equal."""
        # NaN differs even from itself; rows are finite but for it, so that minus infinity can stand in.
        stand_in, cell_of_row = np.unique(np.where(np.isnan(rows), -np.inf, rows), axis=0, return_inverse=True)
        values = np.where(np.isinf(stand_in), np.nan, stand_in)
        return cls(values, frozenset(nominal), cell_of_row.reshape(-1), weights)

    @property
    def n_cells(self) -> int:
        """Number of distinct rows."""
        return len(self.values)

    @property
    def root(self) -> int:
        """The box of all cells."""
        return box_of(np.ones(self.n_cells, dtype=np.bool_))

    @cached_property
    def weights(self) -> FloatArray:
        """Weight of each cell."""
        return np.array([math.fsum(self.row_weights[self.cell_of_row == cell]) for cell in range(self.n_cells)])

    @cached_property
    def levels(self) -> list[list[tuple[float, int]]]:
        """For each feature its distinct values in increasing order, each with the box of the cells that have it."""
        return [
            [(value, box_of(column == value)) for value in np.unique(column[~np.isnan(column)]).tolist()]
            for column in self.values.T
        ]

    @cached_property
    def missing(self) -> list[int]:
        """For each feature the box of the cells where it is missing."""
        return [box_of(np.isnan(column)) for column in self.values.T]

    @cached_property
    def categories(self) -> tuple[tuple[float, ...] | None, ...]:
        """For each nominal feature its labels in increasing order, and None for each numeric one."""
        return tuple(
            tuple(value for value, _ in levels) if feature in self.nominal else None
            for feature, levels in enumerate(self.levels)
        )

    def rows_of(self, box: int) -> npt.NDArray[np.bool_]:
        """Tell for each row whether it is in the box."""
        return np.isin(self.cell_of_row, _members(box))

    def weight_of(self, box: int) -> float:
        """Return the weight of a box, added up over its cells."""
        return math.fsum(self.weights[_members(box)])


def at_least(weight: float, minimum: float) -> bool:
    """Tell whether a weight reaches a minimum, up to rounding."""
    return weight * (1 + _WEIGHT_TOLERANCE) >= minimum


def box_of(has: npt.NDArray[np.bool_]) -> int:
    """Return the box of the cells that are marked."""
    return sum(1 << int(index) for index in np.flatnonzero(has))


def _members(box: int) -> list[int]:
    return [index for index, bit in enumerate(reversed(f"{box:b}")) if bit == "1"]
