"""The regressor."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from bcart.cells import Cells
from bcart.estimators.base import AddUp, BayesianTree
from bcart.grid import Binning
from bcart.leaves import LeafModel, choose_leaf
from bcart.limits import DEFAULT_MAX_MEMORY
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_floats
from bcart.priors import TreePrior
from bcart.tables import Nominal


@within_memory()
class BayesianTreeRegressor(RegressorMixin, BayesianTree):  # type: ignore[misc]
    """A regressor that knows the exact posterior over all decision trees.

    Parameters
    ----------
    log_phi : float
        Strength of the leaf-count prior: a tree weighs ``exp(-log_phi * leaves)``. Larger means smaller trees.
    leaf : {"normal", "poisson"} or subclass of LeafModel
        Distribution of the target within a leaf: for numbers or for counts, see `NormalLeaf` and `PoissonLeaf`.
    prior_mean : float or None
        Expected mean of a leaf; None for the mean of all targets.
    prior_weight : float
        How many rows the prior mean counts for.
    noise_shape : float
        How sure the prior is of the noise within leaves (half as many rows as it counts for). Normal leaves only.
    noise_fraction : float
        Prior guess of that noise, as a fraction of the variance of all targets. Normal leaves only.
    max_bins : int
        Most bins a numeric feature is cut into, 2 to 255. One with no more distinct values keeps them all.
    binning : {"uniform", "quantile"}
        Bins of equal width or of about equal weight.
    max_depth : int or None
        Most tests on a way from the root to a leaf; None for no limit.
    min_samples_leaf, min_samples_split : float
        Least total weight of the rows in a leaf, and in a box that may be split.
    predictor, prior, split_alpha, split_beta, categorical_features
        As in `BayesianTreeClassifier`.
    max_memory, time_limit, n_jobs, random_state, verbose
        As in `BayesianTreeClassifier`.

    Attributes
    ----------
    posterior_ : Posterior
    tree_ : Tree
        The most probable tree.
    n_features_in_ : int
    feature_names_in_ : array of str
        If `X` had column names.

    Notes
    -----
    The defaults shift and scale with the targets: fitting ``a + b * y`` predicts ``a + b *`` the predictions for `y`.
    They were chosen by evidence and held-out predictive density on three tables, see ``benchmarks/README.md``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y = np.where(X[:, 0] < 20, 10.0, 20.0) + np.sin(7 * X[:, 0])
    >>> model = BayesianTreeRegressor().fit(X, y)
    >>> print(model.tree_)
    Tree with 2 leaves, depth 1, posterior probability 0.941
    x0 < 19.5
    ├─ yes: 10.0804 ± 0.845  (n = 20)
    └─ no:  20.0576 ± 0.857  (n = 20)
    >>> mean, std = model.predict([[3.0], [33.0]], return_std=True)
    >>> mean.round(2), std.round(2)
    (array([10.09, 20.06]), array([0.86, 0.86]))
    >>> model.predict_interval([[3.0], [33.0]], level=0.9).round(1).tolist()
    [[8.7, 11.5], [18.6, 21.5]]
    """

    _is_regressor = True

    def __init__(
        self,
        log_phi: float = 2.0,
        leaf: Literal["normal", "poisson"] | type = "normal",
        prior_mean: float | None = None,
        prior_weight: float = 0.1,
        noise_shape: float = 1.0,
        noise_fraction: float = 0.03,
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
        self.leaf = leaf
        self.prior_mean = prior_mean
        self.prior_weight = prior_weight
        self.noise_shape = noise_shape
        self.noise_fraction = noise_fraction
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

    def fit(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> BayesianTreeRegressor:
        """Compute the posterior over all trees of the family.

        Parameters
        ----------
        X : array or data frame (pandas, polars, pyarrow) of shape (n_rows, n_features)
            Numbers, booleans and labels; NaN, None and nulls are missing values.
        y : array of shape (n_rows,)
            Finite numbers.
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 counts as two rows, one of weight 0 as none.
        """
        with self._unchanged_by_failure():
            self._fit_posterior(X, y, sample_weight)
        return self

    def _leaf_for(self, targets: Any, weights: FloatArray) -> tuple[LeafModel, AddUp, Any]:
        targets = as_floats(targets, "y", copy=False)
        leaf = choose_leaf(self.leaf).for_targets(
            targets,
            weights,
            prior_mean=self.prior_mean,
            prior_weight=self.prior_weight,
            noise_shape=self.noise_shape,
            noise_fraction=self.noise_fraction,
        )
        return leaf, partial(Cells.from_rows, statistics=lambda rows: leaf.statistics(targets[rows])), None

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the expected target of each row; with ``return_std=True`` also its predictive standard deviation.

        The standard deviation is that of a new target: that of the mean (see `uncertainty`) and the noise together.
        """
        X = self._queries(X)
        sure = self.posterior_.uncertainty(X, None, self.predictor)
        return (sure.mean[:, 0], sure.predictive_std[:, 0]) if return_std else sure.mean[:, 0]

    def predict_interval(self, X: Any, level: float = 0.95) -> FloatArray:
        """Return the central interval that holds a new target of each row with probability `level`, two columns."""
        X = self._queries(X)
        return self.posterior_.predict_interval(X, level, self.predictor)

    def score(self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return R², the share of the variance of targets that predictions explain."""
        return float(super().score(X, y, sample_weight))
