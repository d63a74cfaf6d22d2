"""How good the class probabilities of a model are, on rows that it has not seen. Classes are numbered from 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bcart.parse import FloatArray

Classes = npt.NDArray[np.integer]

LEAST_PROBABILITY = 1e-3  # for all models alike: being wrong and sure costs 6.9 nats instead of infinity
N_BINS = 15


def accuracy(y: Classes, proba: FloatArray) -> float:
    """Return how often the most probable class, the first of equals, is the right one."""
    return float(np.mean(proba.argmax(axis=1) == y))


def log_loss(y: Classes, proba: FloatArray, least: float = LEAST_PROBABILITY) -> float:
    """Return the mean of minus the log probability of the right class, after lifting every probability to `least`."""
    lifted = np.maximum(proba, least)
    lifted = lifted / lifted.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(lifted[np.arange(len(y)), y])))


def brier(y: Classes, proba: FloatArray) -> float:
    """Return the mean squared distance between the probabilities and the truth, summed over classes: 0 to 2."""
    truth = np.eye(proba.shape[1])[y]
    return float(np.mean(((proba - truth) ** 2).sum(axis=1)))


def calibration_error(y: Classes, proba: FloatArray, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error (ECE) of the predicted class.

    Rows are put in order of the probability of their predicted class and cut into bins of equal mass; within a bin the
    mean probability is compared with how often the prediction is right. Rows of equal probability share a bin.

    Examples
    --------
    >>> round(calibration_error(np.array([0, 0, 0, 1]), np.tile([0.95, 0.05], (4, 1))), 3)  # 95 % sure, right in 75 %
    0.2
    """
    confidence, is_right = proba.max(axis=1), proba.argmax(axis=1) == y
    edges = np.quantile(confidence, np.arange(1, n_bins) / n_bins)
    bins = np.searchsorted(edges, confidence, side="right")
    gaps = [abs(np.sum(confidence[bins == b]) - np.sum(is_right[bins == b])) for b in np.unique(bins)]
    return float(np.sum(gaps) / len(y))
