"""Scores are those of scikit-learn where it has them, and of a plain loop where not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from bcart.reproduce import scoring


@st.composite
def predictions(draw):
    seed, n_rows, n_classes = draw(st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(2, 4)))
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, draw(st.sampled_from([0.1, 1.0, 5.0]))), n_rows)
    if draw(st.booleans()):
        proba = np.round(proba, 1)  # ties, and sums that are not quite one
        proba[:, -1] = 1 - proba[:, :-1].sum(axis=1)
        proba = np.abs(proba) / np.abs(proba).sum(axis=1, keepdims=True)
    return rng.integers(0, n_classes, n_rows), proba


@given(predictions())
def test_accuracy_is_that_of_scikit_learn(prediction):
    y, proba = prediction
    assert scoring.accuracy(y, proba) == accuracy_score(y, proba.argmax(axis=1))


@given(predictions())
def test_log_loss_is_that_of_scikit_learn_for_the_lifted_probabilities(prediction):
    y, proba = prediction
    lifted = np.clip(proba, 1e-3, None)
    lifted /= lifted.sum(axis=1, keepdims=True)
    expected = sklearn_log_loss(y, lifted, labels=np.arange(proba.shape[1]))
    assert scoring.log_loss(y, proba) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(predictions())
def test_brier_score_is_the_sum_over_classes_of_scikit_learns(prediction):
    y, proba = prediction
    expected = sum(np.mean((proba[:, c] - (y == c)) ** 2) for c in range(proba.shape[1]))
    assert scoring.brier(y, proba) == pytest.approx(expected)
    if proba.shape[1] == 2:
        of_one_class = brier_score_loss(y, np.minimum(proba[:, 1], 1.0), pos_label=1, labels=[0, 1])
        assert scoring.brier(y, proba) == pytest.approx(2 * of_one_class)


def plain_calibration_error(y, proba, n_bins):
    """Walk along the sorted confidences; a bin ends where a quantile is reached, but never within equals."""
    confidence = sorted(max(row) for row in proba)
    rows = [(max(row), int(list(row).index(max(row)) == label)) for row, label in zip(proba, y, strict=True)]
    cuts = [float(np.quantile(confidence, k / n_bins)) for k in range(1, n_bins)]
    bins = {}
    for sure, is_right in rows:
        bins.setdefault(sum(cut <= sure for cut in cuts), []).append((sure, is_right))
    gaps = [abs(sum(s for s, _ in rows) - sum(r for _, r in rows)) for rows in bins.values()]
    return sum(gaps) / len(y)


@given(predictions(), st.integers(1, 20))
def test_calibration_error_is_that_of_a_plain_loop(prediction, n_bins):
    y, proba = prediction
    expected = plain_calibration_error(y, proba, n_bins)
    assert scoring.calibration_error(y, proba, n_bins) == pytest.approx(expected, abs=1e-12)
