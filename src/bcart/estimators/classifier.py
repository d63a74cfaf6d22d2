"""The classifier."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from bcart.cells import Cells
from bcart.deadline import steps
from bcart.estimators.base import AddUp, BayesianTree, _clearly
from bcart.grid import Binning
from bcart.leaves import DirichletLeaf, LeafModel
from bcart.limits import DEFAULT_MAX_MEMORY
from bcart.memory import within_memory
from bcart.parse import FloatArray
from bcart.priors import TreePrior
from bcart.tables import Nominal

_SAMPLE_SIZE = 1000


@within_memory()
class BayesianTreeClassifier(ClassifierMixin, BayesianTree):  # type: ignore[misc]
    """A classifier that knows the exact posterior over all decision trees.

    Parameters
    ----------
    log_phi : float
        Strength of the leaf-count prior: a tree weighs ``exp(-log_phi * leaves)``. Larger means smaller trees.
    alpha : float or sequence of float
        Pseudo-counts of the classes in every leaf, one for all or one each.
    max_bins : int
        Most bins a numeric feature is cut into, 2 to 255. One with no more distinct values keeps them all.
    binning : {"uniform", "quantile"}
        Bins of equal width or of about equal weight.
    max_depth : int or None
        Most tests on a way from the root to a leaf; None for no limit.
    min_samples_leaf, min_samples_split : float
        Least total weight of the rows in a leaf, and in a box that may be split.
    predictor : {"ensemble", "map"}
        What predicts: the average over all trees, weighed by their posterior probability; or the most probable tree.
    prior : {"leaf-count", "depth-decay"} or TreePrior
        Which prior over trees, see `LeafCountPrior` and `DepthDecayPrior`.
    split_alpha, split_beta : float
        Of the depth-decay prior: a box at depth t splits with probability ``split_alpha * (1 + t) ** -split_beta``.
    categorical_features : "from_dtype", or a list of column indices, column names or one truth value a column
        Which features are nominal, tested by ``x == label`` against the rest. By default those whose type in a data
        frame is text, categorical or enum.
    max_memory : int or str
        Bytes that a fit and its answers may take, such as ``"4GB"``. If all trees do not fit, the posterior is exact
        for trees up to the depth that does, and a `DepthLimitedWarning` says so.
    time_limit : float or None
        Seconds that `fit` may take; crossing it has the same consequence.
    n_jobs : int or None
        Threads; -1 for all cores, None for as many as are not taken by others (see `Limits`). Results do not depend
        on it.
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
    >>> probability, std = model.predict_proba(iris.data[:1], return_std=True)
    >>> probability.round(3), std.round(3)
    (array([[0.961, 0.02 , 0.02 ]]), array([[0.028, 0.02 , 0.02 ]]))
    """

    _is_regressor = False

    def __init__(
        self,
        log_phi: float = 2.0,
        alpha: float | Sequence[float] = 1.0,
        max_bins: int = 10,
        binning: Binning = "uniform",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_samples_split: float = 2,
        predictor: Literal["ensemble", "map"] = "ensemble",
        prior: Literal["leaf-count", "depth-decay"] | TreePrior = "leaf-count",
        split_alpha: float = 0.95,
        split_beta: float = 2.0,
        categorical_features: Nominal = "from_dtype",
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
        self.prior = prior
        self.split_alpha = split_alpha
        self.split_beta = split_beta
        self.categorical_features = categorical_features
        self.max_memory = max_memory
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> BayesianTreeClassifier:
        """Compute the posterior over all trees of the family.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow) of shape (n_rows, n_features)
            Numbers, booleans and labels; NaN, None and nulls are missing values.
        y : array of shape (n_rows,)
            Class labels of any kind.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, one of weight 0 as none.
        """
        with self._unchanged_by_failure():
            self._fit_posterior(X, y, sample_weight)
        self.classes_ = self.posterior_.classes
        return self

    def _leaf_for(self, targets: Any, weights: FloatArray) -> tuple[LeafModel, AddUp, Any]:
        classes, places = _number_labels(targets)
        leaf = DirichletLeaf.for_classes(self.alpha, len(classes))
        return leaf, partial(Cells.from_labels, labels=places, n_labels=len(classes)), classes

    def predict_proba(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the probability of each class (in the order of `classes_`) for each row.

        With ``return_std=True``, return also the posterior standard deviation of each probability: how far it may
        still move as data come in. The default keeps the form that scikit-learn expects. Intervals, and where the
        uncertainty comes from, are told by `uncertainty`.
        """
        X = self._queries(X)
        if not return_std:
            return self.posterior_.expected_output(X, self.predictor)
        sure = self.posterior_.uncertainty(X, None, self.predictor)
        return sure.mean, sure.std

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row, the first of equals."""
        X = self._queries(X)
        return self.posterior_.predict(X, self.predictor)

    def score(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the share of rows, by weight, whose class is predicted."""
        return float(super().score(X, y, sample_weight))


def _number_labels(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.integer]]:
    """Return the distinct labels in ascending order, and the place of each label among them.

    What is no label is refused.
    """
    if labels.dtype.kind not in "biufUS":
        _clearly(lambda: check_classification_targets(labels))
        return np.unique(labels, return_inverse=True)
    classes, places = _number_few(labels) or _number_many(labels)
    size = min(len(labels), 3 * len(classes))  # more of the same labels tell scikit-learn nothing new
    _clearly(lambda: check_classification_targets(np.resize(classes, size)))
    return classes, places


def _number_few(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]] | None:
    """Return what `_number_labels` does, or None if there are many distinct ones.

    To look up labels among few is several times faster than to sort them all. The few are those of a sample; if some
    labels are not among them, a sample of these is added.
    """
    places, unknown = np.zeros(len(labels), dtype=np.uint8), labels
    classes = labels[:0]
    while len(unknown):
        classes = np.union1d(classes, unknown[:: 1 + len(unknown) // _SAMPLE_SIZE])
        if len(classes) > np.iinfo(places.dtype).max:
            return None
        left = []
        for rows in steps(len(labels)):
            here = labels[rows]
            places[rows] = found = np.minimum(np.searchsorted(classes, here), len(classes) - 1)
            left.append(here[classes[found] != here])
        unknown = np.concatenate(left)
    return classes, places


def _number_many(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    classes = np.unique(np.concatenate([np.unique(labels[rows]) for rows in steps(len(labels))]))
    places = np.empty(len(labels), dtype=np.intp)
    for rows in steps(len(labels)):
        places[rows] = np.searchsorted(classes, labels[rows])
    return classes, places
