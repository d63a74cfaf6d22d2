"""From nothing to a report."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bcart.errors import InvalidDataError
from bcart.memory import within_memory
from bcart.parse import as_whole
from bcart.reproduce import figures, saving
from bcart.reproduce.binning import BINNINGS
from bcart.reproduce.data import Problem, load_problems
from bcart.reproduce.experiment import Result
from bcart.reproduce.paper import MODELS
from bcart.reproduce.report import Report, Settings
from bcart.reproduce.schedule import OnProgress, choose_n_jobs, free_memory, make_folds, run_folds

DEFAULT_OUTPUT = "bcart-reproduction"
FULL = Settings(n_trials=5, n_folds=10, n_folds_run=10, n_xor_rows=1000)
QUICK = Settings(n_trials=2, n_folds=10, n_folds_run=3, n_xor_rows=200)
A_LOOK = (
    "This is a quick look: fewer trials and folds and a smaller Hidden XOR than in the paper. Take the numbers as a "
    "sign that it works, and run without --quick to compare them"
)


@within_memory()
def run(
    quick: bool = False,
    data: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    on_progress: OnProgress | None = None,
    trials: int | None = None,
    datasets: Sequence[str] | None = None,
    folds: int | None = None,
) -> Report:
    """Run the paper's experiments: CART, random forest, our best tree and our ensemble of all trees on its datasets.

    Parameters
    ----------
    quick : bool
        Two trials, three of ten folds, and Hidden XOR with 200 rows: done within a minute.
    data : path or None
        A folder with ``caesarian.csv`` and ``vertebral.csv``; None for the environment variable ``BCART_DATA``. What
        is not there is fetched from OpenML, and left out with a note if that fails.
    output : path or None
        A folder for the report, CSV files and figures, made if need be; None to write nothing.
    n_jobs : int or None
        Folds that run at once; None for one a core. Never more than free memory has room for. No result depends on it.
    on_progress : callable or None
        Called with the seconds that have passed, those that are expected in all, and what was done last.
    trials, folds : int or None
        None for five trials of ten folds.
    datasets : sequence of str or None
        Some of iris, caesarian, haberman, vertebral and xor; None for all.

    Examples
    --------
    >>> report = run(datasets=["haberman"], trials=1, folds=2, n_jobs=1)
    >>> print(report.tables().splitlines()[0])
    ## Accuracy of single trees
    >>> report.interval("haberman", "uniform", "best tree", "nodes").mean < 10
    True
    """
    start = time.monotonic()
    settings = _settings(QUICK if quick else FULL, trials, folds)
    if output is not None:
        saving.check_folder(output)
    problems, notes = load_problems(datasets, data, settings.n_xor_rows, settings.n_trials)
    if not problems:
        raise InvalidDataError(f"there is nothing to run. {' '.join(notes)}")
    if output is not None and not figures.can_draw():
        notes.append(figures.NEEDED)
    if quick:
        notes.insert(0, A_LOOK)
    questions = make_folds(problems, settings.n_trials, settings.n_folds, settings.n_folds_run)
    n_jobs = choose_n_jobs(questions, n_jobs, free_memory())
    results = run_folds(questions, n_jobs, on_progress)
    settings = replace(settings, n_jobs=n_jobs, seconds=time.monotonic() - start)
    report = Report(tuple(problems), tuple(_in_order(results, problems)), tuple(notes), settings)
    if output is not None:
        report.save(Path(output))
    return report


def _settings(usual: Settings, trials: int | None, folds: int | None) -> Settings:
    n_trials = as_whole(usual.n_trials if trials is None else trials, "trials", "a whole number, one or more", least=1)
    if folds is None:
        return replace(usual, n_trials=n_trials)
    n_folds = as_whole(folds, "folds", "a whole number, two or more", least=2)
    return replace(usual, n_trials=n_trials, n_folds=n_folds, n_folds_run=min(n_folds, usual.n_folds_run))


def _in_order(results: list[Result], problems: Sequence[Problem]) -> list[Result]:
    """Return results as they are listed, not as they came."""
    places = {problem.name: place for place, problem in enumerate(problems)}
    return sorted(
        results,
        key=lambda r: (places[r.dataset], BINNINGS.index(r.binning), MODELS.index(r.model), r.trial, r.fold),
    )
