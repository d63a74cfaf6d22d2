"""What a picture of predictions asks of a posterior: some features vary, all others are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.answers import Uncertainty
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray, as_column, as_tail
from bcart.plotting.scales import rows_at, typical_row
from bcart.plotting.sources import posterior_of, predictor_of
from bcart.plotting.text import join_within, shorten
from bcart.posterior import Posterior
from bcart.rows import Predictor
from bcart.tables import describe_labels, refuse_infinite

MAX_LINES = 5  # for classes in one picture
MAX_NAMED = 3  # features that are listed with the values at which they are held


@dataclass(frozen=True, eq=False)
class Slice:
    """Some features of a posterior, with the rows that are shown beside its answers.

    Attributes
    ----------
    posterior : Posterior
    predictor : {"ensemble", "map"}
    level : float
    features : tuple of int
        Those that vary.
    row : array of shape (n_features,)
        The values at which all others are held; of labels their places.
    outputs : tuple of int
    columns : list of arrays, or None
        The rows that are shown.
    y : array or None
        Their targets.
    """

    posterior: Posterior
    predictor: Predictor
    level: float
    features: tuple[int, ...]
    row: FloatArray
    outputs: tuple[int, ...]
    columns: list[FloatArray] | None
    y: npt.NDArray[Any] | None

    @classmethod
    def through(
        cls,
        model: Any,
        features: Any,
        X: Any,
        y: Any,
        *,
        output: Any,
        at: Mapping[Any, Any],
        level: float,
        predictor: Predictor | None,
    ) -> Slice:
        """Return what was asked for, checked; see `plot_predictive`."""
        posterior = posterior_of(model)
        given = [features] if isinstance(features, (int, np.integer, str)) else list(features)
        places = tuple(find_feature(posterior, feature) for feature in given)
        if len(places) not in (1, 2) or len(set(places)) < len(places):
            raise InvalidModelError(f"features={features!r} must be one feature, or two different ones")
        as_tail(level)
        columns = None if X is None else posterior.grid.columns(X)
        if columns is not None:
            refuse_infinite(posterior.grid.feature_names, columns)
        row = _held_row(posterior, columns, at)
        outputs = _choose_outputs(posterior, output, len(places))
        chosen = predictor_of(model, predictor)
        return cls(posterior, chosen, level, places, row, outputs, columns, _as_targets(y, columns))

    def answer(self, values: FloatArray, level: float | None) -> Uncertainty:
        """Return what is predicted if the features take these values, one row each."""
        rows = np.tile(self.row, (len(values), 1))
        rows[:, list(self.features)] = values
        return self.posterior.uncertainty(rows_at(self.posterior, rows), level, self.predictor)

    def name(self, output: int) -> str:
        """Say what an output is."""
        classes = self.posterior.classes
        return "expected target" if classes is None else f"probability of “{shorten(str(classes[output]), 1.6, 9)}”"

    def line_name(self, output: int) -> str:
        """Say what a line shows: which class if there are several, else whose prediction."""
        if len(self.outputs) > 1 and self.posterior.classes is not None:
            return shorten(str(self.posterior.classes[output]), 1.6, 8)
        return "average over all trees" if self.predictor == "ensemble" else "most probable tree"

    def held(self, width: float) -> str:
        """Say at which values the other features are held, in lines of some width."""
        others = [feature for feature in range(len(self.row)) if feature not in self.features]
        if len(others) > MAX_NAMED:
            return f"({len(others)} other features at typical values)"
        texts = [f"{self._short_name(feature)} = {self._value(feature)}" for feature in others]
        return f"(at {join_within(texts, width, 9)})" if texts else ""

    def _short_name(self, feature: int) -> str:
        return shorten(self.posterior.grid.feature_names[feature], 1.2, 9)

    def _value(self, feature: int) -> str:
        value, labels = self.row[feature], self.posterior.grid.categories[feature]
        if np.isnan(value):
            return "missing"
        return f"{value:.5g}" if labels is None else shorten(str(labels[int(value)]), 1.0, 9)


def find_feature(posterior: Posterior, feature: Any) -> int:
    """Return the place of a feature that is given by name or number."""
    names = posterior.grid.feature_names
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    is_number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    if is_number and 0 <= feature < len(names):
        return int(feature)
    raise InvalidModelError(f"there is no feature {feature!r}; there are {', '.join(names)}, numbered from 0")


def _held_row(posterior: Posterior, columns: list[FloatArray] | None, at: Mapping[Any, Any]) -> FloatArray:
    row = np.array(typical_row(posterior, columns))
    for feature, value in at.items():
        place = find_feature(posterior, feature)
        labels = posterior.grid.categories[place]
        row[place] = _as_place(value, labels, f"at[{feature!r}]")
    return row


def _as_place(value: Any, labels: Sequence[Any] | None, name: str) -> float:
    """Return a value as a number: a label by its place, NaN if it is missing."""
    if value is None or value != value:
        return float("nan")
    if labels is not None:
        if value not in labels:
            raise InvalidDataError(f"{name}={value!r} is no label of the feature; it has {describe_labels(labels)}")
        return float(labels.index(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidDataError(f"{name}={value!r} is no number, but the feature is numeric") from None


def _choose_outputs(posterior: Posterior, output: Any, n_features: int) -> tuple[int, ...]:
    if posterior.classes is None:
        if output is not None:
            raise InvalidModelError(f"output={output!r} names a class, but the targets are numbers; leave it out")
        return (0,)
    classes = posterior.classes.tolist()
    if output is None:
        has_many = n_features == 1 and 2 < len(classes) <= MAX_LINES
        return tuple(range(len(classes))) if has_many else (len(classes) - 1,)
    if output not in classes:
        raise InvalidModelError(f"output={output!r} is no class; the classes are {describe_labels(classes)}")
    return (classes.index(output),)


def _as_targets(y: Any, columns: list[FloatArray] | None) -> npt.NDArray[Any] | None:
    if y is None:
        return None
    targets = as_column(y)
    if columns is None or targets.shape != columns[0].shape:
        n_rows = 0 if columns is None else len(columns[0])
        raise InvalidDataError(f"y has shape {targets.shape}, but X has {n_rows} rows; give one target a row of X")
    return targets
