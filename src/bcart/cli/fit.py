"""``bcart fit``."""

from __future__ import annotations

import time
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from bcart.cli.fitting import Settings, Speed, Validation, group, list_trees, read, show_posterior
from bcart.cli.notes import Notes, note_data
from bcart.cli.report import print_data, print_output, print_scores
from bcart.cli.screen import report
from bcart.files.columns import Choice
from bcart.files.dialect import MISSING_TEXTS
from bcart.files.source import Source
from bcart.limits import DEFAULT_MAX_MEMORY, Limits
from bcart.storage import annotate_model, save_model
from bcart.writing import check_place


class TaskName(str, Enum):
    """What the target can be."""

    CLASSIFY = "classify"
    REGRESS = "regress"
    COUNT = "count"


class BinningName(str, Enum):
    """How numbers can be binned."""

    UNIFORM = "uniform"
    QUANTILE = "quantile"


class PriorName(str, Enum):
    """Which priors there are."""

    LEAF_COUNT = "leaf-count"
    DEPTH_DECAY = "depth-decay"


def _data(metavar: str, what: str) -> Any:
    return typer.Option(metavar=metavar, help=what, rich_help_panel="Data")


def _model(metavar: str, what: str) -> Any:
    return typer.Option(metavar=metavar, help=what, rich_help_panel="Model")


def _limit(metavar: str, what: str) -> Any:
    return typer.Option(metavar=metavar, help=what, rich_help_panel="Limits")


def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file of any size.")],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to keep the model, say model.bcart.")
    ] = None,
    task: Annotated[TaskName | None, _data("NAME", "classify, regress or count, if the guess is wrong.")] = None,
    weight: Annotated[str | None, _data("COLUMN", "Weights of the rows.")] = None,
    numeric: Annotated[list[str] | None, _data("COLUMN", "Take a column for numbers. *")] = None,
    nominal: Annotated[list[str] | None, _data("COLUMN", "Take a column for labels. *")] = None,
    drop: Annotated[list[str] | None, _data("COLUMN", "Leave a column out. *")] = None,
    only: Annotated[list[str] | None, _data("COLUMN", "Leave all other columns out. *")] = None,
    missing: Annotated[list[str] | None, _data("TEXT", "Another text for missing values, as NA and ? are. *")] = None,
    log_phi: Annotated[float, _model("X", "How strongly smaller trees are preferred.")] = 2.0,
    alpha: Annotated[float, _model("X", "Pseudo-count of each class in every leaf.")] = 1.0,
    max_bins: Annotated[int, _model("N", "Most bins of a numeric column, 2 to 255.")] = 10,
    binning: Annotated[
        BinningName, _model("NAME", "uniform: of equal width; quantile: of equal weight.")
    ] = BinningName.UNIFORM,
    max_depth: Annotated[int | None, _model("N", "Most tests on a way to a leaf; by default any.")] = None,
    min_samples_leaf: Annotated[float, _model("N", "Least weight of the rows in a leaf.")] = 1,
    min_samples_split: Annotated[float, _model("N", "Least weight of rows that are split.")] = 2,
    prior: Annotated[PriorName, _model("NAME", "leaf-count or depth-decay.")] = PriorName.LEAF_COUNT,
    split_alpha: Annotated[float, _model("X", "depth-decay: chance that the root is split.")] = 0.95,
    split_beta: Annotated[float, _model("X", "depth-decay: how fast it falls with depth.")] = 2.0,
    max_memory: Annotated[str, _limit("SIZE", "Memory that the work may take.")] = DEFAULT_MAX_MEMORY,
    time_limit: Annotated[float | None, _limit("SECONDS", "Time that the fit may take.")] = None,
    jobs: Annotated[int | None, _limit("N", "Threads; by default all cores. No result depends on it.")] = None,
    cv: Annotated[
        bool | None,
        typer.Option("--cv/--no-cv", help="Cross-validate; by default if a minute will do.", rich_help_panel="Scores"),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, metavar="N", help="Number of folds.", rich_help_panel="Scores")] = 5,
    cv_rows: Annotated[
        int, typer.Option(min=10, metavar="N", help="Rows to use; more are sampled.", rich_help_panel="Scores")
    ] = 10_000,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Of samples, trees and folds.", rich_help_panel="Scores")
    ] = 0,
) -> None:
    """Fit all trees to a table, and show the most probable one.

    Reads CSV, whose first line names the columns, and Parquet; says what it takes columns for and what the work will
    cost; shows the most probable trees, and cross-validated scores beside CART. Options marked * can be repeated.
    """
    if output is not None:
        check_place(output)
    console, limits, since = report(), Limits(max_memory, time_limit, jobs), time.monotonic()
    settings = Settings(
        log_phi, alpha, max_bins, binning.value, max_depth, min_samples_leaf, min_samples_split,
        prior.value, split_alpha, split_beta, limits,
    )  # fmt: skip
    choice = Choice(*(tuple(names or ()) for names in (numeric, nominal, drop, only)))
    with Source(file, limits, [*MISSING_TEXTS, *(missing or ())]) as source:
        training = read(source, target, weight, task.value if task else None, choice, max_bins)
        about: Notes = {"data": note_data(training)}
        print_data(about["data"], console)
        data = group(training, settings, cv_rows, seed)
    settings = replace(settings, limits=limits.after(since))
    posterior, seconds = list_trees(data, settings, console)
    about["overview"] = show_posterior(posterior, seed, console)
    if output is not None:
        save_model(posterior, output, about)
    if cv is not False:
        speed = Speed.of_posterior(seconds, posterior, data.sample)
        del posterior  # the folds need its room
        estimator, n_known = settings.estimator(training.target.task), training.target.rows.n_rows
        scores = Validation(folds, seed, is_asked_for=cv is True).run(data.sample, n_known, estimator, speed)
        if scores is not None:
            print_scores(scores, console)
            about["scores"] = scores
    if output is not None and output.is_file() and "scores" in about:
        annotate_model(output, about)
    print_output(output, console)
