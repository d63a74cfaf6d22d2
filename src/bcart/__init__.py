"""Exact Bayesian decision trees: the posterior over all trees, by dynamic programming."""

from importlib.metadata import version as _version

from bcart.cells import Cells
from bcart.errors import (
    BcartError,
    DepthLimitedWarning,
    InternalError,
    InvalidDataError,
    InvalidModelError,
    InvalidTypeError,
    MemoryBudgetError,
    TimeBudgetError,
)
from bcart.estimators import BayesianTreeClassifier
from bcart.graph import Family, Graph, Progress, build_graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf, LeafModel
from bcart.limits import Limits
from bcart.posterior import Posterior
from bcart.priors import LeafCountPrior, TreePrior
from bcart.tree import Tree

__version__ = _version("bcart")

__all__ = [
    "BayesianTreeClassifier",
    "BcartError",
    "Cells",
    "DepthLimitedWarning",
    "DirichletLeaf",
    "Family",
    "Graph",
    "Grid",
    "InternalError",
    "InvalidDataError",
    "InvalidModelError",
    "InvalidTypeError",
    "LeafCountPrior",
    "LeafModel",
    "Limits",
    "MemoryBudgetError",
    "Posterior",
    "Progress",
    "TimeBudgetError",
    "Tree",
    "TreePrior",
    "build_graph",
]
