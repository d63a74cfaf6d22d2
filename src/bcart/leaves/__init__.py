"""Conjugate families for the leaves, one file each."""

from typing import Any

from bcart.errors import InvalidModelError
from bcart.leaves.dirichlet import DirichletLeaf
from bcart.leaves.model import LeafModel, Targets, central_interval
from bcart.leaves.normal import NormalLeaf
from bcart.leaves.poisson import PoissonLeaf
from bcart.leaves.records import leaf_from_dict, leaf_to_dict

_FOR_REGRESSION = {leaf.family: leaf for leaf in (NormalLeaf, PoissonLeaf)}


def choose_leaf(leaf: Any) -> Any:
    """Return the family for regression that is given, or the one of that name."""
    if isinstance(leaf, str) and leaf in _FOR_REGRESSION:
        return _FOR_REGRESSION[leaf]
    if isinstance(leaf, type) and issubclass(leaf, LeafModel) and hasattr(leaf, "for_targets"):
        return leaf
    names = " or ".join(map(repr, _FOR_REGRESSION))
    raise InvalidModelError(f"leaf={leaf!r} must be {names}, or a LeafModel that has for_targets")


__all__ = [
    "DirichletLeaf",
    "LeafModel",
    "NormalLeaf",
    "PoissonLeaf",
    "Targets",
    "central_interval",
    "choose_leaf",
    "leaf_from_dict",
    "leaf_to_dict",
]
