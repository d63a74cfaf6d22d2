"""How a column of a file is read: as numbers of some unit, or as labels of some type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bcart.errors import InvalidDataError
from bcart.files.source import Source
from bcart.tables import Labels

Unit = Literal["number", "flag", "day", "second", "second of day", "whole", "text"]
Kind = Literal["numeric", "nominal"]

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "REAL", "UTINYINT",
            "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")  # fmt: skip
_TEXTS = ("VARCHAR", "ENUM", "UUID", '"NULL"')
_UNITS: dict[str, Unit] = {"BOOLEAN": "flag", "DATE": "day", "TIME": "second of day"}
_DATES: tuple[Unit, ...] = ("day", "second", "second of day")
_NAN = "'nan'::DOUBLE"
_WRONG: dict[Unit, str] = {
    "number": "no number",
    "whole": "no whole number",
    "flag": "neither true nor false",
    "day": "no date",
    "second": "no point in time",
    "second of day": "no time of day",
    "text": "no text",
}


@dataclass(frozen=True)
class Feature:
    """A column and how it is read, the same when a model is fitted and when it predicts.

    Parameters
    ----------
    name : str
    kind : {"numeric", "nominal"}
    unit : str
        Numbers: as they are ("number"), 0 and 1 for false and true ("flag"), days or seconds since 1970 ("day",
        "second"), or since midnight ("second of day"). Labels: "text", "whole" numbers, a "number" or a "flag".

    Examples
    --------
    >>> Feature("height", "numeric", "number").expression("c3", "BIGINT")
    "nullif(CAST(c3 AS DOUBLE), 'nan'::DOUBLE)"
    """

    name: str
    kind: Kind
    unit: Unit

    @property
    def is_date(self) -> bool:
        """Whether its numbers stand for dates or times."""
        return self.kind == "numeric" and self.unit in _DATES

    @property
    def note(self) -> str:
        """What a reader of a tree has to know of the numbers; empty if they are as in the file."""
        notes = {"day": "days since 1970-01-01", "second": "seconds since 1970-01-01", "flag": "false 0, true 1"}
        return {**notes, "second of day": "seconds since midnight"}.get(self.unit, "") if self.kind == "numeric" else ""

    def expression(self, column: str, sql_type: str) -> str:
        """Write the values of a column of some type in SQL, NULL where one is missing or cannot be read so."""
        unit = unit_of(sql_type)
        cast = "CAST" if unit in ("number", "flag") else "TRY_CAST"
        if self.unit == "number" or (self.unit == "flag" and self.kind == "numeric" and unit == "number"):
            return f"nullif({cast}({column} AS DOUBLE), {_NAN})"
        if self.unit == "flag":
            truth = f"TRY_CAST({column} AS BOOLEAN)"
            return f"CAST({truth} AS DOUBLE)" if self.kind == "numeric" else truth
        if self.unit == "day":
            return f"epoch(TRY_CAST({column} AS TIMESTAMP)) / 86400.0"
        if self.unit == "second":
            return f"CAST(epoch(TRY_CAST({column} AS TIMESTAMP)) AS DOUBLE)"
        if self.unit == "second of day":
            return f"CAST(epoch(TRY_CAST({column} AS TIME)) AS DOUBLE)"
        return f"TRY_CAST({column} AS {'BIGINT' if self.unit == 'whole' else 'VARCHAR'})"

    def check(self, source: Source) -> None:
        """Refuse a column with a value that is not missing, and cannot be read as this one has to be."""
        column, sql_type = source.column(self.name), source.types[self.name]
        reads = self.expression(column, sql_type)
        is_nan = f"isnan({column})" if sql_type in ("FLOAT", "DOUBLE") else "false"
        is_infinite = f"coalesce(isinf({reads}), false)" if self.kind == "numeric" else "false"
        wrong = source.rows(
            f"SELECT CAST({column} AS VARCHAR), r, {is_infinite} FROM rows WHERE {column} IS NOT NULL "
            f"AND ({reads} IS NULL AND NOT {is_nan} OR {is_infinite}) ORDER BY r LIMIT 1"
        )
        for value, row, cannot_be_binned in wrong:
            what = "not finite" if cannot_be_binned else _WRONG[self.unit]
            raise InvalidDataError(
                f"column {self.name!r} contains {value!r} (row {row + 1}), which is {what}; correct it, or say that it "
                "stands for a missing value"
            )

    def to_json(self) -> dict[str, str]:
        """Return what a model file keeps."""
        return {"name": self.name, "kind": self.kind, "unit": self.unit}


def unit_of(sql_type: str) -> Unit | None:
    """Return what the values of a type of DuckDB are; None if neither numbers, dates nor text.

    Examples
    --------
    >>> unit_of("DECIMAL(10,2)"), unit_of("TIMESTAMP WITH TIME ZONE"), unit_of("INTEGER[]")
    ('number', 'second', None)
    """
    if sql_type.endswith("]"):
        return None
    name = sql_type.split("(")[0].strip()
    if name in _NUMBERS:
        return "number"
    if name in _TEXTS:
        return "text"
    return "second" if name.startswith("TIMESTAMP") else _UNITS.get(name)


def label_unit(sql_type: str) -> Unit:
    """Return the unit of the labels that the values of a type become."""
    if sql_type in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"):
        return "whole"
    if sql_type in ("FLOAT", "DOUBLE"):
        return "number"
    return "flag" if sql_type == "BOOLEAN" else "text"


def features_of_model(names: Iterable[str], categories: Iterable[Labels | None], about: Any) -> list[Feature]:
    """Return how a model reads its columns: as it says itself, or else as its labels tell."""
    entries = [entry for entry in about if isinstance(entry, dict)] if isinstance(about, list) else []
    said = {entry.get("name"): entry["unit"] for entry in entries if entry.get("unit") in get_args(Unit)}
    return [
        Feature(name, "numeric", said.get(name, "number"))
        if labels is None
        else Feature(name, "nominal", _unit_of_labels(labels))
        for name, labels in zip(names, categories, strict=True)
    ]


def _unit_of_labels(labels: Labels) -> Unit:
    if not labels:
        return "text"
    units: dict[type, Unit] = {str: "text", bool: "flag", int: "whole", float: "number"}
    found = {units.get(type(label)) for label in labels}
    unit = found.pop() if len(found) == 1 else None
    if unit is None:
        raise InvalidDataError(f"labels of several types, such as {labels[0]!r}, cannot be looked for in a file")
    return unit
