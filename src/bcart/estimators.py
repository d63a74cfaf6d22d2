"""scikit-learn estimators: they translate its conventions to a posterior, and nothing else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bcart.cells import Cells
from bcart.errors import InvalidDataError, InvalidModelError, InvalidTypeError
from bcart.graph import Family, Progress, build_graph
from bcart.grid import Binning, Grid
from bcart.leaves import DirichletLeaf
from bcart.limits import DEFAULT_MAX_MEMORY, Limits, format_bytes
from bcart.parse import FloatArray, as_table, as_weights, refuse_text
from bcart.posterior import Posterior
from bcart.priors import LeafCountPrior

_SHOW_AFTER = 0.5  # seconds: a shorter fit needs no progress


class BayesianTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows the exact posterior over all decision trees.

    Parameters
    ----------
    log_phi : float
        Strength of the prior: a tree weighs ``exp(-log_phi * leaves)``. Larger means smaller trees.
    alpha : float or sequence of float
        Pseudo-counts of the classes in every leaf, one for all or one each.
    max_bins : int
        Most bins a feature is cut into, 2 to 255. A feature with no more distinct values keeps them all.
    binning : {"uniform", "quantile"}
        Bins of equal width or of about equal weight.
    max_depth : int or None
        Most tests on a way from the root to a leaf; None for no limit.
    min_samples_leaf, min_samples_split : float
        Least total weight of the rows in a leaf, and in a box that may be split.
    predictor : {"map"}
        What predicts: the most probable tree.
    max_memory : int or str
        Bytes that the graph of boxes may take, such as ``"4GB"``. If all trees do not fit, the posterior is exact for
        trees up to the depth that does, and a `DepthLimitedWarning` says so.
    time_limit : float or None
        Seconds that building the graph may take; crossing it has the same consequence.
    n_jobs : int or None
        Threads; None or -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None
        Kept for the estimators' common interface; fitting and predicting are deterministic.
    verbose : int
        1 shows on stderr how far a long fit is.

    Attributes
    ----------
    posterior_ : Posterior
    tree_ : Tree
        The most probable tree.
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of str
        If `X` had column names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris(as_frame=True)
    >>> model = BayesianTreeClassifier().fit(iris.data, iris.target)
    >>> print(model.tree_)
    Tree with 4 leaves, depth 3, posterior probability 0.0122
    petal length (cm) < 2.45
    ├─ yes: 0  p=0.962  (0: 50, 1: 0, 2: 0; p = 0.962, 0.019, 0.019)
    └─ no:  petal width (cm) < 1.75
       ├─ yes: petal length (cm) < 5.15
       │  ├─ yes: 1  p=0.909  (0: 0, 1: 49, 2: 3; p = 0.018, 0.909, 0.073)
       │  └─ no:  2  p=0.600  (0: 0, 1: 0, 2: 2; p = 0.200, 0.200, 0.600)
       └─ no:  2  p=0.939  (0: 0, 1: 1, 2: 45; p = 0.020, 0.041, 0.939)
    """

    def __init__(
        self,
        log_phi: float = 2.0,
        alpha: float | Sequence[float] = 1.0,
        max_bins: int = 10,
        binning: Binning = "uniform",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        predictor: Literal["map"] = "map",
        max_memory: int | str = DEFAULT_MAX_MEMORY,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.log_phi = log_phi
        self.alpha = alpha
        self.max_bins = max_bins
        self.binning = binning
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.predictor = predictor
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> BayesianTreeClassifier:
        """Compute the posterior over all trees of the family.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            Finite numbers.
        y : array of shape (n_rows,)
            Class labels of any kind.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, one of weight 0 as none.
        """
        if self.predictor != "map":
            raise InvalidModelError(f"predictor={self.predictor!r} must be 'map'")
        prior = LeafCountPrior(self.log_phi)
        family = Family(self.max_depth, self.min_samples_leaf, self.min_samples_split)
        limits = Limits(self.max_memory, self.time_limit, self.n_jobs)
        rows, labels, weights = self._training_rows(X, y, sample_weight)
        self.classes_, labels = np.unique(labels, return_inverse=True)
        leaf = DirichletLeaf.for_classes(self.alpha, len(self.classes_))
        names = getattr(self, "feature_names_in_", None)
        grid = Grid.from_data(rows, self.max_bins, self.binning, feature_names=names, sample_weight=weights)
        cells = Cells.from_rows(grid.encode(rows), leaf.statistics(labels, len(self.classes_)), weights)
        with _ProgressLine() as progress:
            graph = build_graph(cells, family, limits, progress if self.verbose else None)
        self.posterior_ = Posterior(graph, leaf, prior, grid, self.classes_, self.n_jobs)
        self.tree_ = self.posterior_.map_tree()
        return self

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of each class (in the order of `classes_`) for each row."""
        check_is_fitted(self)
        return self.tree_.predict_proba(self._query_rows(X))

    def predict_log_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _training_rows(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None
    ) -> tuple[FloatArray, npt.NDArray[Any], FloatArray]:
        """Check the data; rows of weight zero are left out."""
        rows, labels = _clearly(lambda: validate_data(self, X, y, dtype=np.float64, ensure_all_finite=False), X)
        _clearly(lambda: check_classification_targets(labels))
        weights = as_weights(sample_weight, len(rows))
        present = weights > 0
        if not present.any():
            raise InvalidDataError("sample_weight is zero for every row; at least one must be positive")
        return as_table(rows[present], getattr(self, "feature_names_in_", None)), labels[present], weights[present]

    def _query_rows(self, X: npt.ArrayLike) -> FloatArray:
        rows = _clearly(lambda: validate_data(self, X, dtype=np.float64, ensure_all_finite=False, reset=False), X)
        return as_table(rows, getattr(self, "feature_names_in_", None))


def _clearly(check: Callable[[], Any], X: Any = None) -> Any:
    """Run one of scikit-learn's checks, whose errors become ours; text in a table `X` is told by its column."""
    try:
        return check()
    except TypeError as error:
        raise InvalidTypeError(str(error)) from error
    except ValueError as error:
        refuse_text(X)
        raise InvalidDataError(str(error)) from error


class _ProgressLine:
    """Keeps one line on stderr up to date, or writes a line for each depth where stderr is no terminal."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last_depth = -1
        self._is_open = False

    def __call__(self, progress: Progress) -> None:
        seconds = time.monotonic() - self._start
        is_terminal = sys.stderr.isatty()
        if seconds < _SHOW_AFTER or (not is_terminal and progress.depth == self._last_depth):
            return
        share = progress.n_expanded / max(1, progress.layer_size)
        text = (
            f"bcart: depth {progress.depth + 1} {share:4.0%}, {progress.n_boxes:,} boxes, "
            f"{progress.n_splits:,} splits, {format_bytes(progress.n_bytes)}, {seconds:.1f} s"
        )
        sys.stderr.write(f"\r{text}\033[K" if is_terminal else f"{text}\n")
        sys.stderr.flush()
        self._last_depth, self._is_open = progress.depth, is_terminal

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_open:
            sys.stderr.write("\n")
