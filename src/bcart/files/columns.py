"""Which columns of a file are features, and of which kind: guessed, unless said otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.files.features import Feature, Kind, label_unit, unit_of
from bcart.files.source import Source
from bcart.tables import MAX_CATEGORIES, Labels, sort_labels

# The count of distinct values is first estimated. Its error is some percent: what is estimated at so many times the
# number that counts is above it, beyond doubt, and what is below is counted.
_DOUBT = 8
_FEW_LABELS = 20  # that are no names, though a short table may have no more rows
Role = Literal["numeric", "nominal", "dropped"]


@dataclass(frozen=True)
class Choice:
    """What was said of columns; everything else is guessed.

    Parameters
    ----------
    numeric, nominal, drop : tuple of str
        Names of columns to be taken for numbers, for labels, or not at all.
    only : tuple of str
        If there are any, no other column is a feature.

    Examples
    --------
    >>> Choice(nominal=("zip",), drop=("id",)).role("zip")
    'nominal'
    """

    numeric: tuple[str, ...] = ()
    nominal: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = [*self.numeric, *self.nominal, *self.drop]
        twice = {name for name in named if named.count(name) > 1}
        if twice:
            raise InvalidModelError(f"column {min(twice)!r} is named for two purposes; name it for one")

    @property
    def names(self) -> tuple[str, ...]:
        """All names, which have to be those of columns."""
        return self.numeric + self.nominal + self.drop + self.only

    def role(self, name: str) -> Role | None:
        """Return what was said of a column; None if nothing was."""
        if name in self.drop or (self.only and name not in self.only + self.numeric + self.nominal):
            return "dropped"
        return "numeric" if name in self.numeric else "nominal" if name in self.nominal else None


@dataclass(frozen=True)
class ColumnReport:
    """What became of a column.

    Attributes
    ----------
    name, type : str
        The type is DuckDB's.
    role : {"numeric", "nominal", "dropped"}
    reason : str
        Why it was dropped.
    feature : Feature or None
    n_missing : int
    lowest, highest : float
        Of numbers.
    distinct : tuple or None
        The distinct values, sorted, if they are few enough for a bin each.
    """

    name: str
    type: str
    role: Role
    reason: str = ""
    feature: Feature | None = None
    n_missing: int = 0
    lowest: float = float("nan")
    highest: float = float("nan")
    distinct: Labels | None = None


def report_columns(source: Source, choice: Choice, others: tuple[str, ...], max_bins: int) -> list[ColumnReport]:
    """Return what becomes of each column but some others, by the rows of the view ``known``."""
    return [_report(source, name, choice, max_bins) for name in source.types if name not in others]


def feature_of(source: Source, name: str, kind: Kind | None) -> Feature | None:
    """Return how a column is read: as said, or as its type says; None if it cannot be."""
    sql_type = source.types[name]
    unit = unit_of(sql_type)
    if kind == "nominal" or (kind is None and unit == "text"):
        return Feature(name, "nominal", label_unit(sql_type))
    if unit == "text" and kind == "numeric":
        return Feature(name, "numeric", "number")
    return None if unit is None or unit == "text" else Feature(name, "numeric", unit)


def _report(source: Source, name: str, choice: Choice, max_bins: int) -> ColumnReport:
    said, sql_type = choice.role(name), source.types[name]
    if said == "dropped":
        reason = "as you asked" if name in choice.drop else "not among those you asked for"
        return ColumnReport(name, sql_type, "dropped", reason)
    feature = feature_of(source, name, said)
    if feature is None:
        return ColumnReport(name, sql_type, "dropped", f"{sql_type} is neither number, date nor text")
    if said == "numeric" and unit_of(sql_type) == "text":
        feature.check(source)
    return _survey(source, feature, said is not None, max_bins)


def _survey(source: Source, feature: Feature, is_asked_for: bool, max_bins: int) -> ColumnReport:
    """Look at the values of a column."""
    x, sql_type = value_of(source, feature), source.types[feature.name]
    extremes = f"min({x}), max({x})" if feature.kind == "numeric" else "NULL, NULL"
    n_rows, n_known, about, lowest, highest = source.row(
        f"SELECT count(*), count({x}), approx_count_distinct({x}), {extremes} FROM known"
    )
    n_missing = n_rows - n_known
    if n_known == 0:
        return ColumnReport(feature.name, sql_type, "dropped", "all missing", n_missing=n_missing)
    most = max_bins if feature.kind == "numeric" else MAX_CATEGORIES
    distinct = _distinct(source, x, feature) if about <= _DOUBT * most else None
    if feature.kind == "nominal" and (distinct is None or len(distinct) > most):
        _refuse_if(is_asked_for, feature.name, max(about, len(distinct or ())))
        return ColumnReport(feature.name, sql_type, "dropped", f"more than {most} labels", n_missing=n_missing)
    if feature.unit == "text" and not is_asked_for and _are_names(distinct or (), n_known):
        return ColumnReport(feature.name, sql_type, "dropped", "a label for nearly every row", n_missing=n_missing)
    if distinct is not None and len(distinct) == 1 and n_missing == 0:
        return ColumnReport(feature.name, sql_type, "dropped", "constant")
    if feature.unit == "text" and not is_asked_for and _are_truth_values(distinct or ()):
        return _survey(source, Feature(feature.name, "numeric", "flag"), is_asked_for, max_bins)
    if feature.kind == "numeric" and not (np.isfinite(lowest) and np.isfinite(highest)):
        raise InvalidDataError(
            f"column {feature.name!r} contains {highest if np.isinf(highest) else lowest}; clip infinite values, or "
            "make them missing"
        )
    few = distinct if distinct is not None and len(distinct) <= most else None
    report = ColumnReport(feature.name, sql_type, feature.kind, "", feature, n_missing, distinct=few)
    return report if feature.kind == "nominal" else replace(report, lowest=float(lowest), highest=float(highest))


def _are_names(labels: Labels, n_rows: int) -> bool:
    return len(labels) > max(_FEW_LABELS, n_rows / 2)


def _are_truth_values(labels: Labels) -> bool:
    return {label.lower() for label in labels} == {"false", "true"}


def value_of(source: Source, feature: Feature) -> str:
    """Write the values of a feature in SQL."""
    return feature.expression(source.column(feature.name), source.types[feature.name])


def _distinct(source: Source, x: str, feature: Feature) -> Labels:
    found: list[Any] = [value for (value,) in source.rows(f"SELECT DISTINCT {x} AS x FROM known WHERE x IS NOT NULL")]
    if feature.kind == "numeric":
        return tuple(sorted({value + 0.0 for value in found}))  # -0.0 and 0.0 are one value
    return sort_labels(found)


def _refuse_if(is_asked_for: bool, name: str, about: int) -> None:
    if is_asked_for:
        raise InvalidDataError(
            f"column {name!r} has about {about:,} labels, at most {MAX_CATEGORIES} are possible; put rare ones "
            "together, or drop the column"
        )
