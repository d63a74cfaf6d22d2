"""Hypothesis strategies for problems so small that every tree can be listed. Importing this module needs hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from bcart.testing.enumeration import FloatArray

T = TypeVar("T")
Alpha: TypeAlias = float | tuple[float, ...]
WeightKind: TypeAlias = Literal["none", "integer", "fraction"]

# Few values make ties; neighbours differ in sign, scale and gap.
VALUES = (-1e6, -2.5, -1.0, -0.1, 0.0, 1 / 3, 0.5, 2.0, 3.75)
WEIGHTS: dict[WeightKind, tuple[float, ...]] = {
    "none": (1.0,),
    "integer": (1.0, 2.0, 3.0, 0.0),
    # Their sums meet a minimum up to rounding or miss it by far, so that no test hangs on the last bit.
    "fraction": (1.0, 0.5, 0.25, 1 / 3, 0.1, 0.7, 2.7, 0.0),
}
# Most distinct rows for a number of features; no such problem has more than a few thousand trees.
MAX_CELLS = {1: 7, 2: 6, 3: 5, 4: 5}

# Most rows beyond the first of each distinct one.
MAX_REPEATS = 8

_N_FEATURES = st.sampled_from(tuple(MAX_CELLS))
_N_CLASSES = st.integers(2, 4)
_KINDS: SearchStrategy[WeightKind] = st.sampled_from(tuple(WEIGHTS))
_LOG_PHI = st.floats(-3.0, 6.0)
_ALPHA = st.floats(0.1, 5.0)
_MAX_DEPTH = st.none() | st.integers(1, 4)
# Leaning towards no restriction: small data leave few trees under a strict one.
_MIN_SAMPLES_LEAF = st.just(1) | st.integers(1, 3)
_MIN_SAMPLES_SPLIT = st.just(2) | st.integers(2, 5)


class Settings(TypedDict):
    """Parameters of the model and the family, by the names that both sides of a comparison take."""

    log_phi: float
    alpha: Alpha
    max_depth: int | None
    min_samples_leaf: int
    min_samples_split: int


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
    y: npt.NDArray[np.int64]
    sample_weight: FloatArray | None = None
    log_phi: float = 2.0
    alpha: Alpha = 1.0
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2

    @property
    def settings(self) -> Settings:
        """Everything but the data, as keyword arguments."""
        return Settings(
            log_phi=self.log_phi,
            alpha=self.alpha,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
        )


@st.composite
def problems(
    draw: DrawFn,
    *,
    n_features: SearchStrategy[int] = _N_FEATURES,
    n_classes: SearchStrategy[int] = _N_CLASSES,
    weights: SearchStrategy[WeightKind] = _KINDS,
    log_phi: SearchStrategy[float] = _LOG_PHI,
    alpha: SearchStrategy[float] = _ALPHA,
    max_depth: SearchStrategy[int | None] = _MAX_DEPTH,
    min_samples_leaf: SearchStrategy[int] = _MIN_SAMPLES_LEAF,
    min_samples_split: SearchStrategy[int] = _MIN_SAMPLES_SPLIT,
) -> Problem:
    """Draw a small `Problem`: ties, duplicate rows, conflicting labels and absent rows are common.

    Parameters
    ----------
    n_features, n_classes : strategies of int
        At most 4 features; not every class need occur.
    weights : strategy of {"none", "integer", "fraction"}
        Whether rows have no weights, or weights from `WEIGHTS`, which may be 0.
    log_phi, max_depth, min_samples_leaf, min_samples_split : strategies
        Settings of the problem; ``st.just(value)`` fixes one.
    alpha : strategy of float
        Draws the one number for all classes, or each number of a tuple with one for each class that is present.

    Examples
    --------
    >>> from hypothesis import given, settings, strategies as st
    >>> from bcart.testing.strategies import problems
    >>> @settings(max_examples=5, database=None)
    ... @given(problems(max_depth=st.just(2)))
    ... def check(problem):
    ...     assert problem.max_depth == 2
    >>> check()
    """
    cells = _draw_cells(draw, draw(n_features))
    rows = draw(st.permutations(cells + draw(st.lists(st.sampled_from(cells), max_size=MAX_REPEATS))))
    labels = draw(_lists_of(len(rows), st.integers(0, draw(n_classes) - 1)))
    kind = draw(weights)
    row_weights = draw(_lists_of(len(rows), st.sampled_from(WEIGHTS[kind])).filter(any))
    n_present = len({label for label, weight in zip(labels, row_weights, strict=True) if weight > 0})
    return Problem(
        X=np.array(rows, dtype=np.float64),
        y=np.array(labels, dtype=np.int64),
        sample_weight=None if kind == "none" else np.array(row_weights, dtype=np.float64),
        log_phi=draw(log_phi),
        alpha=draw(alpha | st.tuples(*[alpha] * n_present)),
        max_depth=draw(max_depth),
        min_samples_leaf=draw(min_samples_leaf),
        min_samples_split=draw(min_samples_split),
    )


def _draw_cells(draw: DrawFn, n_features: int) -> list[tuple[float, ...]]:
    """Draw the distinct rows of a problem, from a few values a feature."""
    columns = draw(_lists_of(n_features, st.lists(st.sampled_from(VALUES), min_size=2, max_size=7, unique=True)))
    grid = list(product(*columns))
    most = min(len(grid), MAX_CELLS[n_features])
    # Hypothesis leans towards small numbers, which make few trees; the second range leans against it.
    n_cells = draw(st.integers(1, most) | st.integers((most + 1) // 2, most) | st.just(most))
    return draw(_lists_of(n_cells, st.sampled_from(grid), unique=True))


def _lists_of(length: int, elements: SearchStrategy[T], *, unique: bool = False) -> SearchStrategy[list[T]]:
    return st.lists(elements, min_size=length, max_size=length, unique=unique)
