"""What the estimators share: reading tables as scikit-learn does, and the way from a table to a posterior."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from bcart import _core
from bcart.answers import Uncertainty
from bcart.cells import Cells
from bcart.deadline import DeadlinePassed, ending_in
from bcart.errors import InvalidDataError, InvalidTypeError, TimeBudgetError
from bcart.estimators.progress import ProgressLine
from bcart.graph import build_graph
from bcart.grid import Grid
from bcart.leaves import LeafModel
from bcart.limits import Limits
from bcart.listing import Family
from bcart.memory import within_memory
from bcart.parse import FloatArray, as_column, as_weights, plain_labels, present_rows
from bcart.posterior import Posterior
from bcart.priors import choose_prior
from bcart.rows import as_predictor
from bcart.tables import Table, column_names, is_frame, is_pandas, read_table, unmasked
from bcart.tree import Tree

AddUp = Callable[..., Cells]


@within_memory()
class BayesianTree(BaseEstimator):  # type: ignore[misc]
    """The common part of classifier and regressor; see there for the parameters."""

    posterior_: Posterior
    tree_: Tree
    _is_regressor: ClassVar[bool]

    def _leaf_for(self, targets: Any, weights: FloatArray) -> tuple[LeafModel, AddUp, Any]:
        """Return the leaf model for some targets, how rows of codes add up to cells, and the classes if there are."""
        raise NotImplementedError

    def _fit_posterior(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Compute the posterior over all trees of the family."""
        since = time.monotonic()
        as_predictor(self.predictor)
        prior = choose_prior(self.prior, self.log_phi, self.split_alpha, self.split_beta)
        family = Family(self.max_depth, self.min_samples_leaf, self.min_samples_split)
        limits = Limits(self.max_memory, self.time_limit, self.n_jobs)
        with _in_time(limits, y):
            cells, leaf, grid, classes = self._read(X, y, sample_weight, limits)
        left = limits.after(since).beside(cells.n_bytes)
        with ProgressLine() as progress:
            graph = build_graph(cells, family, left, progress if self.verbose else None)
        self.posterior_ = Posterior(graph, leaf, prior, grid, classes, self.n_jobs)
        self.tree_ = self.posterior_.map_tree()

    def _read(self, X: Any, y: Any, sample_weight: Any, limits: Limits) -> tuple[Cells, LeafModel, Grid, Any]:
        """Return all that is kept of the rows: their cells, with the leaf model, the grid, and the classes."""
        table, targets, weights = self._training_data(X, y, sample_weight)
        leaf, add_up, classes = self._leaf_for(targets, weights)
        grid = Grid.from_table(table, self.max_bins, self.binning, weights, limits.n_workers)
        codes = grid.encode_table(table, limits.n_workers)
        settings = {"kinds": grid.kinds, "n_jobs": self.n_jobs, "max_memory": limits.n_bytes}
        return add_up(codes, sample_weight=weights, **settings), leaf, grid, classes

    @contextmanager
    def _unchanged_by_failure(self) -> Iterator[None]:
        """Forget all that a fit has found if it ends with an error."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Table, npt.NDArray[Any], FloatArray]:
        """Check the data and leave out rows of weight zero."""
        X, targets = self._validated(X, y)
        table = read_table(X, self.categorical_features, getattr(self, "feature_names_in_", None))
        weights = as_weights(sample_weight, table.n_rows)
        present = present_rows(weights)
        if present is None:
            return table, targets, weights
        return table.take(present), targets[present], weights[present]

    def _validated(self, X: Any, y: Any) -> tuple[Any, npt.NDArray[Any]]:
        y = y if self._is_regressor else plain_labels(y)
        hint = _where_not_finite(y)
        if not is_frame(X):
            rules = {"dtype": None, "ensure_all_finite": False, "y_numeric": self._is_regressor}
            return _clearly(lambda: validate_data(self, _as_array(X), y, **rules), hint)  # type: ignore[no-any-return]
        if y is None:
            raise InvalidDataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self._check_frame(X, is_new=True)
        stand_in = np.zeros((len(X), 1))  # the frame itself need not be numbers
        return X, _clearly(lambda: check_X_y(stand_in, y, y_numeric=self._is_regressor), hint)[1]

    def _check_frame(self, X: Any, is_new: bool) -> None:
        """Keep, or compare, number and names of the columns: not every scikit-learn knows every kind of frame."""
        if is_pandas(X):
            _clearly(lambda: validate_data(self, X, reset=is_new, skip_check_array=True))
            return
        names = column_names(X)
        if is_new:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_") and names != list(self.feature_names_in_):
            raise InvalidDataError(
                f"The feature names should match those that were passed during fit: got {', '.join(names)}; give the "
                f"columns in the order {', '.join(self.feature_names_in_)}"
            )

    def _queries(self, X: Any) -> Any:
        """Check that rows to predict have the form of the training rows."""
        check_is_fitted(self)
        if is_frame(X):
            if len(X) == 0:
                raise InvalidDataError("X has no rows; give at least one to predict")
            self._check_frame(X, is_new=False)
            return X
        rules = {"dtype": None, "ensure_all_finite": False}
        return _clearly(lambda: validate_data(self, _as_array(X), reset=False, **rules))

    def uncertainty(self, X: Any, level: float | None = 0.95) -> Uncertainty:
        """Say how sure each prediction is: `Posterior.uncertainty` for the chosen predictor."""
        X = self._queries(X)
        return self.posterior_.uncertainty(X, level, self.predictor)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _as_array(X: Any) -> Any:
    """Return masked values as missing, and nested lists with text among the numbers as objects.

    scikit-learn would forget the mask, and numpy would turn all of the list into text.
    """
    X = unmasked(X)
    if not isinstance(X, (list, tuple)):
        return X
    try:
        return np.asarray(X, dtype=object) if np.asarray(X).dtype.kind in "US" else X
    except ValueError:
        return X


def _where_not_finite(y: Any) -> str:
    """Return what to say of a target that is not finite."""
    targets = as_column(y)
    if targets.dtype.kind != "f" or targets.ndim != 1 or np.isfinite(targets).all():
        return ""
    row = int(np.flatnonzero(~np.isfinite(targets))[0])
    return f" The first is {targets[row]} in row {row}; leave out rows without a finite target."


@contextmanager
def _in_time(limits: Limits, y: Any) -> Iterator[None]:
    """Let whatever passes over rows, before there are boxes to list, take the time of a fit and no more."""
    _core.limit_rows(limits.seconds)
    try:
        with ending_in(limits.seconds):
            yield
    except (DeadlinePassed, _core.DeadlinePassed):
        raise TimeBudgetError(
            f"reading {len(y):,} rows takes longer than time_limit={limits.time_limit:g} s; raise time_limit, or give "
            "fewer rows"
        ) from None
    finally:
        _core.limit_rows(None)


def _clearly(check: Callable[[], Any], hint: str = "") -> Any:
    """Run one of scikit-learn's checks, whose errors become ours, with a hint behind them."""
    try:
        return check()
    except TypeError as error:
        raise InvalidTypeError(f"{error}{hint}") from error
    except ValueError as error:
        raise InvalidDataError(f"{error}{hint}") from error
    except OverflowError as error:
        raise InvalidDataError(f"a number is too large: {error}{hint}") from error
