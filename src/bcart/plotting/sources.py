"""What pictures are made of: a tree, a posterior, or an estimator that has them."""

from __future__ import annotations

from typing import Any

from bcart.errors import InvalidModelError
from bcart.posterior import Posterior
from bcart.rows import Predictor
from bcart.tree import Tree


def tree_of(source: Any) -> Tree:
    """Return the tree itself, or the most probable one of a posterior or a fitted estimator."""
    found = source.map_tree() if isinstance(source, Posterior) else getattr(source, "tree_", source)
    if not isinstance(found, Tree):
        raise InvalidModelError(_refusal(source, "a Tree, a Posterior or a fitted BayesianTree estimator"))
    return found


def posterior_of(source: Any) -> Posterior:
    """Return the posterior itself, or that of a fitted estimator."""
    found = getattr(source, "posterior_", source)
    if not isinstance(found, Posterior):
        raise InvalidModelError(_refusal(source, "a Posterior or a fitted BayesianTree estimator"))
    return found


def predictor_of(source: Any, predictor: Predictor | None) -> Predictor:
    """Return who predicts: as asked for, else as the estimator does, else all trees."""
    chosen: Predictor = getattr(source, "predictor", "ensemble") if predictor is None else predictor
    return chosen


def _refusal(source: Any, expected: str) -> str:
    name = type(source).__name__
    unfitted = "; call its fit first" if hasattr(source, "fit") else ""
    return f"got {name}, but the picture is one of {expected}{unfitted}"
