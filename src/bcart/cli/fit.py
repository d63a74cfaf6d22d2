"""``bcart fit``."""

from __future__ import annotations

import time
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from bcart.cli.fitting import Settings, Validation, group, list_trees, read, show_posterior
from bcart.cli.notes import Notes, note_data
from bcart.cli.options import Jobs
from bcart.cli.report import print_data, print_output, print_scores
from bcart.cli.screen import report
from bcart.files.columns import Choice
from bcart.files.dialect import MISSING_TEXTS
from bcart.files.source import Source
from bcart.limits import DEFAULT_MAX_MEMORY, Limits
from bcart.storage import save_model

_DATA, _MODEL, _LIMITS, _CHECK = "Data", "Model", "Limits", "Report"


class TaskName(str, Enum):
    CLASSIFY = "classify"
    REGRESS = "regress"
    COUNT = "count"


class BinningName(str, Enum):
    UNIFORM = "uniform"
    QUANTILE = "quantile"


class PriorName(str, Enum):
    LEAF_COUNT = "leaf-count"
    DEPTH_DECAY = "depth-decay"


def _columns(what: str) -> Any:
    return typer.Option(metavar="COLUMN", help=f"{what} Can be repeated.", rich_help_panel=_DATA)


def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file of any size.")],
    target: Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to save the model, say model.bcart.")
    ] = None,
    task: Annotated[
        TaskName | None, typer.Option(help="What the target is; guessed by default.", rich_help_panel=_DATA)
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Weights of the rows.", rich_help_panel=_DATA)
    ] = None,
    numeric: Annotated[list[str] | None, _columns("Take a column for numbers.")] = None,
    nominal: Annotated[list[str] | None, _columns("Take a column for labels.")] = None,
    drop: Annotated[list[str] | None, _columns("Leave a column out.")] = None,
    only: Annotated[list[str] | None, _columns("Leave all other columns out.")] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Another text that stands for a missing value.", rich_help_panel=_DATA),
    ] = None,
    log_phi: Annotated[
        float, typer.Option(help="How strongly trees with fewer leaves are preferred.", rich_help_panel=_MODEL)
    ] = 2.0,
    alpha: Annotated[
        float, typer.Option(help="Pseudo-count of each class in every leaf.", rich_help_panel=_MODEL)
    ] = 1.0,
    max_bins: Annotated[
        int, typer.Option(help="Most bins of a number, 2 to 255.", rich_help_panel=_MODEL)
    ] = 10,
    binning: Annotated[
        BinningName, typer.Option(help="Bins of equal width or of equal weight.", rich_help_panel=_MODEL)
    ] = BinningName.UNIFORM,
    max_depth: Annotated[
        int | None, typer.Option(help="Most tests on a way to a leaf.", rich_help_panel=_MODEL)
    ] = None,
    min_samples_leaf: Annotated[
        float, typer.Option(help="Least weight of the rows in a leaf.", rich_help_panel=_MODEL)
    ] = 1,
    min_samples_split: Annotated[
        float, typer.Option(help="Least weight of the rows where a test is made.", rich_help_panel=_MODEL)
    ] = 2,
    prior: Annotated[
        PriorName, typer.Option(help="The prior over trees.", rich_help_panel=_MODEL)
    ] = PriorName.LEAF_COUNT,
    split_alpha: Annotated[
        float, typer.Option(help="Of depth-decay: chance that the root is split.", rich_help_panel=_MODEL)
    ] = 0.95,
    split_beta: Annotated[
        float, typer.Option(help="Of depth-decay: how fast it falls with depth.", rich_help_panel=_MODEL)
    ] = 2.0,
    max_memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory that the work may take.", rich_help_panel=_LIMITS)
    ] = DEFAULT_MAX_MEMORY,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Seconds for the fit.", rich_help_panel=_LIMITS)
    ] = None,
    jobs: Jobs = None,
    cv: Annotated[
        bool | None,
        typer.Option(
            "--cv/--no-cv", help="Cross-validate; by default if that takes a minute at most.", rich_help_panel=_CHECK
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.", rich_help_panel=_CHECK)] = 5,
    cv_rows: Annotated[
        int, typer.Option(min=10, help="Most rows to cross-validate on.", rich_help_panel=_CHECK)
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Of sampled trees and folds.", rich_help_panel=_CHECK)] = 0,
) -> None:
    """Fit all trees to a table, and show the most probable one.

    The first line of a CSV file names the columns. Rows without a target are left out.
    """
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
        validation = Validation(folds, seed, is_asked_for=cv is True)
        about["scores"] = validation.run(posterior, seconds, data.sample, settings.estimator(about["data"]["task"]))
    if about.get("scores"):
        print_scores(about["scores"], console)
    if output is not None:
        save_model(posterior, output, about)
    print_output(output, console)
