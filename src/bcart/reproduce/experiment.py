"""One fold: every model learns from the same rows and predicts the same others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from bcart.errors import DepthLimitedWarning, MemoryBudgetError
from bcart.estimators import BayesianTreeClassifier
from bcart.parse import FloatArray
from bcart.reproduce import scoring
from bcart.reproduce.binning import Binning, grid_binning, within_fold
from bcart.reproduce.paper import Model

LOG_PHI = 2.0
MAX_MEMORY = "8GB"  # more than any fold takes: the full posterior, or an error

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fold:
    """A question: what the models make of some rows, and what they then say about others."""

    dataset: str
    binning: Binning
    trial: int
    number: int
    X: FloatArray
    y: npt.NDArray[np.integer]
    train: Rows
    test: Rows
    max_bins: int
    has_ours: bool  # else CART and random forest only
    seconds: float  # expected, with one thread
    n_bytes: int  # expected
    n_threads: int = 1


@dataclass(frozen=True, eq=False)
class Result:
    """What one model said in one fold; ``nodes`` is nan for the ensemble of all trees."""

    dataset: str
    binning: Binning
    model: Model
    trial: int
    fold: int
    n_train: int
    n_test: int
    nodes: float
    accuracy: float
    log_loss: float
    brier: float
    fit_seconds: float
    predict_seconds: float
    y: npt.NDArray[np.integer]
    proba: FloatArray


@dataclass(frozen=True, eq=False)
class _Answer:
    model: Model
    nodes: float
    fit_seconds: float
    predict_seconds: float
    proba: FloatArray


def run_fold(fold: Fold) -> list[Result]:
    """Return what each model says. Random choices of CART and random forest are seeded by the trial."""
    answers = [_ask_cart(fold), _ask_forest(fold)] + (_ask_ours(fold) if fold.has_ours else [])
    return [_judge(fold, answer) for answer in answers]


def _judge(fold: Fold, answer: _Answer) -> Result:
    y = fold.y[fold.test]
    return Result(
        dataset=fold.dataset,
        binning=fold.binning,
        model=answer.model,
        trial=fold.trial,
        fold=fold.number,
        n_train=len(fold.train),
        n_test=len(fold.test),
        nodes=answer.nodes,
        accuracy=scoring.accuracy(y, answer.proba),
        log_loss=scoring.log_loss(y, answer.proba),
        brier=scoring.brier(y, answer.proba),
        fit_seconds=answer.fit_seconds,
        predict_seconds=answer.predict_seconds,
        y=y,
        proba=answer.proba,
    )


def _ask_cart(fold: Fold) -> _Answer:
    model = DecisionTreeClassifier(random_state=fold.trial)
    return _ask_greedy("CART", model, fold, lambda: model.tree_.node_count)


def _ask_forest(fold: Fold) -> _Answer:
    model = RandomForestClassifier(random_state=fold.trial, n_jobs=1)
    return _ask_greedy("random forest", model, fold, lambda: sum(t.tree_.node_count for t in model.estimators_))


def _ask_greedy(name: Model, model: Any, fold: Fold, count_nodes: Callable[[], int]) -> _Answer:
    train, test = within_fold(fold.X[fold.train], fold.X[fold.test], fold.binning, fold.max_bins)
    fit_seconds, _ = _timed(lambda: model.fit(train, fold.y[fold.train]))
    predict_seconds, proba = _timed(lambda: model.predict_proba(test))
    return _Answer(name, count_nodes(), fit_seconds, predict_seconds, proba)


def _ask_ours(fold: Fold) -> list[_Answer]:
    """Fit one posterior and ask it twice: its best tree, and all of its trees."""
    model = BayesianTreeClassifier(
        log_phi=LOG_PHI,
        max_bins=fold.max_bins,
        binning=grid_binning(fold.binning),
        max_memory=MAX_MEMORY,
        n_jobs=fold.n_threads,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DepthLimitedWarning)  # an error instead
        fit_seconds, _ = _timed(lambda: model.fit(fold.X[fold.train], fold.y[fold.train]))
    _check_holds_all_trees(fold, model)
    test = fold.X[fold.test]
    tree_seconds, by_best = _timed(lambda: model.set_params(predictor="map").predict_proba(test))
    ensemble_seconds, by_all = _timed(lambda: model.set_params(predictor="ensemble").predict_proba(test))
    return [
        _Answer("best tree", model.tree_.n_nodes, fit_seconds, tree_seconds, by_best),
        _Answer("ensemble", float("nan"), fit_seconds, ensemble_seconds, by_all),
    ]


def _check_holds_all_trees(fold: Fold, model: BayesianTreeClassifier) -> None:
    max_depth = model.posterior_.max_depth
    if max_depth is not None:
        raise MemoryBudgetError(
            f"{fold.dataset}, trial {fold.trial}, fold {fold.number}: {MAX_MEMORY} hold all trees up to depth "
            f"{max_depth} only; run it on fewer rows (quick=True)"
        )


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value
