"""The rows of a file that count: those with a target and a positive weight."""

from __future__ import annotations

from dataclasses import dataclass

from bcart.errors import InvalidDataError
from bcart.files.features import Feature
from bcart.files.source import Source
from bcart.files.sql import FixedPoint


@dataclass(frozen=True)
class KnownRows:
    """The view ``known``: the columns of ``rows``, the target `y` and, if there are weights, the weight `w`.

    Attributes
    ----------
    n_rows : int
        How many there are.
    n_without_target, n_without_weight : int
        How many more the file has.
    weight : str or None
        The column of weights.
    largest_weight : float
    """

    n_rows: int
    n_without_target: int
    n_without_weight: int
    weight: str | None = None
    largest_weight: float = 1.0

    @property
    def total(self) -> str:
        """The weight of rows, in SQL."""
        return "CAST(count(*) AS DOUBLE)" if self.weight is None else self.sum("1.0", 1.0)

    def sum(self, x: str, largest: float) -> str:
        """Write the weighted sum of `x`, which is never beyond `largest`, in SQL."""
        fixed = FixedPoint.of(largest * self.largest_weight, self.n_rows)
        return fixed.sum(x if self.weight is None else f"w * ({x})")


def find_known_rows(source: Source, y: str, target: str, weight: str | None) -> KnownRows:
    """Make the view of the rows whose target, an expression, is there and whose weight is positive."""
    n_without_target = source.n_rows - int(source.row(f"SELECT count({y}) FROM rows")[0])
    if weight is None:
        source.do(f"CREATE VIEW known AS SELECT *, {y} AS y FROM rows WHERE y IS NOT NULL")
        known = KnownRows(source.n_rows - n_without_target, n_without_target, 0)
    else:
        known = _weigh(source, y, weight, n_without_target)
    if known.n_rows == 0:
        missing = f"{target!r} is missing in all of its {source.n_rows:,} rows" if weight is None else "no row counts"
        raise InvalidDataError(f"{source.path.name} has nothing to learn from: {missing}")
    return known


def _weigh(source: Source, y: str, weight: str, n_without_target: int) -> KnownRows:
    feature = Feature(weight, "numeric", "number")
    feature.check(source)
    w = feature.expression(source.column(weight), source.types[weight])
    source.do(f"CREATE VIEW known AS SELECT *, {y} AS y, {w} AS w FROM rows WHERE y IS NOT NULL AND w > 0")
    n_wrong, n_rows, largest = source.row(
        f"SELECT count(*) FILTER ({w} IS NULL OR {w} < 0 OR isinf({w})), count(*) FILTER ({w} > 0), max({w}) "
        f"FROM rows WHERE {y} IS NOT NULL"
    )
    if n_wrong:
        raise InvalidDataError(
            f"the weights {weight!r} are missing, negative or infinite in {n_wrong:,} rows; correct them, or put 0 to "
            "leave a row out"
        )
    n_without_weight = source.n_rows - n_without_target - n_rows
    return KnownRows(n_rows, n_without_target, n_without_weight, weight, float(largest or 0.0))
