"""Cross-validated scores of all trees and of the most probable one, beside scikit-learn's CART."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.metrics import accuracy_score, r2_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from bcart.errors import DepthLimitedWarning, InvalidDataError
from bcart.estimators.classifier import BayesianTreeClassifier
from bcart.estimators.regressor import BayesianTreeRegressor
from bcart.memory import within_memory
from bcart.parse import FloatArray
from bcart.tables import as_rows

Estimator = BayesianTreeClassifier | BayesianTreeRegressor
ModelName = Literal["all trees", "most probable tree", "CART"]

_FEWEST_ROWS = 2  # one to learn from, one to predict
_LARGEST_OF_CART = 1e29  # it refuses numbers beyond those of 32 bits, and adds up columns in them


@dataclass(frozen=True)
class Score:
    """How well a model predicts rows that it has not seen.

    Attributes
    ----------
    model : {"all trees", "most probable tree", "CART"}
    values : dict
        Means over the folds: accuracy, log-loss and Brier score of classes; RMSE and R² of numbers. Folds without a
        finite value, such as the R² of a single row, do not count, and a measure that no fold has is absent.
    n_leaves : float or None
        Mean number of leaves; None for all trees.
    """

    model: ModelName
    values: dict[str, float]
    n_leaves: float | None


class Comparison(NamedTuple):
    """The scores of all models, and over how many folds they are means."""

    scores: list[Score]
    n_folds: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a table: as bcart takes them, and as scikit-learn's CART does."""

    X: npt.NDArray[Any]
    y: npt.NDArray[Any]
    weights: FloatArray

    def take(self, rows: npt.NDArray[np.intp]) -> _Rows:
        return _Rows(self.X[rows], self.y[rows], self.weights[rows])


@within_memory()
def compare_with_cart(
    model: Estimator,
    columns: Sequence[npt.NDArray[Any]],
    is_nominal: Sequence[bool],
    y: npt.NDArray[Any],
    weights: FloatArray,
    n_folds: int = 5,
    random_state: int = 0,
    max_tested: int | None = None,
    on_fold: Callable[[int, int], object] | None = None,
) -> Comparison:
    """Return cross-validated scores.

    Parameters
    ----------
    model : BayesianTreeClassifier or BayesianTreeRegressor
        Whose parameters are used, but for `categorical_features`.
    columns : sequence of arrays
        Numbers with NaN for missing values, or labels with None or NaN for them.
    is_nominal : sequence of bool
        Which columns hold labels. CART sees each label as a column of its own.
    y, weights : arrays
        Rows of weight zero are absent.
    n_folds : int
        One a row if there are fewer rows, of which two are needed.
    random_state : int
        Of the folds, and of CART.
    max_tested : int, optional
        Most rows to predict, over all folds, where that takes long.
    on_fold : callable, optional
        Called with the number of folds done, and of all.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(60.0)
    >>> y = np.where(x < 30, "low", "high")
    >>> scores, n_folds = compare_with_cart(BayesianTreeClassifier(), [x], [False], y, np.ones(60))
    >>> [(score.model, round(score.values["accuracy"], 2)) for score in scores]
    [('all trees', 0.98), ('most probable tree', 0.98), ('CART', 0.97)]
    """
    rows = _Rows(as_rows(columns), y, weights).take(np.flatnonzero(weights))
    if len(rows.y) < _FEWEST_ROWS:
        raise InvalidDataError(
            f"there are {len(rows.y)} rows with a positive weight; folds need {_FEWEST_ROWS} or more"
        )
    nominal = np.flatnonzero(is_nominal).tolist()
    ours = type(model)(**{**model.get_params(), "categorical_features": nominal})
    theirs = _cart(isinstance(model, BayesianTreeClassifier), nominal, random_state)
    found: list[list[Score]] = []
    folds = list(_folds(rows, isinstance(model, BayesianTreeClassifier), n_folds, random_state))
    random = np.random.default_rng(random_state)
    n_tested = len(rows.y) if max_tested is None or max_tested >= len(rows.y) else max(1, max_tested // len(folds))
    for train, test in folds:
        tested = np.sort(random.permutation(test)[:n_tested])
        found.append(_score_fold(ours, theirs, rows.take(train), rows.take(tested)))
        if on_fold is not None:
            on_fold(len(found), len(folds))
    return Comparison([_mean(scores) for scores in zip(*found, strict=True)], len(folds))


def _folds(
    rows: _Rows, is_classifier: bool, n_folds: int, random_state: int
) -> Iterator[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Yield the rows to learn from and those to predict; each class in every fold, if it has as many rows."""
    n_folds = min(n_folds, len(rows.y))
    is_stratified = is_classifier and np.unique(rows.y, return_counts=True)[1].min() >= n_folds
    splitter = StratifiedKFold if is_stratified else KFold
    yield from splitter(n_folds, shuffle=True, random_state=random_state).split(np.zeros(len(rows.y)), rows.y)


def _score_fold(ours: Estimator, theirs: Any, train: _Rows, test: _Rows) -> list[Score]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DepthLimitedWarning)
        ours.fit(train.X, train.y, train.weights)
    theirs.fit(train.X, train.y, **{f"{theirs.steps[-1][0]}__sample_weight": train.weights})
    measure = _measure_classes if isinstance(ours, BayesianTreeClassifier) else _measure_numbers
    outputs = [ours.posterior_.expected_output(test.X, predictor) for predictor in ("ensemble", "map")]
    if isinstance(ours, BayesianTreeClassifier):
        outputs.append(theirs.predict_proba(test.X))
    else:
        outputs.append(theirs.predict(test.X)[:, None])
    classes = getattr(ours, "classes_", None)
    leaves = [None, float(ours.tree_.n_leaves), float(theirs[-1].get_n_leaves())]
    names: tuple[ModelName, ...] = ("all trees", "most probable tree", "CART")
    return [
        Score(name, measure(output, test, classes), n_leaves)
        for name, output, n_leaves in zip(names, outputs, leaves, strict=True)
    ]


def _measure_classes(probability: FloatArray, test: _Rows, classes: Any) -> dict[str, float]:
    labels = np.union1d(classes, test.y)
    chances = np.zeros((len(test.y), len(labels)))
    chances[:, np.searchsorted(labels, classes)] = probability
    truth = test.y[:, None] == labels
    of_truth, weights = np.maximum(chances[truth], np.finfo(np.float64).eps), test.weights
    return {
        "accuracy": float(accuracy_score(test.y, labels[np.argmax(chances, axis=1)], sample_weight=weights)),
        "log-loss": float(np.average(np.log(1 / of_truth), weights=weights)),
        "Brier": float(np.average(((chances - truth) ** 2).sum(axis=1), weights=weights)),
    }


def _measure_numbers(output: FloatArray, test: _Rows, classes: Any) -> dict[str, float]:
    y, weights = test.y.astype(np.float64), test.weights
    return {
        "RMSE": float(root_mean_squared_error(y, output[:, 0], sample_weight=weights)),
        "R²": float(r2_score(y, output[:, 0], sample_weight=weights)) if len(y) > 1 else float("nan"),
    }


def _mean(scores: Sequence[Score]) -> Score:
    found = {name: np.array([score.values[name] for score in scores]) for name in scores[0].values}
    finite = {name: values[np.isfinite(values)] for name, values in found.items()}
    means = {name: float(np.mean(values)) for name, values in finite.items() if len(values)}
    leaves = [score.n_leaves for score in scores if score.n_leaves is not None]
    return Score(scores[0].model, means, float(np.mean(leaves)) if leaves else None)


def _cart(is_classifier: bool, nominal: list[int], random_state: int) -> Any:
    tree = (DecisionTreeClassifier if is_classifier else DecisionTreeRegressor)(random_state=random_state)
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = FunctionTransformer(_clipped)
    return make_pipeline(make_column_transformer((one_hot, nominal), remainder=numbers), tree)


def _clipped(X: npt.NDArray[Any]) -> FloatArray:
    return np.clip(X.astype(np.float64), -_LARGEST_OF_CART, _LARGEST_OF_CART)
