"""What a file's column is to be predicted as: classes, numbers or counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError, InvalidModelError
from bcart.files.features import Feature, unit_of
from bcart.files.known import KnownRows, find_known_rows
from bcart.files.source import Source
from bcart.files.sql import count_cuts, literal
from bcart.leaves import DirichletLeaf, LeafModel, NormalLeaf, PoissonLeaf, Targets
from bcart.leaves.poisson import MAX_COUNT

Task = Literal["classify", "regress", "count"]

MAX_CLASSES = 255
_MOST_CLASSES_GUESSED = 20  # whole numbers with more distinct values are taken for numbers
_LARGEST_LOG_FACTORIAL = 32 * MAX_COUNT


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict.

    Attributes
    ----------
    name : str
    task : {"classify", "regress", "count"}
    is_guessed : bool
        Whether the task was guessed.
    rows : KnownRows
    classes : array, or None for numbers
    counts : tuple of float
        The weight of each class.
    moments : Targets, or None for classes
    """

    name: str
    task: Task
    is_guessed: bool
    rows: KnownRows
    classes: npt.NDArray[Any] | None = None
    counts: tuple[float, ...] = ()
    moments: Targets | None = None

    def leaf(self, alpha: float = 1.0) -> LeafModel:
        """Return the leaf model, with the defaults of the estimators."""
        if self.classes is not None:
            return DirichletLeaf.for_classes(alpha, len(self.classes))
        assert self.moments is not None
        if self.task == "count":
            return PoissonLeaf.for_mean(self.moments.mean)
        return NormalLeaf.for_moments(self.moments)

    @property
    def class_number(self) -> str:
        """The place of a row's class among the classes, in SQL."""
        assert self.classes is not None
        return count_cuts("y", self.classes.tolist()[1:])

    def statistics(self, leaf: LeafModel) -> list[str]:
        """Return the statistics of rows under a leaf model for numbers, in SQL."""
        assert self.moments is not None
        if self.task == "count":
            sums = self.rows.sum("y", MAX_COUNT), self.rows.sum("lgamma(y + 1)", _LARGEST_LOG_FACTORIAL)
            return [self.rows.total, *sums]
        distance, largest = f"(y - {literal(leaf.offset)})", _reach(self.moments, leaf.offset)
        squares = self.rows.sum(f"{distance} * {distance}", largest * largest)
        return [self.rows.total, self.rows.sum(distance, largest), squares]


def read_target(source: Source, name: str, task: Task | None = None, weight: str | None = None) -> Target:
    """Find out what a column is, unless it is said, and make the view ``known`` of the rows that have it."""
    if task is not None and task not in get_args(Task):
        raise InvalidModelError(f"task={task!r} must be one of {', '.join(get_args(Task))}")
    source.check_names([name] if weight is None else [name, weight])
    guess, whole = _guess(source, name)
    chosen = task or guess
    feature = _reading(source, name, chosen, whole)
    feature.check(source)
    y = feature.expression(source.column(name), source.types[name])
    rows = find_known_rows(source, y, name, weight)
    if chosen == "classify":
        classes, counts = _classes(source, name, rows)
        return Target(name, chosen, task is None, rows, classes, counts)
    return Target(name, chosen, task is None, rows, moments=_moments(source, name, chosen, rows))


def _guess(source: Source, name: str) -> tuple[Task, bool]:
    """Return what a column seems to be, and whether all its numbers are whole."""
    column, unit = source.column(name), unit_of(source.types[name])
    if unit is None:
        raise InvalidDataError(f"column {name!r} is {source.types[name]}, which cannot be predicted")
    if unit in ("text", "flag"):
        return "classify", False
    if unit != "number":
        return "regress", False
    x = f"nullif(CAST({column} AS DOUBLE), 'nan'::DOUBLE)"
    is_whole, n_known = source.row(
        f"SELECT coalesce(bool_and({x} = floor({x}) AND abs({x}) < 1e15), false), count({x}) FROM rows"
    )
    if not is_whole:
        return "regress", False
    n_distinct = source.row(f"SELECT count(*) FROM (SELECT DISTINCT {x} AS x FROM rows WHERE x IS NOT NULL)")[0]
    return ("classify" if n_distinct <= min(_MOST_CLASSES_GUESSED, n_known / 2) else "regress"), True


def _reading(source: Source, name: str, task: Task, is_whole: bool) -> Feature:
    unit = unit_of(source.types[name])
    if task != "classify":
        return Feature(name, "numeric", "number" if unit in (None, "text") else unit)
    if unit == "number":
        return Feature(name, "nominal", "whole" if is_whole else "number")
    return Feature(name, "nominal", "flag" if unit == "flag" else "text")


def _classes(source: Source, name: str, rows: KnownRows) -> tuple[npt.NDArray[Any], tuple[float, ...]]:
    n_classes = int(source.row("SELECT count(DISTINCT y) FROM known")[0])
    if not 2 <= n_classes <= MAX_CLASSES:
        said = "a single value" if n_classes == 1 else f"{n_classes:,} distinct values"
        hint = "there is nothing to tell apart" if n_classes == 1 else f"at most {MAX_CLASSES} can be classes"
        raise InvalidDataError(f"the target {name!r} has {said}; {hint}")
    found = sorted(source.rows(f"SELECT y, {rows.total} FROM known GROUP BY y"))
    return np.array([label for label, _ in found]), tuple(count for _, count in found)


def _moments(source: Source, name: str, task: Task, rows: KnownRows) -> Targets:
    lowest, highest, is_count = source.row("SELECT min(y), max(y), bool_and(y = floor(y)) FROM known")
    if not np.isfinite([lowest, highest]).all():
        raise InvalidDataError(f"the target {name!r} contains infinite values; leave these rows out")
    if task == "count" and not (is_count and lowest >= 0 and highest <= MAX_COUNT):
        raise InvalidDataError(
            f"the target {name!r} goes from {lowest:g} to {highest:g}, but counts are 0, 1, 2, ... up to "
            f"{MAX_COUNT:g}; take it for numbers instead (task='regress')"
        )
    total = f"({rows.total})"
    mean = source.row(f"SELECT {rows.sum('y', max(-lowest, highest))} / {total} FROM known")[0]
    wide = _reach(Targets(mean, 0.0, lowest, highest), mean)
    if not 0 < wide * wide < np.inf:
        return Targets(mean, wide * wide, lowest, highest)
    distance = f"(y - {literal(mean)})"
    variance = source.row(f"SELECT {rows.sum(f'{distance} * {distance}', wide * wide)} / {total} FROM known")[0]
    return Targets(mean, variance, lowest, highest)


def _reach(y: Targets, center: float) -> float:
    """Return how far a target can be from a centre."""
    return max(y.highest - center, center - y.lowest)
