"""A picture of how far predicted probabilities can be believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from scipy.special import ndtri

from bcart.colours import colour_of, lighter
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_column, as_floats, as_tail, as_whole
from bcart.plotting.colours import FAINT, LINE, MARKERS, QUIET
from bcart.plotting.frame import add_legend, as_axes, make_axes, quieten

FLOOR, CEILING = -0.3, -0.07  # between which the distribution of the predictions is drawn
BAR = 0.86  # share of a bin that its bars fill
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Calibration:
    """How often events happen that were predicted with some probability.

    Attributes
    ----------
    predicted : array of shape (n_rows,)
        Probability of an event for each row.
    happened : array of shape (n_rows,)
    brier : float
        Mean squared error of the probabilities; summed over the classes if the event is that the prediction is right.
    edges : array of shape (n_bins + 1,)
    event : str
        Its name.
    """

    predicted: FloatArray
    happened: npt.NDArray[np.bool_]
    brier: float
    edges: FloatArray
    event: str

    @property
    def _bins(self) -> npt.NDArray[np.intp]:
        return np.clip(np.searchsorted(self.edges, self.predicted, side="right") - 1, 0, len(self.edges) - 2)

    @property
    def counts(self) -> FloatArray:
        """Number of rows in each bin."""
        return np.bincount(self._bins, minlength=len(self.edges) - 1).astype(np.float64)

    @property
    def mean_predicted(self) -> FloatArray:
        """Mean predicted probability in each bin, NaN where there is no row."""
        return self._mean(self.predicted)

    @property
    def share_happened(self) -> FloatArray:
        """Share of the rows in each bin for which the event happened, NaN where there is no row."""
        return self._mean(self.happened.astype(np.float64))

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of the two, weighed by the number of rows."""
        distance = np.abs(self.mean_predicted - self.share_happened)
        return float(np.nansum(distance * self.counts) / self.counts.sum())

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of Wilson's intervals for the probability of the event in each bin."""
        z = float(ndtri(1 - as_tail(level)))
        n, share = np.where(self.counts > 0, self.counts, np.nan), self.share_happened
        middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
        return middle - reach, middle + reach

    def _mean(self, values: FloatArray) -> FloatArray:
        totals = np.bincount(self._bins, values, minlength=len(self.edges) - 1)
        return np.asarray(np.divide(totals, self.counts, out=np.full(len(totals), np.nan), where=self.counts > 0))


@within_memory()
def plot_calibration(
    y: npt.ArrayLike,
    predictions: Any,
    X: Any = None,
    *,
    output: Any = None,
    n_bins: int = 10,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often events happened against how probable they were said to be, for rows held out from the fit.

    With two classes the event is that a row has the second one (in sorted order). With more it is that the most
    probable class is the right one, so that its predicted probability is compared with the accuracy. `output` chooses
    a class instead, against all others. Points have Wilson's intervals; those of a perfectly calibrated model lie on
    the diagonal but for chance. Below, bars show how many rows have such a prediction.

    The legend has the expected calibration error (ECE: distance from the diagonal, averaged over rows by bins of equal
    width) and the Brier score (mean squared error of the probabilities, smaller is better; for more than two classes
    summed over classes).

    Parameters
    ----------
    y : array of shape (n_rows,)
        The true classes.
    predictions : array, fitted classifier, or mapping from names to them
        Probabilities of shape (n_rows, n_classes), classes in sorted order; or (n_rows,) for the second of two, or for
        `output`. A classifier is asked for those of `X`. A mapping compares several.
    X : array or data frame of shape (n_rows, n_features), optional
        The rows, if classifiers are given.
    output : label of a class, optional
    n_bins : int
    level : float
        Probability of the intervals.
    ax : Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = plot_calibration([0, 0, 1, 1], {"mine": [0.1, 0.2, 0.7, 0.8]}, n_bins=2, ax=Figure().add_subplot())
    >>> ax.get_legend().get_texts()[0].get_text()
    'mine: ECE 0.200, Brier 0.045'
    """
    labels = as_column(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise InvalidDataError(f"y must hold one class a row, but its shape is {labels.shape}")
    edges = np.linspace(0, 1, as_whole(n_bins, "n_bins", "a whole number, at least 1", least=1) + 1)
    as_tail(level)
    named = predictions if isinstance(predictions, Mapping) else {"": predictions}
    if not named:
        raise InvalidDataError("predictions are empty; give at least one array or classifier")
    ax = make_axes(4.8, 5.2)[0] if ax is None else as_axes(ax, 1, "ax")[0]
    found = [compare(labels, given, X, output, edges) for given in named.values()]
    for order, (name, calibration) in enumerate(zip(named, found, strict=True)):
        _draw_points(ax, calibration, level, str(name), order)
    _draw_shares(ax, found)
    _prepare(ax)
    ax.set_xlabel(f"predicted probability of {found[0].event}", parse_math=False)
    ax.set_ylabel(f"how often it was so, with {100 * level:g} % intervals")
    add_legend(ax, n_columns=1)
    return ax


def compare(labels: npt.NDArray[Any], given: Any, X: Any, output: Any, edges: FloatArray) -> Calibration:
    """Return how predictions compare with what was the case."""
    classes, probability = _read_predictions(labels, given, X, output)
    if output is None and len(classes) > 2:
        truth = labels[:, None] == np.asarray(classes)
        best = np.argmax(probability, axis=1)
        rows = np.arange(len(labels))
        brier = float(((probability - truth) ** 2).sum(axis=1).mean())
        return Calibration(probability[rows, best], truth[rows, best], brier, edges, "the most probable class")
    event = classes[-1] if output is None else output
    if event not in classes:
        raise InvalidModelError(f"output={output!r} is no class; the classes are {', '.join(map(repr, classes))}")
    chance, happened = probability[:, classes.index(event)], labels == event
    return Calibration(chance, happened, float(((chance - happened) ** 2).mean()), edges, f"“{event}”")


def _read_predictions(labels: npt.NDArray[Any], given: Any, X: Any, output: Any) -> tuple[list[Any], FloatArray]:
    """Return classes, and the probability of each for each row."""
    classes = np.unique(labels).tolist()
    if hasattr(given, "predict_proba"):
        if X is None:
            raise InvalidDataError("a classifier is given without rows to predict; give X as well")
        classes = np.asarray(getattr(given, "classes_", getattr(given, "classes", classes))).tolist()
        given = given.predict_proba(X)
    probability = as_floats(given, "predictions")
    if probability.ndim == 1:
        classes = [_other(classes, output), output] if output is not None else _two(classes)
        probability = np.column_stack([1 - probability, probability])
    if probability.shape != (len(labels), len(classes)):
        raise InvalidDataError(
            f"predictions have shape {probability.shape}, expected ({len(labels)}, {len(classes)}): one row a target, "
            f"one column for each of the classes {', '.join(map(repr, classes))}"
        )
    is_wrong = ~((probability >= -ROUNDING) & (probability <= 1 + ROUNDING))
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong.any(axis=1))[0])
        raise InvalidDataError(
            f"predictions contain {probability[row].tolist()} (row {row}), which are no probabilities"
        )
    return classes, probability


def _two(classes: list[Any]) -> list[Any]:
    if len(classes) > 2:
        raise InvalidDataError(
            f"predictions are one number a row, but y has {len(classes)} classes; give one column a class, or name the "
            "class that they are for (output=)"
        )
    return classes if len(classes) == 2 else [_other(classes, classes[0]), *classes]


def _other(classes: list[Any], output: Any) -> Any:
    """Return a class that is not the chosen one."""
    return next((label for label in classes if label != output), None)


# -- drawing ----------------------------------------------------------------------------------------------------------


def _prepare(ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=LINE, lw=1, ls=(0, (4, 3)), zorder=1)
    ax.axhline(0, color=FAINT, lw=0.8, zorder=0)
    ax.set(xlim=(-0.02, 1.02), ylim=(FLOOR, 1.02), yticks=np.linspace(0, 1, 6), xticks=np.linspace(0, 1, 6))
    quieten(ax)


def _draw_points(ax: Axes, found: Calibration, level: float, name: str, order: int) -> None:
    colour = colour_of(order)
    seen = found.counts > 0
    x, y = found.mean_predicted[seen], found.share_happened[seen]
    low, high = found.interval(level)
    ax.vlines(x, low[seen], high[seen], color=lighter(colour, 0.35), lw=1.6, zorder=2)
    ax.plot(x, y, color=lighter(colour, 0.35), lw=0.8, zorder=2)
    scores = f"ECE {found.error:.3f}, Brier {found.brier:.3f}"
    label = f"{name}: {scores}" if name else scores
    ax.plot(x, y, MARKERS[order % len(MARKERS)], color=colour, ms=5.5, zorder=3, clip_on=False, label=label)


def _draw_shares(ax: Axes, found: list[Calibration]) -> None:
    """Draw the distribution of the predictions in the room below zero; the highest bar fills it."""
    shares = np.array([each.counts / each.counts.sum() for each in found])
    width = np.diff(found[0].edges) * BAR / len(found)
    for order, share in enumerate(shares):
        left = found[0].edges[:-1] + np.diff(found[0].edges) * (1 - BAR) / 2 + order * width
        height = share / shares.max() * (CEILING - FLOOR)
        ax.bar(left, height, width, FLOOR, align="edge", color=lighter(colour_of(order), 0.35), zorder=2)
    note = f"share of rows, up to {100 * shares.max():.0f} %"
    ax.text(0.0, CEILING + 0.01, note, va="bottom", fontsize=7.5, color=QUIET)
