"""How good predictions are: of classes as in the reproduction of the paper, of numbers as here."""

from __future__ import annotations

import numpy as np

from bcart.reproduce.scoring import accuracy, brier, calibration_error, log_loss

__all__ = ["accuracy", "brier", "calibration_error", "coverage", "log_loss", "mean_and_error", "rmse"]


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
