"""How good predictions are. Needs nothing but numpy, so that it can be tested alone."""

from __future__ import annotations

import numpy as np

LEAST_PROBABILITY = 1e-3  # for all models alike: being wrong and sure costs 6.9 nats instead of infinity
N_BINS = 15


def accuracy(y: np.ndarray, proba: np.ndarray) -> float:
    """Return how often the most probable class is the right one."""
    return float(np.mean(proba.argmax(axis=1) == y))


def log_loss(y: np.ndarray, proba: np.ndarray, least: float = LEAST_PROBABILITY) -> float:
    """Return the mean of minus the log probability of the right class, after lifting every probability to `least`."""
    lifted = np.maximum(proba, least)
    lifted = lifted / lifted.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(lifted[np.arange(len(y)), y])))


def brier(y: np.ndarray, proba: np.ndarray) -> float:
    """Return the mean squared distance between the probabilities and the truth, summed over classes: 0 to 2."""
    truth = np.eye(proba.shape[1])[y]
    return float(np.mean(((proba - truth) ** 2).sum(axis=1)))


def calibration_error(y: np.ndarray, proba: np.ndarray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error of the predicted class.

    Rows are put in order of the probability of their predicted class and cut into bins of equal mass; within a bin the
    mean probability is compared with how often the prediction is right. Rows of equal probability share a bin.
    """
    confidence, is_right = proba.max(axis=1), proba.argmax(axis=1) == y
    edges = np.quantile(confidence, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(edges, confidence, side="right")
    gaps = [abs(np.sum(confidence[bins == b]) - np.sum(is_right[bins == b])) for b in np.unique(bins)]
    return float(np.sum(gaps) / len(y))


def rmse(y: np.ndarray, mean: np.ndarray) -> float:
    """Return the root of the mean squared error."""
    return float(np.sqrt(np.mean((y - mean) ** 2)))


def coverage(y: np.ndarray, interval: np.ndarray) -> float:
    """Return how often the interval holds the target."""
    return float(np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])))


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean over folds and its standard error."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return float(np.mean(values)), spread / len(values) ** 0.5
