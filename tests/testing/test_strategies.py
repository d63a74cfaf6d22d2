"""What the strategies draw: small problems of every kind, and every kind of query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from bcart.testing import EnumeratedPosterior, enumerate_posterior
from bcart.testing.strategies import UNSEEN_LABELS, Problem, problems, queries

UNTIL_FOUND = settings(max_examples=20_000, database=None, phases=[Phase.generate])


def enumerate_problem(problem: Problem) -> EnumeratedPosterior:
    return enumerate_posterior(problem.X, problem.y, sample_weight=problem.sample_weight, **problem.settings)


@settings(max_examples=300, deadline=None)
@given(problems())
def test_drawn_problems_stay_small(problem):
    assert enumerate_problem(problem).n_trees < 4_000


@settings(max_examples=100, deadline=None)
@given(
    problems(
        leaf=st.just("dirichlet"),
        prior=st.just("leaf-count"),
        missing=st.just(False),
        nominal=st.just(False),
        weights=st.just("none"),
    )
)
def test_a_kind_can_be_fixed(problem):
    assert (problem.leaf, problem.prior, problem.nominal, problem.sample_weight) == (
        "dirichlet",
        "leaf-count",
        (),
        None,
    )
    assert np.isfinite(problem.X).all()
    assert set(problem.settings) & {"split_alpha", "prior_mean", "noise_shape"} == set()


KINDS = {
    "labels with missing values": lambda p: any(np.isnan(p.X[:, column]).any() for column in p.nominal),
    "a column of missing values": lambda p: np.isnan(p.X).all(axis=0).any(),
    "numbers, labels and missing values": lambda p: 0 < len(p.nominal) < p.X.shape[1] and np.isnan(p.X).any(),
    "depth-decay with counts": lambda p: (p.prior, p.leaf) == ("depth-decay", "poisson") and len(p.X) > 3,
    "normal with fractional weights": lambda p: p.leaf == "normal" and (p.weights % 1 > 0).any(),
    "plain numbers in many cells": lambda p: not p.nominal and len(np.unique(p.X, axis=0)) == 7,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_problem_is_drawn(kind):
    assert find(problems(), KINDS[kind], settings=UNTIL_FOUND)


MIXED = Problem(
    X=np.array([[0.0, 4.0], [1.0, 7.0], [3.0, 4.0]]), y=np.array([0.0, 1.0, 2.0]), nominal=(1,), leaf="normal"
)


@pytest.mark.parametrize(
    "has",
    [
        lambda rows: (rows == MIXED.X[0]).all(axis=1).any(),
        lambda rows: (rows[:, 0] == 0.5).any(),  # a threshold of neighbours
        lambda rows: (rows[:, 0] == 1.5).any(),  # a threshold of values that are neighbours only in some box
        lambda rows: (rows[:, 0] == np.nextafter(0.5, 0.0)).any(),
        lambda rows: (rows[:, 0] > 1e8).any() and (rows[:, 0] < -1e8).any(),
        lambda rows: np.isnan(rows[:, 0]).any() and np.isnan(rows[:, 1]).any(),
        lambda rows: np.isin(rows[:, 1], UNSEEN_LABELS).any(),
    ],
)
def test_every_kind_of_query_is_drawn(has):
    assert find(queries(MIXED), has, settings=UNTIL_FOUND).shape[1] == 2
