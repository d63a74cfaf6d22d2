"""Which folds there are, in which order they run, and how many at once."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor, process_executor
from sklearn.model_selection import StratifiedKFold

from bcart import _core
from bcart.errors import MemoryBudgetError
from bcart.limits import Limits
from bcart.reproduce.binning import Binning, before_folds
from bcart.reproduce.data import Problem
from bcart.reproduce.experiment import Fold, Result, run_fold

OnProgress = Callable[[float, float, str], None]

# Seconds that our trees take in one of ten folds with one thread, and bytes of Hidden XOR with 1,000 rows: they decide
# the order of folds, how many run at once, and the estimate of the time that is left, but no result.
SECONDS = {("iris", "quantile"): 0.6, ("vertebral", "quantile"): 3.0, ("xor", "none"): 30.0}
SECONDS_OF_SMALL, SECONDS_OF_PEERS = 0.2, 0.2
TRUSTED = 0.1  # of all work is taken to have gone as expected: the first folds alone say little of the others
BYTES_OF_XOR, BYTES_OF_SMALL = 75 * 10**8, 4 * 10**8
XOR_ROWS, XOR_POWER = 900, 1.9  # the rows that these numbers are for, and how cost grows with them


def make_folds(problems: Sequence[Problem], n_trials: int, n_folds: int, n_run: int) -> list[Fold]:
    """Return the first folds of each trial; those that take longest come first, so that no worker waits at the end.

    The folds of a trial are stratified and shuffled, with the trial's number as seed.
    """
    folds = [
        fold
        for problem in problems
        for trial in range(n_trials)
        for binning in problem.binnings
        for fold in islice(_folds_of(problem, trial, binning, n_folds), n_run)
    ]
    return sorted(folds, key=lambda fold: -fold.seconds)


def _folds_of(problem: Problem, trial: int, binning: Binning, n_folds: int) -> Iterator[Fold]:
    X, y = problem.rows(trial)
    X = before_folds(X, binning, problem.max_bins)
    parts = StratifiedKFold(n_folds, shuffle=True, random_state=trial).split(X, y)
    for number, (train, test) in enumerate(parts):
        has_ours = problem.has_ours(binning)
        growth = (len(train) / XOR_ROWS) ** XOR_POWER if problem.name == "xor" else 1.0
        ours = SECONDS.get((problem.name, binning), SECONDS_OF_SMALL) * growth if has_ours else 0.0
        n_bytes = int(max(BYTES_OF_SMALL, BYTES_OF_XOR * growth)) if problem.name == "xor" else BYTES_OF_SMALL
        yield Fold(
            dataset=problem.name,
            binning=binning,
            trial=trial,
            number=number,
            X=X,
            y=y,
            train=train,
            test=test,
            max_bins=problem.max_bins,
            has_ours=has_ours,
            seconds=ours + SECONDS_OF_PEERS,
            n_bytes=n_bytes,
        )


def choose_n_jobs(folds: Sequence[Fold], n_jobs: int | None, free_bytes: int | None) -> int:
    """Return how many folds run at once: one a core, or as many as are asked for; never more than memory has room for.

    Raises `MemoryBudgetError` if there is no room for a single one.
    """
    largest = max(fold.n_bytes for fold in folds)
    wanted = Limits(n_jobs=n_jobs).n_workers
    if free_bytes is None:
        return wanted
    if free_bytes < largest:
        raise MemoryBudgetError(
            f"a fold of {folds[0].dataset} takes about {largest / 1e9:.1f} GB, but only {free_bytes / 1e9:.1f} GB of "
            "memory are free; leave it out (datasets=...), or ask for less of it (quick=True)"
        )
    return max(1, min(wanted, free_bytes // largest))


def free_memory() -> int | None:
    """Return the bytes that are free, None where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = dict(line.split(":") for line in file)
        return int(sizes["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def run_folds(folds: Sequence[Fold], n_jobs: int, on_progress: OnProgress | None = None) -> list[Result]:
    """Run folds in the order given, some at once, each in a process with its share of the cores.

    `on_progress` is called with the seconds that have passed, those that are expected in all, and what was done last.
    If it raises, or if Ctrl-C is pressed, the processes are ended at once.
    """
    start = time.monotonic()
    n_threads = max(1, Limits().n_workers // n_jobs)
    total, done = sum(fold.seconds for fold in folds) / n_jobs, 0.0
    results: list[Result] = []
    for seconds, found in _finished([replace(fold, n_threads=n_threads) for fold in folds], n_jobs):
        results += found
        done += seconds / n_jobs
        if on_progress is not None:
            passed = time.monotonic() - start
            on_progress(passed, passed + _seconds_left(passed, done, total), _describe(found[0]))
    return results


def _seconds_left(passed: float, done: float, total: float) -> float:
    """Return how long the rest will take, if it goes as slowly as what is done."""
    trusted = TRUSTED * total
    return max(0.0, total - done) * (passed + trusted) / (done + trusted)


def _describe(result: Result) -> str:
    bins = "" if result.binning == "none" else f" in {result.binning} bins"
    return f"{result.dataset}{bins}, trial {result.trial + 1}, fold {result.fold + 1}"


def _finished(folds: Sequence[Fold], n_jobs: int) -> Iterator[tuple[float, list[Result]]]:
    """Yield expected seconds and results of each fold as soon as it is done."""
    pool = Parallel(n_jobs, backend="loky", batch_size=1, return_as="generator_unordered")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)  # another is started
            yield from pool(delayed(_run_in_worker)(fold, os.getpid()) for fold in folds)
    except process_executor.TerminatedWorkerError:
        raise MemoryBudgetError(
            "a process that ran a fold was ended from outside, as systems do when memory runs out; run fewer at once "
            "(n_jobs=1), or close what else takes memory"
        ) from None
    finally:
        if n_jobs > 1:
            get_reusable_executor().shutdown(wait=True, kill_workers=True)


def _run_in_worker(fold: Fold, parent: int) -> tuple[float, list[Result]]:
    if os.getpid() != parent:
        _settle_in()
    return fold.seconds, run_fold(fold)


@cache
def _settle_in() -> None:
    """Make the process of a worker ready for its first fold and all others.

    It keeps the memory of a fold for the next one, which loky must not take for a leak, or it would end the worker.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers, without a word from each
    _core.keep_released_memory(True)
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize
