"""Intervals are what a person finds with paper and pencil."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from bcart.reproduce.experiment import Result
from bcart.reproduce.intervals import over_trials, spread_of_folds, summarize


def result(trial, fold, accuracy=0.5, y=(0,), proba=((1.0, 0.0),)):
    numbers = {"nodes": 3.0, "log_loss": 0.1, "brier": 0.1, "fit_seconds": 1.0, "predict_seconds": 1.0}
    place = {"dataset": "iris", "binning": "none", "model": "CART", "trial": trial, "fold": fold}
    rows = {"n_train": 9, "n_test": len(y), "y": np.array(y), "proba": np.array(proba)}
    return Result(**place, **numbers, **rows, accuracy=accuracy)


def test_five_trials_by_hand():
    # mean 0.7, deviations -0.02, -0.01, 0, 0.01, 0.02: variance 0.001 / 4; t of 4 degrees is 2.776
    mean, half_width = over_trials([0.68, 0.69, 0.70, 0.71, 0.72])
    assert mean == pytest.approx(0.7)
    assert half_width == pytest.approx(2.7764 * math.sqrt(0.001 / 4 / 5), rel=1e-4)


def test_the_interval_is_that_of_students_test():
    values = np.random.default_rng(0).normal(size=7).tolist()
    mean, half_width = over_trials(values)
    expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert (mean - half_width, mean + half_width) == pytest.approx((expected.low, expected.high))


def test_one_trial_has_no_interval():
    assert over_trials([0.5])[0] == 0.5
    assert math.isnan(over_trials([0.5])[1])


def test_the_spread_is_that_of_the_folds_of_a_trial():
    sizes = [1, 3, 3, 3, 3, 3, 3, 3, 5, 5]  # the ten trees behind the paper's 3.2 ± 2.225
    assert spread_of_folds(np.array([sizes])) == pytest.approx(2.225, abs=0.0005)
    assert spread_of_folds(np.array([sizes, np.array(sizes) + 100])) == pytest.approx(2.225, abs=0.0005)


def test_a_trial_is_the_mean_of_its_folds():
    found = summarize([result(0, 0, 0.4), result(0, 1, 0.6), result(1, 0, 0.7), result(1, 1, 0.9)], "accuracy")
    assert found.mean == pytest.approx((0.5 + 0.8) / 2)
    assert found.half_width == pytest.approx(12.7062 * 0.3 / math.sqrt(2) / math.sqrt(2), rel=1e-4)
    assert found.spread == pytest.approx(1.96 * math.sqrt(0.02))


def test_calibration_is_that_of_all_rows_of_a_trial():
    # Alone, the first fold is right with 0.6 and the second wrong: both are far off; together half are right.
    folds = [result(0, 0, y=(0,), proba=((0.6, 0.4),)), result(0, 1, y=(1,), proba=((0.6, 0.4),))]
    assert summarize(folds, "ece").mean == pytest.approx(0.1)
