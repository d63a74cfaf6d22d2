"""The top of a posterior, beside a list of all trees."""

import numpy as np
import pytest
from hypothesis import given, settings

from bcart import BayesianTreeClassifier
from bcart.datasets import load_haberman
from bcart.overview import look_over
from bcart.testing.both import compute, enumerate_all
from bcart.testing.strategies import problems


@settings(max_examples=20)
@given(problem=problems())
def test_the_most_probable_trees_have_their_exact_probabilities(problem):
    overview = look_over(compute(problem), n_samples=200, n_top=4)
    listed = np.sort(enumerate_all(problem).probabilities)[::-1]
    found = np.exp([tree.log_probability for tree in overview.top])
    assert found[0] == pytest.approx(listed[0], rel=1e-6)
    assert (np.diff(found) <= 1e-12).all()
    assert len(set(overview.top)) == len(overview.top)
    for probability in found:
        assert np.abs(listed - probability).min() <= 1e-6 * probability
    n_frequent = int((listed[:4] > 0.05).sum())  # these are drawn for sure
    np.testing.assert_allclose(found[:n_frequent], listed[:n_frequent], rtol=1e-6)


def test_shares_are_those_of_the_samples():
    haberman = load_haberman()
    posterior = BayesianTreeClassifier(log_phi=4.0).fit(haberman.data, haberman.target).posterior_
    overview = look_over(posterior, n_samples=300, random_state=3)
    sampled = posterior.sample(300, random_state=3)
    assert overview.leaves == {
        n: sum(tree.n_leaves == n for tree in sampled) / 300 for n in sorted({tree.n_leaves for tree in sampled})
    }
    assert sum(overview.depths.values()) == pytest.approx(1)


def test_where_no_tree_is_drawn_twice_better_ones_than_drawn_are_found():
    haberman = load_haberman()
    posterior = BayesianTreeClassifier().fit(haberman.data, haberman.target).posterior_
    overview = look_over(posterior, n_samples=300, n_top=5)
    drawn = max(tree.log_probability for tree in posterior.sample(300, random_state=0))
    assert all(tree.log_probability > drawn + 10 for tree in overview.top)
    for tree in overview.top:
        assert posterior.log_probability(tree) == pytest.approx(tree.log_probability)
        assert tree.predict_proba(haberman.data).shape == (306, 2)
