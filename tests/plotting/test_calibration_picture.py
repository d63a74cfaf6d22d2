"""Calibration against scores that are computed otherwise."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.stats import binomtest
from sklearn.metrics import brier_score_loss

import bcart
from bcart import BayesianTreeClassifier
from bcart.datasets import load_haberman
from bcart.plotting import plot_calibration
from bcart.plotting.calibration import compare

HABERMAN = load_haberman()
EDGES = np.linspace(0, 1, 11)


def draw(*arguments, **options):
    ax = plot_calibration(*arguments, ax=Figure(figsize=(5, 5)).add_subplot(), **options)
    FigureCanvasAgg(ax.figure).draw()
    return ax


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def ece_by_hand(chances, happened, n_bins):
    """Row by row: which bin, then the distance of means."""
    bins = {}
    for chance, was_so in zip(chances, happened, strict=True):
        bins.setdefault(min(int(chance * n_bins + 1e-12), n_bins - 1), []).append((chance, was_so))
    distances = [abs(sum(c for c, _ in rows) - sum(h for _, h in rows)) for rows in bins.values()]
    return sum(distances) / len(chances)


CHANCES = st.lists(st.tuples(st.integers(0, 97).map(lambda n: n / 97), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=60)
@given(rows=CHANCES, n_bins=st.integers(1, 12))
def test_ece_and_brier_are_those_of_plain_loops(rows, n_bins):
    chances, happened = (np.array(part) for part in zip(*rows, strict=True))
    labels = np.where(happened, "yes", "no")
    found = compare(labels, chances, None, "yes", np.linspace(0, 1, n_bins + 1))
    assert found.error == pytest.approx(ece_by_hand(chances, happened, n_bins), abs=1e-12)
    assert found.brier == pytest.approx(np.mean([(c - h) ** 2 for c, h in rows]))


def test_brier_agrees_with_scikit_learn():
    model = BayesianTreeClassifier().fit(HABERMAN.data, HABERMAN.target)
    probability = model.predict_proba(HABERMAN.data)
    expected = brier_score_loss(HABERMAN.target, probability[:, 1], pos_label="survived")
    assert legend(draw(HABERMAN.target, probability))[0].endswith(f"Brier {expected:.3f}")


@settings(max_examples=40)
@given(n=st.integers(1, 50), share=st.floats(0, 1))
def test_intervals_are_those_of_wilson(n, share):
    n_happened = round(share * n)
    labels = np.arange(n) < n_happened
    found = compare(labels, np.full(n, 0.55), None, True, EDGES)
    low, high = (end[5] for end in found.interval(0.9))
    expected = binomtest(n_happened, n).proportion_ci(0.9, method="wilson")
    assert (low, high) == (pytest.approx(expected.low, abs=1e-12), pytest.approx(expected.high, abs=1e-12))


def test_points_and_bars_are_the_bins_that_have_rows():
    chances = np.array([0.05, 0.08, 0.31, 0.39, 0.38, 0.99])
    labels = np.array([0, 1, 0, 1, 1, 1])
    ax = draw(labels, chances)
    points = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(points.get_xdata(), [0.065, 0.36, 0.99])
    np.testing.assert_allclose(points.get_ydata(), [1 / 2, 2 / 3, 1])
    heights = np.array([bar.get_height() for bar in ax.patches])
    np.testing.assert_allclose(heights / heights.max(), np.array([2, 0, 0, 3, 0, 0, 0, 0, 0, 1]) / 3)
    assert ax.get_xlabel() == "predicted probability of “1”"


def test_with_three_classes_the_most_probable_one_counts():
    probability = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0.5, 0.25, 0.25]])
    labels = np.array(["a", "b", "b", "c"])
    found = compare(labels, probability, None, None, EDGES)
    assert found.predicted.tolist() == [0.6, 0.6, 0.8, 0.5]
    assert found.happened.tolist() == [True, False, True, False]
    truth = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert found.brier == pytest.approx(np.mean(np.sum((probability - truth) ** 2, axis=1)))
    assert draw(labels, probability).get_xlabel() == "predicted probability of the most probable class"


def test_one_class_can_be_judged_against_the_rest():
    probability = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    labels = np.array(["a", "b", "c"])
    found = compare(labels, probability, None, "b", EDGES)
    assert found.predicted.tolist() == [0.3, 0.2, 0.8]
    assert found.happened.tolist() == [False, True, False]
    alone = compare(labels, probability[:, 1], None, "b", EDGES)
    assert alone.error == found.error


def test_classifiers_are_asked_for_their_probabilities_and_compared_by_name():
    models = {
        name: BayesianTreeClassifier(predictor=predictor).fit(HABERMAN.data, HABERMAN.target)
        for name, predictor in (("all trees", "ensemble"), ("best $tree$", "map"))
    }
    shown = legend(draw(HABERMAN.target, models, HABERMAN.data))
    given_as_numbers = {name: model.predict_proba(HABERMAN.data) for name, model in models.items()}
    assert shown == legend(draw(HABERMAN.target, given_as_numbers))
    assert shown[1].startswith("best $tree$: ECE")
    posterior = models["all trees"].posterior_
    assert shown[0].endswith(legend(draw(HABERMAN.target, posterior, HABERMAN.data))[0])


def test_a_class_that_no_row_has_may_be_predicted_by_a_classifier():
    model = BayesianTreeClassifier().fit(HABERMAN.data, HABERMAN.target)
    rows = HABERMAN.target == "died"
    ax = draw(HABERMAN.target[rows], model, HABERMAN.data[rows])
    assert ax.get_xlabel() == "predicted probability of “survived”"


def test_it_draws_on_the_given_axes_and_nowhere_else():
    figure = Figure()
    given, other = figure.subplots(1, 2)
    before = len(other.get_children())
    assert plot_calibration([0, 1], [0.2, 0.7], ax=given) is given
    assert figure.axes == [given, other]
    assert len(other.get_children()) == before
    assert plt.get_fignums() == []


def test_without_axes_there_is_one_new_figure():
    ax = plot_calibration([0, 1], [0.2, 0.7])
    assert plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize(
    ("y", "predictions", "message"),
    [
        ([0, 1], [0.2, 1.7], "no probabilities"),
        ([0, 1], [np.nan, 0.5], "no probabilities"),
        ([0, 1], [0.2], "one row a target"),
        ([0, 1, 2], [0.2, 0.3, 0.4], "3 classes"),
        ([0, 1], {}, "empty"),
        ([], [], "one class a row"),
        ([0, 1], BayesianTreeClassifier(), "give X"),
    ],
)
def test_wrong_predictions_are_refused(y, predictions, message):
    with pytest.raises(bcart.InvalidDataError, match=message):
        plot_calibration(y, predictions)


def test_a_class_that_does_not_exist_is_refused():
    with pytest.raises(bcart.InvalidModelError, match="no class"):
        plot_calibration([0, 1], [[0.2, 0.8], [0.5, 0.5]], output=3)
