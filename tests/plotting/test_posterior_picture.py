"""Pictures of posteriors against the list of all trees, and against the samples that they are made of."""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor
from bcart.datasets import load_haberman
from bcart.overview import look_over
from bcart.plotting import plot_posterior
from bcart.testing import enumerate_posterior

HABERMAN = load_haberman()
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
Y = np.array([0, 0, 1, 0, 1, 1])


def fit_haberman(**parameters):
    return BayesianTreeClassifier(**parameters).fit(HABERMAN.data, HABERMAN.target)


def draw(model, **options):
    axes = plot_posterior(model, axes=Figure(figsize=(10, 4)).subplots(1, 3), **options)
    FigureCanvasAgg(axes[0].figure).draw()
    return axes


def lengths(ax):
    return np.array([bar.get_x() + bar.get_width() for bar in ax.patches])


def test_bars_are_the_probabilities_of_the_most_probable_of_all_trees():
    """So many samples meet every tree of a tiny problem."""
    model = BayesianTreeClassifier(log_phi=0.5).fit(X, Y)
    listed = enumerate_posterior(X, Y, log_phi=0.5)
    axes = draw(model, n_samples=20_000, n_top=listed.n_trees)
    np.testing.assert_allclose(lengths(axes[0]), np.sort(listed.probabilities)[::-1], rtol=1e-9)
    assert axes[0].get_xlabel() == "posterior probability"
    assert axes[0].get_title(loc="left") == f"Exact for all {listed.n_trees} trees"


def test_sizes_are_shares_of_the_sampled_trees():
    model = fit_haberman(log_phi=4.0)
    axes = draw(model, n_samples=500, random_state=7)
    trees = model.posterior_.sample(500, random_state=7)
    for ax, name in ((axes[1], "n_leaves"), (axes[2], "depth")):
        expected = {size: n / 500 for size, n in Counter(getattr(tree, name) for tree in trees).items()}
        found = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
        assert found == pytest.approx(expected)


def test_improbable_trees_are_compared_with_the_best_one_and_the_scale_says_so():
    model = fit_haberman(log_phi=2.0)
    posterior = model.posterior_
    ax = draw(model, n_samples=60, n_top=10)[0]
    trees = look_over(posterior, 60, 10, random_state=0).top
    expected = [posterior.log_probability(tree) - model.tree_.log_probability for tree in trees]
    np.testing.assert_allclose(np.log(lengths(ax)), expected, atol=1e-8)
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "probability, best tree = 1 (log scale)"
    assert "the best has probability 3.52e-11" in ax.get_title(loc="left")


def test_the_title_says_up_to_which_depth_it_is_exact():
    title = draw(fit_haberman(max_depth=2))[0].get_title(loc="left")
    assert title.startswith("Exact for all")
    assert title.endswith("trees\nup to depth 2")


def test_names_of_trees_have_their_first_tests_and_number_of_leaves():
    model = fit_haberman(log_phi=4.0)
    labels = [label.get_text() for label in draw(model)[0].get_yticklabels()]
    assert labels[0] == "x2 < 5.5  2 leaves"
    assert all(label.endswith(("leaves", "1 leaf")) for label in labels)


def test_it_draws_on_the_given_axes_and_nowhere_else():
    figure = Figure()
    given = figure.subplots(2, 2).ravel()
    before = len(given[3].get_children())
    assert plot_posterior(fit_haberman(max_depth=1), axes=given[:3]) == list(given[:3])
    assert figure.axes == list(given)
    assert len(given[3].get_children()) == before
    assert plt.get_fignums() == []


def test_without_axes_there_is_one_new_figure():
    axes = plot_posterior(fit_haberman(max_depth=1))
    assert plt.get_fignums() == [axes[0].figure.number]


@pytest.mark.parametrize("leaf", ["normal", "poisson"])
def test_regression_has_posteriors_too(leaf):
    model = BayesianTreeRegressor(leaf=leaf, max_depth=2).fit(X, Y)
    assert np.isfinite(lengths(draw(model)[0])).all()


def test_a_single_tree_can_be_all_there_is():
    ax = draw(fit_haberman(log_phi=200.0))[0]
    np.testing.assert_allclose(lengths(ax), [1.0])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["no test, 1 leaf"]


def test_wrong_arguments_are_refused():
    model = fit_haberman(max_depth=1)
    with pytest.raises(bcart.InvalidModelError, match="n_samples=0"):
        plot_posterior(model, n_samples=0)
    with pytest.raises(bcart.InvalidModelError, match="axes must be 3"):
        plot_posterior(model, axes=Figure().subplots(1, 2))
    with pytest.raises(bcart.InvalidModelError, match="got Tree"):
        plot_posterior(model.tree_)
