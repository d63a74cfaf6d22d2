"""One small problem, answered by the library and by listing every tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.graph import build_graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf, LeafModel, NormalLeaf, PoissonLeaf
from bcart.limits import Limits
from bcart.listing import Family
from bcart.parse import FloatArray
from bcart.posterior import Posterior
from bcart.priors import choose_prior
from bcart.testing.answers import EnumeratedPosterior
from bcart.testing.enumeration import enumerate_posterior
from bcart.testing.strategies import Problem


def compute(problem: Problem, n_jobs: int = 1, **changes: Any) -> Posterior:
    """Return the posterior of a problem by the library, from its parts.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem(X=np.array([[0.0], [1.0]]), y=np.array([0, 1]))
    >>> round(compute(problem).log_score, 9) == round(enumerate_all(problem).log_score, 9)
    True
    """
    problem = replace(problem, **changes)
    present = problem.weights > 0
    X, y, weights = problem.X[present], problem.y[present], problem.weights[present]
    grid = Grid.from_data(X, max_bins=10, categorical_features=problem.nominal, sample_weight=weights)
    leaf, statistics, classes = _leaf_of(problem, y, weights)
    cells = Cells.from_rows(grid.encode(X), statistics, weights, grid.kinds)
    family = Family(problem.max_depth, problem.min_samples_leaf, problem.min_samples_split)
    prior = choose_prior(problem.prior, problem.log_phi, problem.split_alpha, problem.split_beta)
    graph = build_graph(cells, family, Limits(n_jobs=n_jobs), folding="always" if problem.is_folded else "never")
    return Posterior(graph, leaf, prior, grid, classes, n_jobs)


def enumerate_all(problem: Problem, **changes: Any) -> EnumeratedPosterior:
    """Return the posterior of a problem by listing every tree."""
    problem = replace(problem, **changes)
    return enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **problem.settings)


def _leaf_of(
    problem: Problem, y: npt.NDArray[Any], weights: FloatArray
) -> tuple[LeafModel, FloatArray, npt.NDArray[Any] | None]:
    """Return the leaf model, the statistics of each row, and the classes."""
    if problem.leaf == "dirichlet":
        classes, places = np.unique(y, return_inverse=True)
        dirichlet = DirichletLeaf.for_classes(problem.alpha, len(classes))
        return dirichlet, dirichlet.statistics(places, len(classes)), classes
    if problem.leaf == "normal":
        noise = problem.noise_shape, problem.noise_scale
        center = float(np.average(y, weights=weights))
        normal = NormalLeaf(problem.prior_mean, problem.prior_weight, *noise, center)
        return normal, normal.statistics(y), None
    poisson = PoissonLeaf(problem.prior_weight * problem.prior_mean, problem.prior_weight)
    return poisson, poisson.statistics(y), None
