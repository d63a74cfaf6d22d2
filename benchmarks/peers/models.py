"""Each peer behind the same few methods, on one thread.

Classifiers have `fit(X, y)` and `proba(X)`, regressors `fit`, `mean(X)` and, where they know it, `log_density(X, y)`
and `interval(X)`; all have `n_leaves()` after `fit`, and `note`, which is what a reader should know of the last fit.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import bcart

SECONDS = 300  # of a fit, for those that take a limit; by the clock, hence far more than a busy machine needs
STREED_DEPTH, DL85_DEPTH, GOSDT_DEPTH = 4, 4, 3
LEVEL = 0.9
MAX_BINS = 10
N_DRAWS = 500
N_ALPHAS = 20
N_TREES_FOR_SIZE = 200


class Model:
    """What all share."""

    package = "scikit-learn"
    note = ""

    def prepare(self) -> None:
        """Import the package, so that no fit waits for it."""
        if self.package in MODULES:
            import_module(MODULES[self.package])


# -- scikit-learn ------------------------------------------------------------------------------------------------------


class Cart(Model):
    """A greedy tree at scikit-learn's defaults."""

    name = "CART"
    tree_type = DecisionTreeClassifier

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Grow until leaves are pure."""
        self.tree = self.tree_type(random_state=0).fit(X, y)

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return the frequencies of the classes in a row's leaf."""
        return self.tree.predict_proba(X)

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the mean of a row's leaf."""
        return self.tree.predict(X)

    def n_leaves(self) -> float:
        """Count the leaves."""
        return self.tree.get_n_leaves()


class PrunedCart(Cart):
    """A greedy tree with cost-complexity pruning; the strength has the best score in five inner folds."""

    name = "CART, pruned"
    scoring = "neg_brier_score"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Choose among the strengths at which the tree of all rows changes."""
        alphas = self.tree_type(random_state=0).cost_complexity_pruning_path(X, y).ccp_alphas
        alphas = np.unique(np.maximum(alphas, 0))
        chosen = alphas[np.unique(np.linspace(0, len(alphas) - 1, N_ALPHAS).round().astype(int))]
        search = GridSearchCV(self.tree_type(random_state=0), {"ccp_alpha": chosen}, scoring=self.scoring)
        self.tree = search.fit(X, y).best_estimator_


class Forest(Cart):
    """A random forest of 100 trees at scikit-learn's defaults."""

    name = "random forest"
    tree_type = RandomForestClassifier

    def n_leaves(self) -> float:
        """Count the leaves of all trees."""
        return sum(tree.get_n_leaves() for tree in self.tree.estimators_)


class RegressionCart(Cart):
    """The same for numbers."""

    tree_type = DecisionTreeRegressor


class PrunedRegressionCart(PrunedCart):
    """The same for numbers."""

    tree_type = DecisionTreeRegressor
    scoring = "neg_mean_squared_error"


class RegressionForest(Forest):
    """The same for numbers."""

    tree_type = RandomForestRegressor


# -- optimal trees -----------------------------------------------------------------------------------------------------


class Binary(Model):
    """What optimal trees see: one truth value for each cut between the bins that bcart has."""

    def encode(self, X: np.ndarray, is_new: bool = False) -> np.ndarray:
        """Return rows as truth values; the cuts are those of the rows to learn from."""
        if is_new:
            self.grid = bcart.Grid.from_data(X, MAX_BINS, "quantile")
        codes = self.grid.encode(X)
        cuts = [codes[:, [f]] <= np.arange(n - 1) for f, n in enumerate(self.grid.n_bins)]
        return np.hstack(cuts).astype(int)


class Streed(Binary):
    """The most accurate tree; its size is chosen by STreeD's own inner folds."""

    name, package = f"STreeD, depth {STREED_DEPTH}", "pystreed"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Search."""
        self.tree = self.new_tree().fit(self.encode(X, is_new=True), y)
        self.note = "" if self.tree.fit_result.is_optimal() else "not proved"

    def new_tree(self):
        """Return the estimator."""
        from pystreed import STreeDClassifier

        return STreeDClassifier(max_depth=STREED_DEPTH, time_limit=SECONDS, hyper_tune=True)

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return the frequencies of the classes in a row's leaf."""
        return self.tree.predict_proba(self.encode(X))

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the mean of a row's leaf."""
        return self.tree.predict(self.encode(X))

    def n_leaves(self) -> float:
        """Count the leaves."""
        return self.tree.get_n_leaves()


class RegressionStreed(Streed):
    """The tree of least squared error and cost of complexity, whose weight is chosen by inner folds."""

    def new_tree(self):
        """Return the estimator."""
        from pystreed import STreeDRegressor

        return STreeDRegressor(max_depth=STREED_DEPTH, time_limit=SECONDS, hyper_tune=True)


class Dl85(Binary):
    """The most accurate tree. Leaves may hold one row, as by default: with more asked for, pydl8.5 misses the best."""

    name, package = f"DL8.5, depth {DL85_DEPTH}", "pydl8.5"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Search, and count the classes in the leaves again: its own fit forgets them before its predict_proba asks."""
        from pydl85 import DL85Classifier

        codes = self.encode(X, is_new=True)
        self.tree = DL85Classifier(max_depth=DL85_DEPTH, time_limit=SECONDS).fit(codes, y)
        self.tree.add_transactions_and_proba(codes, y)
        self.tree.remove_transactions()
        self.note = "not proved" if self.tree.timeout_ else ""

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return the frequencies of the classes in a row's leaf."""
        return self.tree.predict_proba(self.encode(X))

    def n_leaves(self) -> float:
        """Count the leaves: one more than splits."""
        return (self.tree.get_nodes_count() + 1) // 2


class Gosdt(Binary):
    """The tree of least error and one hundredth (or a row) a leaf. Its probabilities are 0 or 1: it gives no others."""

    name, package = f"GOSDT, depth {GOSDT_DEPTH}", "gosdt"

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Search."""
        from gosdt import GOSDTClassifier

        cost = max(0.01, 1 / len(y))  # less than a row is refused
        self.tree = GOSDTClassifier(regularization=cost, depth_budget=GOSDT_DEPTH, time_limit=SECONDS)
        try:
            self.tree.fit(self.encode(X, is_new=True).astype(bool), y)
            self.note = ""
        except TimeoutError:
            self.note = "not proved"

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return 1 for the class of a row's leaf."""
        return self.tree.predict_proba(self.encode(X).astype(bool))

    def n_leaves(self) -> float:
        """Count the leaves."""
        return str(self.tree.trees_[0]).count("prediction")


# -- BART --------------------------------------------------------------------------------------------------------------


class Bart(Model):
    """Sums of 200 trees at stochtree's defaults: ten steps of growing, then 500 draws; one against the rest."""

    name, package = "BART", "stochtree"
    outcome = ("binary", "probit")

    def sample(self, X: np.ndarray, y: np.ndarray):
        """Draw from the posterior."""
        from stochtree import BARTModel, OutcomeModel

        model = BARTModel()
        warnings.filterwarnings("ignore", "Global error variance will not be sampled")  # as it should not, for classes
        general = {"random_seed": 1, "num_threads": 1, "outcome_model": OutcomeModel(*self.outcome)}
        model.sample(X, y.astype(float), num_gfr=10, num_mcmc=N_DRAWS, general_params=general)
        return model

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Draw for each class but, if there are two, the first."""
        self.classes = np.unique(y)
        self.models = [self.sample(X, y == k) for k in (self.classes if len(self.classes) > 2 else self.classes[1:])]

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return the mean probability over the draws."""
        each = [model.predict(X, type="mean", terms="y_hat", scale="probability") for model in self.models]
        columns = np.column_stack(each if len(each) > 1 else [1 - each[0], each[0]])
        return columns / columns.sum(axis=1, keepdims=True)

    def n_leaves(self) -> float:
        """Count the leaves of all trees of the last draw."""
        return sum(model.forest_container_mean.num_forest_leaves(N_DRAWS - 1) for model in self.models)


class RegressionBart(Bart):
    """The same for numbers."""

    outcome = ("continuous", "identity")

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Draw."""
        self.models = [self.sample(X, y)]

    def means(self, X: np.ndarray) -> np.ndarray:
        """Return the means, one column a draw."""
        return self.models[0].predict(X, terms="y_hat")

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the mean over the draws."""
        return self.means(X).mean(axis=1)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the log of the mean density over the draws."""
        noise = np.sqrt(self.models[0].global_var_samples)
        return logsumexp(norm.logpdf(y[:, None], self.means(X), noise), axis=1) - np.log(len(noise))

    def interval(self, X: np.ndarray) -> np.ndarray:
        """Return quantiles of one target for each draw."""
        noise = np.sqrt(self.models[0].global_var_samples)
        means = self.means(X)
        targets = means + noise * np.random.default_rng(0).standard_normal(means.shape)
        return np.quantile(targets, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=1).T


# -- bcart -------------------------------------------------------------------------------------------------------------


class Exact(Model):
    """bcart at its defaults, but for the depth and, unless said otherwise, bins of equal weight."""

    package = "bcart"
    estimator = bcart.BayesianTreeClassifier

    def __init__(self, name: str, max_depth: int | None, binning: str = "quantile", predictor: str = "ensemble"):
        self.name = name
        self.options = {"max_depth": max_depth, "binning": binning, "predictor": predictor, "n_jobs": 1}

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Compute the posterior, and the sweep that the first prediction needs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
            self.model = self.estimator(max_bins=MAX_BINS, **self.options).fit(X, y)
        depth = self.model.posterior_.max_depth
        self.note = "all trees" if depth is None else f"depth {depth}"

    def proba(self, X: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes."""
        return self.model.predict_proba(X)

    def n_leaves(self) -> float:
        """Count the leaves of the best tree, or their mean over random trees."""
        if self.options["predictor"] == "map":
            return self.model.tree_.n_leaves
        trees = self.model.posterior_.sample(N_TREES_FOR_SIZE, random_state=0)
        return float(np.mean([tree.n_leaves for tree in trees]))


class RegressionExact(Exact):
    """The same for numbers."""

    estimator = bcart.BayesianTreeRegressor

    def mean(self, X: np.ndarray) -> np.ndarray:
        """Return the expected target."""
        return self.model.predict(X)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the log predictive density."""
        return self.model.posterior_.log_predictive(X, y, self.options["predictor"])

    def interval(self, X: np.ndarray) -> np.ndarray:
        """Return the central predictive interval."""
        return self.model.predict_interval(X, LEVEL)


OURS = {
    "bcart, all trees": {},
    "bcart, all trees, uniform bins": {"binning": "uniform"},
    "bcart, best tree": {"predictor": "map"},
}
PEERS = {
    False: (Cart, PrunedCart, Forest, Streed, Dl85, Gosdt, Bart),
    True: (RegressionCart, PrunedRegressionCart, RegressionForest, RegressionStreed, RegressionBart),
}
MODULES = {"pystreed": "pystreed", "pydl8.5": "pydl85", "gosdt": "gosdt", "stochtree": "stochtree"}


def missing_packages() -> list[str]:
    """Return the peers that are not installed."""
    return [package for package, module in MODULES.items() if find_spec(module) is None]


def models_for(is_regression: bool, max_depth: int | None) -> list[Model]:
    """Return all models that are installed; ours first."""
    absent = missing_packages()
    ours = RegressionExact if is_regression else Exact
    mine = [ours(name, max_depth, **options) for name, options in OURS.items()]
    return mine + [peer() for peer in PEERS[is_regression] if peer.package not in absent]
