"""Samples of trees against their exact probabilities.

All seeds are fixed, so a result is the same in every run. Under other seeds a right sampler would fail each of these
tests with probability `FALSE_ALARM`, as far as the chi-square distribution holds: classes expected fewer than ten
times are taken together.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from bcart import BayesianTreeClassifier, DepthDecayPrior
from bcart.testing import enumerate_posterior

FALSE_ALARM = 1e-6
N_SAMPLES = 20_000
MIN_EXPECTED = 10

RNG = np.random.default_rng(7)
X = RNG.integers(0, 3, (14, 2)).astype(float)
Y = ((X[:, 0] > 0) ^ (RNG.random(14) < 0.25)).astype(int)

SETTINGS = {
    "all trees": {"log_phi": 0.5},
    "small trees": {"log_phi": 2.0, "alpha": 0.3},
    "depth 1": {"log_phi": -1.0, "max_depth": 1},
    "depth 2": {"log_phi": -1.0, "max_depth": 2},
    "depth 3": {"log_phi": 0.0, "max_depth": 3},
    "leaves of three rows": {"log_phi": -0.5, "min_samples_leaf": 3, "min_samples_split": 7},
    "depth-decay": {"prior": "depth-decay", "split_alpha": 0.9, "split_beta": 0.5},
    "depth-decay, depth 2": {"prior": "depth-decay", "split_alpha": 0.9, "split_beta": 0.5, "max_depth": 2},
    "labels": {"log_phi": 0.0, "nominal": [0]},
    "missing values": {"log_phi": 0.5, "max_depth": 2},
}


@pytest.fixture(params=SETTINGS.values(), ids=SETTINGS.keys())
def settings(request):
    return request.param


def rows_of(settings):
    if settings is not SETTINGS["missing values"]:
        return X
    rows = X.copy()
    rows[[2, 7, 11], [0, 1, 0]] = np.nan
    return rows


def fit(settings):
    parameters = {key: value for key, value in settings.items() if key != "nominal"}
    model = BayesianTreeClassifier(n_jobs=1, categorical_features=settings.get("nominal"), **parameters)
    return model.fit(rows_of(settings), Y).posterior_


def tree_probabilities(posterior, settings):
    trees = enumerate_posterior(rows_of(settings), Y, **settings).trees
    return trees, np.exp([posterior.log_probability(tree) for tree in trees])


def chi_square(counts, probabilities):
    """The p-value of counts under given probabilities, rare classes taken together."""
    expected = probabilities * counts.sum()
    is_rare = expected < MIN_EXPECTED
    observed = np.append(counts[~is_rare], counts[is_rare].sum())
    expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < MIN_EXPECTED:  # still rare: with the least of the others
        observed, expected = merge_last(observed, expected)
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)


def merge_last(observed, expected):
    least = int(np.argmin(expected[:-1]))
    for array in (observed, expected):
        array[least] += array[-1]
    return observed[:-1], expected[:-1]


def p_value(samples, trees, probabilities):
    counts = Counter(samples)
    assert set(counts) <= set(trees)
    return chi_square(np.array([counts[tree] for tree in trees]), probabilities)


def test_the_probabilities_of_all_trees_sum_to_one(settings):
    trees, probabilities = tree_probabilities(fit(settings), settings)
    assert len(set(trees)) == len(trees) > 4
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_trees_are_drawn_as_often_as_they_are_probable(settings, seed):
    """False alarm: one seed in a million."""
    posterior = fit(settings)
    assert p_value(posterior.sample(N_SAMPLES, seed), *tree_probabilities(posterior, settings)) > FALSE_ALARM


def test_trees_drawn_from_a_slightly_different_posterior_are_found_out(settings):
    """The test above has power: a prior that is off by a quarter in log phi (or split_beta) does not pass."""
    posterior = fit(settings)
    trees, probabilities = tree_probabilities(posterior, settings)
    for change in (-0.25, 0.25):
        samples = posterior.with_prior(changed_prior(settings, change)).sample(N_SAMPLES, 0)
        assert p_value(samples, trees, probabilities) < FALSE_ALARM


def changed_prior(settings, change):
    if "prior" in settings:
        return DepthDecayPrior(settings["split_alpha"], settings["split_beta"] + change)
    return settings["log_phi"] + change


def test_shallow_trees_among_all_are_drawn_as_if_depth_were_limited():
    """False alarm: one seed in a million. That the limit matters at all is the second claim."""
    settings = {"log_phi": 1.5, "max_depth": 2}
    everything = fit({**settings, "max_depth": None}).sample(N_SAMPLES, 0)
    shallow = [tree for tree in everything if tree.depth <= 2]
    assert 1000 < len(shallow) < 0.9 * N_SAMPLES
    assert p_value(shallow, *tree_probabilities(fit(settings), settings)) > FALSE_ALARM


def dependence(first, second):
    """The p-value of independence between the numbers of leaves of two lists of trees."""
    leaves = [np.minimum([tree.n_leaves for tree in trees], 5) for trees in (first, second)]
    table = np.zeros((6, 6))
    np.add.at(table, tuple(leaves), 1)
    return chi2_contingency(table[table.any(axis=1)][:, table.any(axis=0)]).pvalue


def test_one_tree_tells_nothing_about_the_next():
    """False alarm: one seed in a million."""
    samples = fit(SETTINGS["all trees"]).sample(N_SAMPLES, 3)
    assert dependence(samples[:-1], samples[1:]) > FALSE_ALARM


def test_one_seed_tells_nothing_about_the_next():
    """False alarm: one pair of seeds in a million."""
    posterior = fit(SETTINGS["all trees"])
    assert dependence(posterior.sample(N_SAMPLES, 3), posterior.sample(N_SAMPLES, 4)) > FALSE_ALARM


def test_dependence_would_be_found():
    """The two tests above have power: one pair in ten being the same tree is too much."""
    posterior = fit(SETTINGS["all trees"])
    first, second = posterior.sample(N_SAMPLES, 3), posterior.sample(N_SAMPLES, 4)
    copied = [a if i % 10 == 0 else b for i, (a, b) in enumerate(zip(first, second, strict=True))]
    assert dependence(first, copied) < FALSE_ALARM
