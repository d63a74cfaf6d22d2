"""From the rows of a file to a grid and its cells, within DuckDB: what a model is fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import InvalidDataError, InvalidModelError, MemoryBudgetError
from bcart.files.bins import Bounds, quantile_bounds, uniform_bounds
from bcart.files.columns import Choice, ColumnReport, report_columns, value_of
from bcart.files.features import Feature
from bcart.files.source import Arrays, Source
from bcart.files.sql import count_cuts, literal
from bcart.files.targets import Target, Task, read_target
from bcart.grid import MAX_BINS, Binning, Grid
from bcart.leaves import LeafModel
from bcart.limits import format_bytes
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_whole


@within_memory()
@dataclass(frozen=True, eq=False)
class TrainingFile:
    """A file whose columns are understood: which one is the target, which are features, and of which kind.

    Attributes
    ----------
    source : Source
    target : Target
    columns : tuple of ColumnReport
        Of all columns but the target and the weights.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bcart import Limits
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "some.csv")
    ...     _ = path.write_text("dose,color,well\\n1,red,no\\n2,red,no\\n8,blue,yes\\n8,red,yes\\n")
    ...     with Source(path, Limits()) as source:
    ...         training = read_training_file(source, "well")
    ...         grid = training.grid()
    ...         cells = training.cells(grid, training.target.leaf())
    >>> [(column.name, column.role) for column in training.columns], cells.statistics.tolist()
    ([('dose', 'numeric'), ('color', 'nominal')], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    """

    source: Source
    target: Target
    columns: tuple[ColumnReport, ...]
    max_bins: int

    @property
    def features(self) -> list[Feature]:
        """The columns that are looked at."""
        return [column.feature for column in self._used if column.feature is not None]

    @property
    def _used(self) -> list[ColumnReport]:
        return [column for column in self.columns if column.role != "dropped"]

    def grid(self, binning: Binning = "uniform") -> Grid:
        """Choose the bins, exactly as `Grid.from_data` does."""
        if binning not in ("uniform", "quantile"):
            raise InvalidModelError(f"binning={binning!r} must be 'uniform' or 'quantile'")
        bounds = [self._bounds(column, binning) for column in self._used]
        lowest, highest = zip(*bounds, strict=True)
        return Grid(
            lowest,
            highest,
            tuple(column.name for column in self._used),
            tuple(column.distinct if column.role == "nominal" else None for column in self._used),
            tuple(column.n_missing > 0 for column in self._used),
        )

    def _bounds(self, column: ColumnReport, binning: Binning) -> Bounds:
        """Return the lowest and the highest value in each bin."""
        if column.distinct is not None:
            values = np.arange(len(column.distinct)) if column.role == "nominal" else np.array(column.distinct)
            return values.astype(np.float64), values.astype(np.float64)
        assert column.feature is not None
        x = value_of(self.source, column.feature)
        if binning == "uniform":
            return uniform_bounds(self.source, x, column.lowest, column.highest, self.max_bins)
        return quantile_bounds(self.source, x, self.target.rows, self.max_bins)

    def cells(self, grid: Grid, leaf: LeafModel) -> Cells:
        """Add up the rows in each cell of a grid."""
        codes = [self._code(grid, feature) for feature in range(len(self.features))]
        keys = ", ".join(f"CAST({code} AS UTINYINT) AS k{place}" for place, code in enumerate(codes))
        sums = (
            [f"CAST({self.target.class_number} AS USMALLINT) AS label", f"{self.target.rows.total} AS s0"]
            if self.target.classes is not None
            else [f"{sql} AS s{place}" for place, sql in enumerate(self.target.statistics(leaf))]
        )
        self.source.do(
            f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {keys}, {', '.join(sums)} FROM known GROUP BY ALL"
        )
        self._check_size(leaf)
        found = self.source.arrays("SELECT * FROM cells ORDER BY ALL")
        return _as_cells(found, len(codes), self.target.classes, grid)

    def _code(self, grid: Grid, feature: int) -> str:
        x, first = value_of(self.source, self.features[feature]), int(grid.has_missing[feature])
        labels = grid.categories[feature]
        code = count_cuts(x, grid.cuts[feature].tolist() if labels is None else labels[1:], first)
        return f"CASE WHEN {x} IS NULL THEN 0 ELSE {code} END" if first else code

    def _check_size(self, leaf: LeafModel) -> None:
        n_rows, limits = int(self.source.row("SELECT count(*) FROM cells")[0]), self.source.limits
        n_bytes = n_rows * (len(self.features) + 8 * (leaf.n_statistics + 1))
        if n_bytes > limits.n_bytes:
            raise MemoryBudgetError(
                f"{n_rows:,} cells with distinct values take {format_bytes(n_bytes)}, more than "
                f"max_memory={format_bytes(limits.n_bytes)}; lower max_bins, drop columns, or raise max_memory"
            )

    def sample(self, n: int, seed: int = 0) -> Sample:
        """Return some of the rows, chosen at random, in their order; all of them if there are no more."""
        weight = "1.0" if self.target.rows.weight is None else "w"
        values = ", ".join(f"{value_of(self.source, f)} AS x{place}" for place, f in enumerate(self.features))
        chosen = f"SELECT * FROM known ORDER BY hash(r + {literal(seed)}), r LIMIT {n}"
        found = self.source.arrays(f"SELECT {values}, y, {weight} AS w FROM ({chosen}) ORDER BY r")
        return Sample(
            [found[f"x{place}"] for place in range(len(self.features))],
            [feature.kind == "nominal" for feature in self.features],
            found["y"],
            found["w"].astype(np.float64),
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a file in memory.

    Attributes
    ----------
    columns : list of arrays
        Numbers with NaN for missing values, or labels with None or NaN for them, see `unmasked`.
    is_nominal : list of bool
    y, weights : arrays
    """

    columns: list[npt.NDArray[Any]]
    is_nominal: list[bool]
    y: npt.NDArray[Any]
    weights: FloatArray


@within_memory()
def read_training_file(
    source: Source,
    target: str,
    *,
    weight: str | None = None,
    task: Task | None = None,
    choice: Choice | None = None,
    max_bins: int = 10,
) -> TrainingFile:
    """Load a file and find out what its columns are.

    Parameters
    ----------
    source : Source
    target : str
        The column to predict. Rows without it are left out.
    weight : str, optional
        A column of weights: a row of weight 2 counts as two, one of weight 0 as none.
    task : {"classify", "regress", "count"}, optional
        By default guessed: text, truth values and few distinct whole numbers are classes.
    choice : Choice, optional
        What is said of columns.
    max_bins : int
        Most bins a numeric feature may have.
    """
    max_bins = as_whole(max_bins, "max_bins", f"a whole number from 2 to {MAX_BINS}", 2, MAX_BINS)
    choice = choice or Choice()
    source.check_names(choice.names)
    source.load(as_text=choice.nominal)
    found = read_target(source, target, task, weight)
    others = (target,) if weight is None else (target, weight)
    for name in others:
        if name in choice.numeric + choice.nominal + choice.drop:
            raise InvalidModelError(f"column {name!r} is the target or the weight, and no feature besides")
    columns = tuple(report_columns(source, choice, others, max_bins))
    if all(column.role == "dropped" for column in columns):
        reasons = "; ".join(f"{column.name}: {column.reason}" for column in columns) or "there is no other column"
        raise InvalidDataError(f"no column is left to predict {target!r} from ({reasons})")
    return TrainingFile(source, found, columns, max_bins)


def _as_cells(found: Arrays, n_features: int, classes: Sequence[Any] | npt.NDArray[Any] | None, grid: Grid) -> Cells:
    """Put the sums of each cell into one row; those of classes come in rows of their own."""
    codes = np.column_stack([found[f"k{place}"] for place in range(n_features)]).astype(np.uint8)
    if classes is None:
        statistics = np.column_stack([found[f"s{place}"] for place in range(len(found) - n_features)])
        return Cells(codes, statistics, statistics[:, 0], grid.kinds)
    is_new = np.append(True, (codes[1:] != codes[:-1]).any(axis=1))
    statistics = np.zeros((int(is_new.sum()), len(classes)))
    statistics[np.cumsum(is_new) - 1, found["label"]] = found["s0"]
    return Cells(codes[is_new], statistics, kinds=grid.kinds)
