"""Hypothesis strategies for problems so small that every tree can be listed. Importing this module needs hypothesis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from bcart.testing.boxes import FloatArray
from bcart.testing.enumeration import LeafName, PriorName

T = TypeVar("T")
Alpha: TypeAlias = float | tuple[float, ...]
WeightKind: TypeAlias = Literal["none", "integer", "fraction"]

# Few values make ties; neighbours differ in sign, scale and gap.
VALUES = (-1e6, -2.5, -1.0, -0.1, 0.0, 1 / 3, 0.5, 2.0, 3.75)
# Labels that are numbers, but never their own places in the sorted list.
LABELS = (-3.0, 2.5, 4.0, 7.0, 11.0)
UNSEEN_LABELS = (0.0, 1.0, 99.0)
FAR_OUTSIDE = (-1e9, 1e9)
WEIGHTS: dict[WeightKind, tuple[float, ...]] = {
    "none": (1.0,),
    "integer": (1.0, 2.0, 3.0, 0.0),
    # Their sums meet a minimum up to rounding or miss it by far, so that no test hangs on the last bit.
    "fraction": (1.0, 0.5, 0.25, 1 / 3, 0.1, 0.7, 2.7, 0.0),
}
# Most distinct rows for a number of features; no such problem has more than a few thousand trees.
MAX_CELLS = {1: 7, 2: 6, 3: 5, 4: 5}
# The same with labels or missing values, which divide a box in more ways. Were every bipartition a split, five cells
# would have 346 trees and six 3,797.
MAX_MIXED_CELLS = {1: 6, 2: 5, 3: 5, 4: 5}

# Most rows beyond the first of each distinct one.
MAX_REPEATS = 8

_N_FEATURES = st.sampled_from(tuple(MAX_CELLS))
_N_CLASSES = st.integers(2, 4)
_KINDS: SearchStrategy[WeightKind] = st.sampled_from(tuple(WEIGHTS))
_SOMETIMES = st.sampled_from((False, False, True))
_PRIORS: SearchStrategy[PriorName] = st.sampled_from(("leaf-count", "depth-decay"))
_LEAVES: SearchStrategy[LeafName] = st.sampled_from(("dirichlet", "normal", "poisson"))
_LOG_PHI = st.floats(-3.0, 6.0)
_SPLIT_ALPHA = st.floats(0.05, 0.99)
_SPLIT_BETA = st.floats(0.0, 3.0)
_ALPHA = st.floats(0.1, 5.0)
_MAX_DEPTH = st.none() | st.integers(1, 4)
# Leaning towards no restriction: small data leave few trees under a strict one.
_MIN_SAMPLES_LEAF = st.just(1) | st.integers(1, 3)
_MIN_SAMPLES_SPLIT = st.just(2) | st.integers(2, 5)
# Rounded, since targets that nearly agree make trees that are nearly tied.
_NUMBERS = st.sampled_from((0.0, 1.0, -1.0, 0.5, 7.25)) | st.floats(-5.0, 5.0).map(lambda number: round(number, 3))
_COUNTS = st.integers(0, 6)


class Settings(TypedDict, total=False):
    """Parameters of the model and the family, by the names that `enumerate_posterior` takes."""

    nominal: tuple[int, ...]
    prior: PriorName
    log_phi: float
    split_alpha: float
    split_beta: float
    leaf: LeafName
    alpha: Alpha
    prior_mean: float
    prior_weight: float
    noise_shape: float
    noise_scale: float
    max_depth: int | None
    min_samples_leaf: int
    min_samples_split: int


PRIOR_SETTINGS: dict[PriorName, tuple[str, ...]] = {
    "leaf-count": ("log_phi",),
    "depth-decay": ("split_alpha", "split_beta"),
}
LEAF_SETTINGS: dict[LeafName, tuple[str, ...]] = {
    "dirichlet": ("alpha",),
    "normal": ("prior_mean", "prior_weight", "noise_shape", "noise_scale"),
    "poisson": ("prior_mean", "prior_weight"),
}
_OTHER_SETTINGS = ("nominal", "prior", "leaf", "max_depth", "min_samples_leaf", "min_samples_split")


@dataclass(frozen=True, eq=False)
class Problem:
    """Data and settings of one posterior; at least one row has a positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from bcart.testing import enumerate_posterior
    >>> from bcart.testing.strategies import Problem
    >>> problem = Problem(X=np.array([[0.0], [1.0]]), y=np.array([0, 1]), max_depth=1)
    >>> posterior = enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **problem.settings)
    >>> posterior.n_trees
    2
    """

    X: FloatArray
    y: npt.NDArray[Any]
    sample_weight: FloatArray | None = None
    nominal: tuple[int, ...] = ()
    prior: PriorName = "leaf-count"
    log_phi: float = 2.0
    split_alpha: float = 0.95
    split_beta: float = 2.0
    leaf: LeafName = "dirichlet"
    alpha: Alpha = 1.0
    prior_mean: float = 0.0
    prior_weight: float = 1.0
    noise_shape: float = 2.0
    noise_scale: float = 1.0
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    is_folded: bool = False  # how the library is to keep its graph, if depth is limited; trees do not depend on it

    @property
    def settings(self) -> Settings:
        """Everything but the data, as keyword arguments: those that the prior and the leaves look at."""
        names = (*_OTHER_SETTINGS, *PRIOR_SETTINGS[self.prior], *LEAF_SETTINGS[self.leaf])
        chosen: Any = {name: getattr(self, name) for name in names}
        settings: Settings = chosen
        return settings

    @property
    def weights(self) -> FloatArray:
        """The weight of each row, 1 where none are given."""
        return np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight


@st.composite
def problems(
    draw: DrawFn,
    *,
    n_features: SearchStrategy[int] = _N_FEATURES,
    n_classes: SearchStrategy[int] = _N_CLASSES,
    weights: SearchStrategy[WeightKind] = _KINDS,
    nominal: SearchStrategy[bool] = _SOMETIMES,
    missing: SearchStrategy[bool] = _SOMETIMES,
    prior: SearchStrategy[PriorName] = _PRIORS,
    log_phi: SearchStrategy[float] = _LOG_PHI,
    split_alpha: SearchStrategy[float] = _SPLIT_ALPHA,
    split_beta: SearchStrategy[float] = _SPLIT_BETA,
    leaf: SearchStrategy[LeafName] = _LEAVES,
    alpha: SearchStrategy[float] = _ALPHA,
    max_depth: SearchStrategy[int | None] = _MAX_DEPTH,
    min_samples_leaf: SearchStrategy[int] = _MIN_SAMPLES_LEAF,
    min_samples_split: SearchStrategy[int] = _MIN_SAMPLES_SPLIT,
) -> Problem:
    """Draw a small `Problem`: ties, duplicate rows, conflicting targets and absent rows are common.

    Parameters
    ----------
    n_features, n_classes : strategies of int
        At most 4 features; not every class need occur.
    weights : strategy of {"none", "integer", "fraction"}
        Whether rows have no weights, or weights from `WEIGHTS`, which may be 0.
    nominal, missing : strategies of bool
        Drawn for each column: whether its numbers are labels, and whether values may be missing.
    prior, log_phi, split_alpha, split_beta, leaf, max_depth, min_samples_leaf, min_samples_split : strategies
        Settings of the problem; ``st.just(value)`` fixes one.
    alpha : strategy of float
        Draws the one number for all classes, or each number of a tuple with one for each class that is present.

    Examples
    --------
    >>> from hypothesis import given, settings, strategies as st
    >>> from bcart.testing.strategies import problems
    >>> @settings(max_examples=5, database=None)
    ... @given(problems(leaf=st.just("dirichlet"), missing=st.just(False), max_depth=st.just(2)))
    ... def check(problem):
    ...     assert problem.max_depth == 2
    >>> check()
    """
    are_nominal = draw(_lists_of(draw(n_features), nominal))
    cells = _draw_cells(draw, are_nominal, draw(_lists_of(len(are_nominal), missing)))
    rows = draw(st.permutations(cells + draw(st.lists(st.sampled_from(cells), max_size=MAX_REPEATS))))
    kind = draw(weights)
    row_weights = draw(_lists_of(len(rows), st.sampled_from(WEIGHTS[kind])).filter(any))
    leaf_name = draw(leaf)
    targets = draw(_lists_of(len(rows), _targets(leaf_name, draw(n_classes))))
    n_present = len({target for target, weight in zip(targets, row_weights, strict=True) if weight > 0})
    return Problem(
        X=np.array(rows, dtype=np.float64),
        y=np.array(targets),
        sample_weight=None if kind == "none" else np.array(row_weights, dtype=np.float64),
        nominal=tuple(column for column, is_nominal in enumerate(are_nominal) if is_nominal),
        prior=draw(prior),
        log_phi=draw(log_phi),
        split_alpha=draw(split_alpha),
        split_beta=draw(split_beta),
        leaf=leaf_name,
        alpha=draw(alpha | st.tuples(*[alpha] * n_present)) if leaf_name == "dirichlet" else 1.0,
        max_depth=draw(max_depth),
        min_samples_leaf=draw(min_samples_leaf),
        min_samples_split=draw(min_samples_split),
        is_folded=draw(st.booleans()),
        **_draw_regression(draw, leaf_name),
    )


@st.composite
def queries(draw: DrawFn, problem: Problem, *, max_rows: int = 6) -> FloatArray:
    """Draw rows to ask about: of the training data, in gaps, at thresholds, far outside, missing, of unseen labels.

    Parameters
    ----------
    problem : Problem
    max_rows : int

    Examples
    --------
    >>> from hypothesis import given, settings, strategies as st
    >>> from bcart.testing.strategies import problems, queries
    >>> @settings(max_examples=5, database=None)
    ... @given(st.data())
    ... def check(data):
    ...     problem = data.draw(problems())
    ...     assert data.draw(queries(problem)).shape[1] == problem.X.shape[1]
    >>> check()
    """
    columns = [_queries_of(column, index in problem.nominal) for index, column in enumerate(problem.X.T)]
    seen = st.sampled_from([tuple(row) for row in problem.X.tolist()])
    return np.array(draw(st.lists(seen | st.tuples(*columns), min_size=1, max_size=max_rows)))


def _queries_of(column: FloatArray, is_nominal: bool) -> SearchStrategy[float]:
    """Draw values that a column has, and others."""
    seen = np.unique(column[~np.isnan(column)]).tolist()
    if is_nominal:
        return st.sampled_from([*seen, *UNSEEN_LABELS, math.nan])
    # Any two values may be neighbours in some box, and its threshold lies halfway between them.
    halves = [low / 2 + high / 2 for low, high in combinations(seen, 2)]
    beside = [math.nextafter(half, -math.inf) for half in halves]
    return st.sampled_from([*seen, *halves, *beside, *FAR_OUTSIDE, math.nan])


def _draw_cells(draw: DrawFn, are_nominal: list[bool], have_missing: list[bool]) -> list[tuple[float, ...]]:
    """Draw the distinct rows of a problem, from a few values a feature."""
    columns = [
        draw(_column(is_nominal)) + [math.nan] * has_missing
        for is_nominal, has_missing in zip(are_nominal, have_missing, strict=True)
    ]
    grid = list(product(*columns))
    is_mixed = any(are_nominal) or any(have_missing)
    most = min(len(grid), (MAX_MIXED_CELLS if is_mixed else MAX_CELLS)[len(columns)])
    # Hypothesis leans towards small numbers, which make few trees; the second range leans against it.
    n_cells = draw(st.integers(1, most) | st.integers((most + 1) // 2, most) | st.just(most))
    return draw(_lists_of(n_cells, st.sampled_from(grid), unique=True))


def _column(is_nominal: bool) -> SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(LABELS if is_nominal else VALUES), min_size=2, max_size=7, unique=True)


def _targets(leaf: LeafName, n_classes: int) -> SearchStrategy[Any]:
    return {"dirichlet": st.integers(0, n_classes - 1), "normal": _NUMBERS, "poisson": _COUNTS}[leaf]


def _draw_regression(draw: DrawFn, leaf: LeafName) -> dict[str, Any]:
    """Draw the prior of a mean or rate, and of the noise; a small shape leaves light leaves without a variance."""
    if leaf == "dirichlet":
        return {}
    mean_and_weight = {
        "prior_mean": draw(st.floats(-2.0, 2.0) if leaf == "normal" else st.floats(0.25, 4.0)),
        "prior_weight": draw(st.floats(0.1, 5.0)),
    }
    if leaf == "poisson":
        return mean_and_weight
    return {**mean_and_weight, "noise_shape": draw(st.floats(0.4, 4.0)), "noise_scale": draw(st.floats(0.1, 4.0))}


def _lists_of(length: int, elements: SearchStrategy[T], *, unique: bool = False) -> SearchStrategy[list[T]]:
    return st.lists(elements, min_size=length, max_size=length, unique=unique)
