"""What several trials say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from bcart.parse import FloatArray
from bcart.reproduce import scoring
from bcart.reproduce.experiment import Result
from bcart.reproduce.paper import NORMAL_95

LEVEL = 0.95
OF_FOLDS = ("accuracy", "nodes", "log_loss", "brier", "fit_seconds", "predict_seconds")


@dataclass(frozen=True)
class Interval:
    """The mean over trials, the half width of its 95 % interval, and how far single folds lie apart.

    A trial's number is the mean over its folds. The interval is Student's, of the mean of so many independent trials;
    it is nan for a single one. Trials of real data differ in how rows are dealt to folds and in the seeds of CART and
    random forest, not in the rows: it says how well the mean over all ways to cross-validate is known, no more.
    `spread` is 1.96 standard deviations over the folds of a trial (the root of the mean variance): what stands behind
    the ± of the paper.
    """

    mean: float
    half_width: float
    spread: float


def over_trials(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean, and the half width of Student's 95 % interval.

    Examples
    --------
    >>> mean, half_width = over_trials([1.0, 2.0, 3.0])
    >>> mean, round(half_width, 3)  # 4.303 / sqrt(3)
    (2.0, 2.484)
    """
    n = len(values)
    if n < 2:
        return float(np.mean(values)), float("nan")
    quantile = float(student.ppf((1 + LEVEL) / 2, n - 1))
    return float(np.mean(values)), quantile * float(np.std(values, ddof=1)) / n**0.5


def spread_of_folds(values: FloatArray) -> float:
    """Return 1.96 standard deviations over folds, given as trials times folds."""
    if values.shape[1] < 2:
        return float("nan")
    return NORMAL_95 * float(np.sqrt(np.mean(np.var(values, axis=1, ddof=1))))


def summarize(results: Sequence[Result], measure: str) -> Interval:
    """Return what the results of one model on one dataset say about a measure."""
    if measure == "ece":
        mean, half_width = over_trials([calibration_of(trial) for trial in by_trial(results)])
        return Interval(mean, half_width, float("nan"))
    values = np.array([[getattr(result, measure) for result in trial] for trial in by_trial(results)])
    return Interval(*over_trials(values.mean(axis=1).tolist()), spread_of_folds(values))


def calibration_of(trial: Sequence[Result]) -> float:
    """Return the expected calibration error of all rows of a trial, each predicted in the fold that holds it out."""
    y = np.concatenate([result.y for result in trial])
    return scoring.calibration_error(y, np.concatenate([result.proba for result in trial]))


def by_trial(results: Sequence[Result]) -> list[list[Result]]:
    """Return the results of each trial."""
    numbers = sorted({result.trial for result in results})
    return [[result for result in results if result.trial == number] for number in numbers]
