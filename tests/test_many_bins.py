"""As many bins and cells as there can be, for which formulas tell how many trees there are."""

import math

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

import bcart


def fit(X, y, **parameters):
    return bcart.BayesianTreeClassifier(n_jobs=1, **parameters).fit(X, y)


def close(expected):
    return pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_255_bins_hold_every_tree_over_255_values():
    values = np.sort(np.random.default_rng(0).normal(size=255))
    model = fit(values[:, None], np.arange(255) % 3, max_bins=255)
    posterior = model.posterior_
    assert posterior.grid.n_bins == (255,)
    assert posterior.n_boxes == 255 * 256 // 2  # the intervals
    assert posterior.n_splits == math.comb(256, 3)  # an interval and a cut within
    n_trees = [0, 1]  # over n values, in whole numbers: stop, or cut somewhere
    for n in range(2, 256):
        n_trees.append(1 + sum(n_trees[cut] * n_trees[n - cut] for cut in range(1, n)))
    assert posterior.log_n_trees == close(math.log(n_trees[255]))


def test_256_values_go_into_255_bins():
    model = fit(np.arange(256.0)[:, None], np.arange(256) % 2, max_bins=255, max_depth=1)
    assert model.posterior_.grid.n_bins == (255,)


def test_a_graph_without_splits_asks_no_test_of_the_very_many_that_are_possible():
    X = np.random.default_rng(0).normal(size=(300, 300))
    posterior = fit(X, X[:, 0] > 0, max_bins=250, max_depth=3, min_samples_leaf=200).posterior_
    assert posterior.n_splits == 0
    assert posterior.graph.core.n_bytes_of_tests == 0
    assert posterior.predict_proba(X[:2]).tolist() == [posterior.map_tree().predictive[0].tolist()] * 2


SIDES = (42, 42, 40)  # 70,560 cells, more than fit into two bytes


def full_grid():
    codes = np.stack(np.meshgrid(*map(np.arange, SIDES), indexing="ij"), axis=-1).reshape(-1, 3)
    label = ((codes[:, 0] * 7 + codes[:, 1] * 3 + codes[:, 2]) % 11 < 4).astype(int)
    return codes, np.eye(2)[label]


def n_cuts(sides):
    return sum(side - 1 for side in sides)


def halves(sides):
    for feature, side in enumerate(sides):
        for cut in range(1, side):
            yield [(*sides[:feature], part, *sides[feature + 1 :]) for part in (cut, side - cut)]


def test_70000_cells_to_depth_one():
    codes, statistics = full_grid()
    posterior = bcart.Posterior(bcart.build_graph(bcart.Cells(codes, statistics), bcart.Family(max_depth=1)))
    assert posterior.log_n_trees == close(math.log(1 + n_cuts(SIDES)))
    total, terms = statistics.sum(axis=0), []
    for feature, side in enumerate(SIDES):
        for cut in range(1, side):
            left = statistics[codes[:, feature] < cut].sum(axis=0)
            terms.append(betaln(*(1 + left)) + betaln(*(1 + total - left)) - 2)
    assert posterior.log_score == pytest.approx(logsumexp([betaln(*(1 + total)), *terms]), rel=1e-12)


def test_70000_cells_to_depth_two():
    codes, statistics = full_grid()
    posterior = bcart.Posterior(bcart.build_graph(bcart.Cells(codes, statistics), bcart.Family(max_depth=2)))
    n_trees = 1 + sum((1 + n_cuts(left)) * (1 + n_cuts(right)) for left, right in halves(SIDES))
    assert posterior.log_n_trees == close(math.log(n_trees))
    assert posterior.map_tree().depth <= 2
