"""Exact Bayesian decision trees: the posterior over all trees, by dynamic programming."""

from importlib.metadata import version as _version

from bcart.answers import Paths, Uncertainty
from bcart.cells import Cells
from bcart.cost import Cost, CostEstimate, estimate_cost
from bcart.errors import (
    BcartError,
    DepthLimitedWarning,
    FormatError,
    InternalError,
    InvalidDataError,
    InvalidModelError,
    InvalidTypeError,
    MemoryBudgetError,
    TimeBudgetError,
)
from bcart.estimators import BayesianTreeClassifier, BayesianTreeRegressor
from bcart.grammar import Grammar, Rule, Symbol, Terminal
from bcart.graph import Graph, Progress, build_graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf, LeafModel, NormalLeaf, PoissonLeaf
from bcart.limits import Limits
from bcart.listing import Family
from bcart.posterior import Posterior
from bcart.priors import DepthDecayPrior, LeafCountPrior, TreePrior
from bcart.storage import SavedModel, load_model, save_model
from bcart.tree import Tree

__version__ = _version("bcart")

__all__ = [
    "BayesianTreeClassifier",
    "BayesianTreeRegressor",
    "BcartError",
    "Cells",
    "Cost",
    "CostEstimate",
    "DepthDecayPrior",
    "DepthLimitedWarning",
    "DirichletLeaf",
    "Family",
    "FormatError",
    "Grammar",
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
    "NormalLeaf",
    "Paths",
    "PoissonLeaf",
    "Posterior",
    "Progress",
    "Rule",
    "SavedModel",
    "Symbol",
    "Terminal",
    "TimeBudgetError",
    "Tree",
    "TreePrior",
    "Uncertainty",
    "build_graph",
    "estimate_cost",
    "load_model",
    "save_model",
]
