"""Results as lines of text: head first, then one line for each dataset and binning."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from bcart.reproduce.binning import Binning
from bcart.reproduce.data import Problem
from bcart.reproduce.experiment import Result
from bcart.reproduce.intervals import OF_FOLDS, Interval, calibration_of
from bcart.reproduce.paper import MODELS, ROUNDING, Model, quoted

if TYPE_CHECKING:
    from bcart.reproduce.report import Report

Lines = list[list[str]]
MARKS = {-1: " ▼", 0: "", 1: " ▲"}
NOTHING = "–"


@dataclass(frozen=True)
class Comparison:
    """One of the paper's tables: a measure of two models."""

    name: str
    title: str
    measure: str
    models: tuple[Model, Model]


COMPARISONS = (
    Comparison("tree_accuracy", "Accuracy of single trees", "accuracy", ("CART", "best tree")),
    Comparison("ensemble_accuracy", "Accuracy of ensembles", "accuracy", ("random forest", "ensemble")),
    Comparison("nodes", "Nodes of single trees", "nodes", ("CART", "best tree")),
)
SCORES = {"log_loss": "Log-loss", "brier": "Brier score", "ece": "Expected calibration error"}
TIMES = {"fit_seconds": "Seconds to fit, mean over folds", "predict_seconds": "Seconds to predict a fold"}
FOLD_COLUMNS = ("dataset", "binning", "model", "trial", "fold", "n_train", "n_test", *OF_FOLDS)


def all_tables(report: Report) -> Iterator[tuple[str, str, Lines]]:
    """Yield a name for a file, a title, and the lines of each table."""
    for comparison in COMPARISONS:
        yield comparison.name, comparison.title, comparison_lines(report, comparison)
    for measure, title in {**SCORES, **TIMES}.items():
        yield measure, title, score_lines(report, measure)


def _rows(report: Report) -> Iterator[tuple[Problem, Binning, str, str]]:
    """Yield each dataset and binning, with what the first two columns say: a title is not said twice."""
    for problem in report.problems:
        for binning in problem.binnings:
            is_first = binning == problem.binnings[0]
            label = NOTHING if problem.binnings == ("none",) else binning
            yield problem, binning, problem.title if is_first else "", label


def comparison_lines(report: Report, comparison: Comparison) -> Lines:
    """Return the paper's numbers beside ours."""
    heads = [f"{model}: {who}" for model in comparison.models for who in ("paper", "ours")]
    lines = [["data", "bins", *heads]]
    for problem, binning, title, label in _rows(report):
        cells = []
        for model in comparison.models:
            cells += [_paper_cell(comparison.measure, model, problem) if title else ""]
            cells += [_our_cell(report, comparison.measure, model, problem, binning)]
        lines.append([title, label, *cells])
    return lines


def _paper_cell(measure: str, model: Model, problem: Problem) -> str:
    number = quoted(measure, model, problem.of_paper)
    return NOTHING if number is None else _plus_minus(number.mean, number.half_width, _digits(measure))


def _our_cell(report: Report, measure: str, model: Model, problem: Problem, binning: Binning) -> str:
    interval = report.interval(problem.name, binning, model, measure)
    if interval is None:
        return NOTHING
    digits = _digits(measure)
    spread = "" if np.isnan(interval.spread) else f" ({interval.spread:.{digits}f})"
    return f"{_plus_minus(interval.mean, interval.half_width, digits)}{spread}{mark(interval, measure, model, problem)}"


def mark(interval: Interval, measure: str, model: Model, problem: Problem) -> str:
    """Return a sign that says on which side of the paper's interval our mean lies; nothing if within."""
    number = quoted(measure, model, problem.of_paper)
    return "" if number is None else MARKS[number.place(interval.mean, ROUNDING[measure])]


def _digits(measure: str) -> int:
    return 1 if measure == "nodes" else 3


def _plus_minus(mean: float, half_width: float, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if np.isnan(half_width) else f" ± {half_width:.{digits}f}")


def score_lines(report: Report, measure: str) -> Lines:
    """Return a measure of all models."""
    lines = [["data", "bins", *MODELS]]
    for problem, binning, title, label in _rows(report):
        intervals = [report.interval(problem.name, binning, model, measure) for model in MODELS]
        lines.append([title, label, *(_score_cell(interval, measure) for interval in intervals)])
    return lines


def _score_cell(interval: Interval | None, measure: str) -> str:
    if interval is None:
        return NOTHING
    if measure in TIMES:
        return f"{interval.mean:.2g}" if interval.mean < 10 else f"{interval.mean:.0f}"
    return _plus_minus(interval.mean, interval.half_width, 3)


def fold_lines(results: Sequence[Result]) -> Lines:
    """Return one line for each result."""
    lines = [[_plain(getattr(result, name)) for name in FOLD_COLUMNS] for result in results]
    return [list(FOLD_COLUMNS), *lines]


def trial_lines(results: Sequence[Result]) -> Lines:
    """Return one line for each trial: means over folds, and the calibration error of all rows."""
    keys = FOLD_COLUMNS[:4]
    lines = [[*keys, "n_folds", *OF_FOLDS, "ece"]]
    for key, group in groupby(results, key=lambda result: tuple(getattr(result, name) for name in keys)):
        trial = list(group)
        means = [float(np.mean([getattr(result, name) for result in trial])) for name in OF_FOLDS]
        lines.append([_plain(value) for value in (*key, len(trial), *means, calibration_of(trial))])
    return lines


def _plain(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.6g}"
    return str(value)


def as_markdown(lines: Lines) -> str:
    """Return a table whose columns are as wide as they need to be, so that it reads well as it is.

    Examples
    --------
    >>> print(as_markdown([["data", "n"], ["Iris", "150"]]))
    | data | n   |
    |------|-----|
    | Iris | 150 |
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    head, *body = [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([head, rule, *body])


def as_csv(lines: Lines) -> bytes:
    """Return a file of comma-separated values."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(lines)
    return file.getvalue().encode()
