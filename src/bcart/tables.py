"""Tables as people have them: arrays and data frames become columns of numbers and of labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

from bcart.deadline import steps
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray, as_tuple, name_features

Labels = tuple[Any, ...]
Nominal = Literal["from_dtype"] | Sequence[int] | Sequence[str] | Sequence[bool] | None

UNSEEN = -1.0  # stands for a label that is not among the known ones
MAX_CATEGORIES = 255
_ALL = slice(None)
_NUMBERS_AT_ONCE = 2**20  # that are turned into floats
_FEWEST_ROWS = 2**8
_MOST_EXACT = 2**53  # floats hold all whole numbers up to it


@dataclass(frozen=True, eq=False)
class Column:
    """One feature: numbers of any type with NaN for missing values, or labels with None for them.

    Whoever goes through the numbers meets the infinite ones among them, and has to `refuse_infinite` ones. `taken`
    tells which rows count; all if it is None.
    """

    name: str
    values: npt.NDArray[Any]
    is_nominal: bool
    taken: npt.NDArray[np.bool_] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the values are the numbers, as the core reads them."""
        return not self.is_nominal and self.taken is None and _can_be_read(self.values)

    def _some(self, part: slice) -> npt.NDArray[Any]:
        return self.values[part] if self.taken is None else self.values[part][self.taken[part]]

    def labels(self) -> Labels:
        """Return the distinct labels, sorted."""
        found = set[Any]()
        for rows in steps(len(self.values)):
            found.update(self._some(rows))
        found.discard(None)
        if len(found) > MAX_CATEGORIES:
            raise InvalidDataError(
                f"column {self.name!r} has {len(found)} categories, at most {MAX_CATEGORIES} are possible; "
                "put rare ones together, or drop the column"
            )
        return sort_labels(found)

    def numbers(self, labels: Labels | None, part: slice = _ALL) -> FloatArray:
        """Return numbers: for labels their places among the known ones, `UNSEEN` for others, NaN for missing."""
        values = self._some(part)
        if labels is None:
            numbers = np.asarray(values, dtype=np.float64)
            return numbers if _can_be_read(numbers) else numbers.copy()
        places = {label: float(place) for place, label in enumerate(labels)}
        places[None] = np.nan
        numbers = np.empty(len(values))
        for rows in steps(len(numbers)):
            numbers[rows] = [places.get(value, UNSEEN) for value in values[rows]]
        return numbers


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, at least one."""

    columns: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        """Number of rows, with those that were not taken."""
        return len(self.columns[0].values)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers as the core reads them: others are turned into such, some at a time."""
        return all(column.is_plain for column in self.columns)

    @property
    def read_together(self) -> list[list[int]]:
        """The columns that may be read at once without much memory: all, or one after the other."""
        places = list(range(len(self.columns)))
        return [places] if self.is_plain else [[place] for place in places]

    @property
    def n_taken(self) -> int:
        """Number of rows that count."""
        taken = self.columns[0].taken
        return self.n_rows if taken is None else int(np.count_nonzero(taken))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def numbers(self, categories: Sequence[Labels | None], part: slice = _ALL) -> list[FloatArray]:
        """Return each column as numbers, see `Column.numbers`; none is copied that is plain."""
        return [column.numbers(labels, part) for column, labels in zip(self.columns, categories, strict=True)]

    def parts(self) -> Iterator[slice]:
        """Yield consecutive rows, as many at a time as take little memory when they are turned into numbers."""
        n_at_once = max(_FEWEST_ROWS, _NUMBERS_AT_ONCE // len(self.columns))
        return (slice(start, start + n_at_once) for start in range(0, self.n_rows, n_at_once))

    def take(self, rows: npt.NDArray[np.bool_]) -> Table:
        """Return the table of some of the rows, or raise if one of their numbers is infinite; that names its row.

        Nothing is copied: rows are left out when they are read.
        """
        columns = tuple(replace(column, taken=rows) for column in self.columns)
        numeric = [column for column in columns if not column.is_nominal]
        refuse_infinite([column.name for column in numeric], (column.numbers(None) for column in numeric), rows)
        return Table(columns)


def read_table(X: Any, nominal: Nominal = "from_dtype", names: Sequence[str] | None = None) -> Table:
    """Read an array or a data frame (pandas, polars, pyarrow).

    Parameters
    ----------
    X : array or data frame of shape (n_rows, n_features)
        Numbers, booleans and labels; NaN, None and a data frame's own nulls are missing values.
    nominal : "from_dtype", or a list of column indices, column names or one truth value a column
        Which columns hold labels; by default those whose type in the data frame is text, categorical or enum.
    names : sequence of str, optional
        Names of the columns of an array, by default x0, x1, ...
    """
    raw, is_text, own_names = _raw_columns(X)
    if names is not None and len(names) != len(raw):
        listed = ", ".join(map(str, names))
        raise InvalidDataError(f"X has {len(raw)} columns, expected {len(names)}: {listed}")
    if names is not None and own_names is not None:
        _refuse_other_names(own_names, list(map(str, names)))
    names = name_features(len(raw), own_names if names is None else names)
    if len(raw) == 0:
        raise InvalidDataError("X has no columns; give at least one feature")
    is_nominal = is_text if isinstance(nominal, str) and nominal == "from_dtype" else _chosen(nominal, names)
    columns = [
        Column(name, _as_labels(_values(column), name) if labelled else _as_numbers(column, name), bool(labelled))
        for name, column, labelled in zip(names, raw, is_nominal, strict=True)
    ]
    return Table(tuple(columns))


def as_numbers(X: Any, names: Sequence[str], categories: Sequence[Labels | None]) -> list[FloatArray]:
    """Return columns as numbers, labels by their places among those known: how trees and grids see a table."""
    nominal = [labels is not None for labels in categories]
    columns = read_table(X, nominal, names).numbers(categories)
    refuse_infinite(names, columns)
    return columns


def as_rows(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return columns side by side: an array of floats if these hold all values exactly, else one of objects."""
    if all(_fits_floats(column) for column in columns):
        return np.column_stack([column.astype(np.float64) for column in columns])
    rows = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        rows[:, place] = column
    return rows


def unmasked(X: Any) -> Any:
    """Return a masked array with missing values for what is masked, and anything else as it is.

    NaN is missing among values that floats hold exactly, None among others.
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    values, mask = np.ma.getdata(X), np.ma.getmaskarray(X)
    if not mask.any():
        return values
    is_exact = _fits_floats(values[~mask])
    filled: npt.NDArray[Any] = values.astype(np.float64 if is_exact else object)
    filled[mask] = np.nan if is_exact else None
    return filled


def _fits_floats(values: npt.NDArray[Any]) -> bool:
    """Tell whether values are numbers and truth values that floats hold exactly, so that no two become one."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return values.dtype.kind in "biuf"
    return max(int(values.max(initial=0)), -int(values.min(initial=0))) <= _MOST_EXACT


def is_frame(X: Any) -> bool:
    """Tell whether `X` is a data frame."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise InvalidDataError("X is a lazy frame, whose rows are not there yet; call X.collect() first")
    return bool(nw.dependencies.is_into_dataframe(X))


def is_pandas(X: Any) -> bool:
    """Tell whether `X` is a data frame of pandas."""
    return bool(nw.dependencies.is_pandas_dataframe(X))


def column_names(X: Any) -> list[str]:
    """Return the names of the columns of a data frame."""
    return [str(name) for name in _as_frame(X).columns]


def _as_frame(X: Any) -> nw.DataFrame[Any]:
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.NarwhalsError as error:
        raise InvalidDataError(f"X cannot be read as a data frame: {error}") from None


def _raw_columns(X: Any) -> tuple[list[Any], list[bool], list[str] | None]:
    """Return the columns as they are, whether their type says that they hold labels, and their names."""
    if is_frame(X):
        frame = _as_frame(X)
        columns = [frame[:, i] for i in range(frame.shape[1])]
        return columns, list(map(_holds_labels, columns)), list(map(str, frame.columns))
    X = unmasked(X)
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "biufO":  # numbers among text would have become text
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise InvalidDataError(f"X must be a table with rows and columns: {error}") from None
    if array.ndim != 2:
        raise InvalidDataError(f"X must have rows and columns, but its shape is {array.shape}")
    return list(array.T), [False] * array.shape[1], None


def _holds_labels(series: nw.Series[Any]) -> bool:
    if series.dtype == nw.Object:
        return any(isinstance(value, str) for value in _listed(series))
    return series.dtype in (nw.String, nw.Categorical, nw.Enum)


def _refuse_other_names(own: list[str], expected: list[str]) -> None:
    """Names that stand for no names, x0, x1, ..., fit all."""
    for name, there in zip(expected, own, strict=True):
        if name != there and expected != list(name_features(len(expected), None)):
            raise InvalidDataError(
                f"column {there!r} of X stands where {name!r} is expected; give the columns in the order "
                f"{', '.join(expected)}"
            )


def _values(column: Any) -> npt.NDArray[Any]:
    """Return the values of a column of an array or a data frame as they are."""
    if not isinstance(column, nw.Series):
        return np.asarray(column)
    return np.fromiter(_listed(column), object, len(column))


def _listed(series: nw.Series[Any]) -> Iterator[Any]:
    return (value for rows in steps(len(series)) for value in series[rows].to_list())


def _chosen(nominal: Any, names: Sequence[str]) -> list[bool]:
    """Return which columns were named, numbered or marked as nominal."""
    if isinstance(nominal, str) or not isinstance(nominal, Iterable | None):
        raise InvalidModelError(
            f"categorical_features={nominal!r} must be 'from_dtype', or a list of columns by index or name"
        )
    chosen = [] if nominal is None else list(nominal)
    if len(chosen) == len(names) and all(isinstance(mark, (bool, np.bool_)) for mark in chosen):
        return [bool(mark) for mark in chosen]
    places = [list(names).index(c) if isinstance(c, str) and c in names else c for c in chosen]
    for column, place in zip(chosen, places, strict=True):
        if isinstance(place, bool) or not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
            raise InvalidModelError(
                f"categorical_features names {column!r}, which is no column; the columns are {', '.join(names)}, "
                f"numbered 0 to {len(names) - 1}"
            )
    return [place in places for place in range(len(names))]


def _as_numbers(column: Any, name: str) -> npt.NDArray[Any]:
    """Return numbers of any type."""
    if isinstance(column, nw.Series) and (
        column.dtype.is_float() or column.dtype.is_integer() or column.dtype == nw.Boolean
    ):
        given = column.to_numpy()
        values: npt.NDArray[Any] = given if given.dtype.kind in "biuf" else column.cast(nw.Float64).to_numpy()
    else:
        values = _values(column)
    if values.dtype.kind == "O":
        values = _numbers_among(values, name)
    return values if values.dtype.kind in "biuf" else np.asarray(values, dtype=np.float64)


def _can_be_read(values: npt.NDArray[Any]) -> bool:
    """Tell whether the core can read values where they lie: it cannot read fields of records."""
    is_at_hand = values.flags.aligned and not values.strides[0] % values.itemsize
    return values.dtype == np.float64 and bool(is_at_hand)


def refuse_infinite(
    names: Sequence[str], columns: Iterable[FloatArray], taken: npt.NDArray[np.bool_] | None = None
) -> None:
    """Say where the first infinite number is, if there is one; `taken` tells which rows of a table these are."""
    for name, numbers in zip(names, columns, strict=True):
        for rows in steps(len(numbers)):
            is_infinite = np.isinf(numbers[rows])
            if not is_infinite.any():
                continue
            place = rows.start + int(np.argmax(is_infinite))
            row = place if taken is None else int(np.flatnonzero(taken)[place])
            raise InvalidDataError(
                f"column {name!r} contains {numbers[place]} (row {row}); clip infinite values, or make them missing "
                "(NaN)"
            )


def _numbers_among(values: npt.NDArray[Any], name: str) -> FloatArray:
    numbers = np.empty(len(values))
    for rows in steps(len(values)):
        numbers[rows] = [_as_number(value, name, row) for row, value in enumerate(values[rows], rows.start)]
    return numbers


def _as_number(value: Any, name: str, row: int) -> float:
    if _is_missing(value):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidDataError(
            f"column {name!r} contains {value!r} (row {row}), which is no number; name the column in "
            "categorical_features if it holds categories, else turn it into numbers or drop it"
        ) from None


def _as_labels(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    labels = np.empty(len(values), dtype=object)
    for rows in steps(len(values)):
        listed = values[rows].tolist()
        labels[rows] = np.fromiter(_without_missing(listed, name, rows.start), object, len(listed))
    return labels


def _without_missing(labels: list[Any], name: str, first_row: int) -> list[Any]:
    """Return labels with None for all that stands for missing ones."""
    try:
        distinct = set(labels)
    except TypeError:
        place = next(place for place, label in enumerate(labels) if not _is_hashable(label))
        raise InvalidDataError(
            f"column {name!r} contains {labels[place]!r} (row {first_row + place}), which cannot be a category; turn "
            "it into text or numbers, or drop the column"
        ) from None
    missing = {label for label in distinct if _is_missing(label)}
    return [None if label in missing else label for label in labels] if missing else labels


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _is_missing(value: Any) -> bool:
    """NaN, None, and pandas' NA and NaT: all that is not equal to itself, or is named so."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(np.isscalar(value) and value != value)


def sort_labels(labels: Iterable[Any]) -> Labels:
    """Return the distinct ones of some labels in the order of their bins: numbers first, then text."""
    return tuple(sorted(set(labels), key=_label_order))


def _label_order(label: Any) -> tuple[str, Any]:
    is_number = isinstance(label, (int, float, np.number))
    return ("", label) if is_number else (type(label).__name__, label if isinstance(label, str) else str(label))


def as_categories(categories: Any, n_features: int) -> tuple[Labels | None, ...]:
    """Return the labels of each feature, None for numeric ones; by default all are."""
    given = as_tuple(categories, "categories") or (None,) * n_features
    return tuple(None if labels is None else as_tuple(labels, "the labels of a feature") for labels in given)


def describe_labels(labels: Iterable[Any], most: int = 5) -> str:
    """Write a few labels for a person."""
    shown = [repr(label) for label in labels]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")
