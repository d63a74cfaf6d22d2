"""What a model predicts for the rows of a file, written to a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.errors import InvalidDataError
from bcart.files.features import Feature, features_of_model
from bcart.files.source import Arrays, Source
from bcart.files.sql import any_of, count_cuts, identifier, literal
from bcart.leaves import central_interval
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_tail
from bcart.posterior import Posterior
from bcart.tables import Labels, as_rows
from bcart.tree import Tree
from bcart.writing import replacing

_FIRST_GROUPS, _MOST_GROUPS = 32, 65536  # that are predicted at once
_PARQUET_ENDINGS = (".parquet", ".pq")
_DIGITS = 6  # of answers in CSV, which is made to be read


@dataclass(frozen=True, eq=False)
class Predictor:
    """Who predicts: all trees, or one.

    Attributes
    ----------
    categories
        As in `Grid`.
    thresholds : list of arrays, one a feature
        Rows that lie between the same ones, and have the same labels, are alike.
    answer : callable
        Returns named columns of answers for an array of rows.
    """

    categories: tuple[Labels | None, ...]
    thresholds: list[FloatArray]
    answer: Callable[[Any], Arrays]

    @classmethod
    def of_posterior(cls, posterior: Posterior, level: float = 0.95) -> Predictor:
        """Let all trees predict."""
        as_tail(level)

        def answer(X: Any) -> Arrays:
            sure = posterior.uncertainty(X, level)
            if posterior.classes is not None:
                return _name_classes(posterior.classes, sure.mean, sure.low, sure.high)
            return _name_numbers(sure.mean, sure.low, sure.high, posterior.predict_interval(X, level))

        return cls(posterior.grid.categories, posterior.thresholds, answer)

    @classmethod
    def of_tree(cls, tree: Tree, level: float = 0.95) -> Predictor:
        """Let one tree predict, as if it were known to be the right one."""
        low, high = tree.interval(level)
        tail = as_tail(level)

        def answer(X: Any) -> Arrays:
            leaf = tree.apply(X)
            if tree.classes is not None:
                return _name_classes(tree.classes, tree.predictive[leaf], low[leaf], high[leaf])
            model, statistics = tree.leaf, tree.statistics[leaf]
            assert model is not None
            ends = central_interval(lambda end: model.target_quantile(end, statistics), tail)
            return _name_numbers(tree.predictive[leaf], low[leaf], high[leaf], np.column_stack(ends))

        thresholds = [
            np.unique(tree.threshold[(tree.feature == feature) & np.isfinite(tree.threshold)])
            for feature in range(len(tree.feature_names))
        ]
        return cls(tree.categories, thresholds, answer)


def _name_classes(classes: Any, mean: FloatArray, low: FloatArray, high: FloatArray) -> Arrays:
    columns: Arrays = {"prediction": classes[np.argmax(mean, axis=1)]}
    names = [f"p_{label}" for label in classes.tolist()]
    taken = {name.lower() for name in names}
    for place, name in enumerate(names):
        columns[name] = mean[:, place]
        columns[_free(f"{name}_low", taken)] = low[:, place]
        columns[_free(f"{name}_high", taken)] = high[:, place]
    return columns


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no other has, not even in other case, and take it."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _name_numbers(mean: FloatArray, low: FloatArray, high: FloatArray, target: FloatArray) -> Arrays:
    names = "prediction", "mean_low", "mean_high", "target_low", "target_high"
    return dict(zip(names, (mean[:, 0], low[:, 0], high[:, 0], target[:, 0], target[:, 1]), strict=True))


@within_memory()
def write_predictions(
    source: Source,
    features: Sequence[Feature],
    predictor: Predictor,
    output: str | os.PathLike[str],
    *,
    keep_columns: bool = True,
    on_progress: Callable[[int, int], object] | None = None,
) -> int:
    """Write predictions for all rows of a file, in their order, and return how many there are.

    Rows that are alike to the model are predicted once: DuckDB finds them, and joins the answers to all rows.

    Parameters
    ----------
    source : Source
    features : sequence of Feature
        What `load_features` has returned.
    predictor : Predictor
    output : path
        Parquet if it ends in ``.parquet``, else CSV, where numbers have six digits. It is there whole or not at all.
    keep_columns : bool
        Whether the columns of the file come first.
    on_progress : callable, optional
        Called with the number of distinct rows that have been predicted, and of all.
    """
    values = {f.name: f.expression(source.column(f.name), source.types[f.name]) for f in features}
    _group(source, predictor, features, values)
    is_csv = Path(output).suffix.lower() not in _PARQUET_ENDINGS
    names = _answer_groups(source, predictor, is_csv, on_progress)
    with replacing(output) as new:
        _copy(source, names, new, keep_columns)
    return source.n_rows


@within_memory()
def load_features(
    source: Source, names: Sequence[str], categories: Sequence[Labels | None], about_columns: Any = None
) -> list[Feature]:
    """Load a file, and return how a model reads its columns; refuse it if it lacks one, or a value cannot be read.

    CSV stays as it is written, but for dates, whose form is guessed.

    Parameters
    ----------
    source : Source
    names, categories : sequences
        Of the features of the model, as in `Grid`.
    about_columns : list of dict, or None
        What the model says of its columns, see `Feature.to_json`.
    """
    features = features_of_model(names, categories, about_columns)
    missing = [feature.name for feature in features if feature.name not in source.types]
    if missing:
        listed = ", ".join(map(repr, source.types))
        raise InvalidDataError(
            f"{source.path.name} has no column {missing[0]!r}, which the model needs; its columns are {listed}"
        )
    dates = {feature.name for feature in features if feature.is_date}
    source.load(as_text=[name for name in source.types if name not in dates])
    for feature in features:
        feature.check(source)
    return features


def _group(source: Source, predictor: Predictor, features: Sequence[Feature], values: dict[str, str]) -> None:
    """Give each row the number of its group, and each group one value of each feature."""
    parts = zip(features, predictor.thresholds, predictor.categories, strict=True)
    keys = [_position(values[feature.name], cuts, labels) for feature, cuts, labels in parts]
    keyed = ", ".join(f"CAST({key} AS USMALLINT) AS k{place}" for place, key in enumerate(keys))
    read = ", ".join(f"{values[feature.name]} AS x{place}" for place, feature in enumerate(features))
    alike = ", ".join(f"min(x{place}) AS x{place}" for place in range(len(features)))
    by = ", ".join(f"k{place}" for place in range(len(keys)))
    source.do(f"CREATE TEMP VIEW keyed AS SELECT r, {keyed}, {read} FROM rows")
    source.do(f"CREATE TEMP TABLE grouped AS SELECT {by}, {alike} FROM keyed GROUP BY {by} ORDER BY {by}")
    source.do(f"CREATE TEMP TABLE numbered AS SELECT r, g.rowid AS g FROM keyed JOIN grouped AS g USING ({by})")


def _position(x: str, thresholds: FloatArray, labels: Labels | None) -> str:
    """Write where a value lies: 0 if it is missing, 1 if it is a label that is not known."""
    if labels is None:
        return f"CASE WHEN {x} IS NULL THEN 0 ELSE {count_cuts(x, thresholds.tolist(), 1)} END"
    known = f"WHEN {x} IN {any_of(labels)} THEN {count_cuts(x, labels[1:], 2)} " if labels else ""
    return f"CASE WHEN {x} IS NULL THEN 0 {known}ELSE 1 END"


def _answer_groups(
    source: Source, predictor: Predictor, is_short: bool, on_progress: Callable[[int, int], object] | None
) -> dict[str, str]:
    """Predict for each group, and return the names of the answers with those of their columns in SQL."""
    n_groups, n_done, n_next = int(source.row("SELECT count(*) FROM grouped")[0]), 0, _FIRST_GROUPS
    names: list[str] = []
    while n_done < n_groups:
        start = time.monotonic()
        chunk = source.slice("grouped", n_done, n_done + n_next)
        answers = predictor.answer(as_rows([chunk[f"x{place}"] for place in range(len(predictor.categories))]))
        names = list(answers)
        n_here = len(answers["prediction"])
        columns = {f"a{place}": _plain(values, is_short) for place, values in enumerate(answers.values())}
        source.append("answers", {"g": np.arange(n_done, n_done + n_here), **columns})
        n_done += n_here
        n_next = _next_size(n_here, time.monotonic() - start)
        if on_progress is not None:
            on_progress(n_done, n_groups)
    return {name: f"a{place}" for place, name in enumerate(names)}


def _next_size(n_groups: int, seconds: float) -> int:
    """Return how many groups take about a second: so often is progress worth a look."""
    return max(1, min(4 * n_groups, int(n_groups / max(seconds, 1e-6)), _MOST_GROUPS))


def _plain(values: npt.NDArray[Any], is_short: bool) -> npt.NDArray[Any]:
    """Return answers as DuckDB takes them, numbers with a few digits if so asked."""
    if values.dtype.kind == "f" and is_short:
        return np.array([float(f"{value:.{_DIGITS}g}") for value in values.tolist()])
    return values.astype(object) if values.dtype.kind == "U" else values


def _copy(source: Source, names: dict[str, str], path: Path, keep_columns: bool) -> None:
    taken = {name.lower() for name in source.types} if keep_columns else set()
    kept = [f"{source.column(name)} AS {identifier(name)}" for name in source.types] if keep_columns else []
    added = [f"{column} AS {identifier(_free(name, taken))}" for name, column in names.items()]
    form = "FORMAT parquet" if path.suffix.lower() in _PARQUET_ENDINGS else "FORMAT csv, HEADER"
    source.do(
        f"COPY (SELECT {', '.join(kept + added)} FROM rows JOIN numbered USING (r) JOIN answers USING (g) ORDER BY r) "
        f"TO {literal(str(path))} ({form})"
    )
