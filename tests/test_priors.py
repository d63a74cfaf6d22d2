"""Priors over trees: their weights by formula, their sums over all trees, and a number from the literature."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

import bcart
from bcart import Cells, DepthDecayPrior, Family, LeafCountPrior, Posterior, Tree, TreePrior
from bcart.priors import choose_prior
from bcart.testing import enumerate_posterior

# Weights


@pytest.mark.parametrize("log_phi", [-3.0, 0.0, 2.0])
def test_the_leaf_count_prior_charges_each_split_alike(log_phi):
    prior = LeafCountPrior(log_phi)
    for depth, n_splits in [(0, 1), (3, 100), (50, 0)]:
        assert prior.log_stop(depth, n_splits) == 0.0
        assert prior.log_split(depth, n_splits) == -log_phi


@pytest.mark.parametrize(("alpha", "beta"), [(0.95, 0.5), (0.5, 2.0), (0.1, 0.0)])
def test_the_depth_decay_prior_splits_by_depth_and_chooses_a_split_alike(alpha, beta):
    prior = DepthDecayPrior(alpha, beta)
    for depth, n_splits in [(0, 1), (1, 4), (7, 1000)]:
        chance = alpha * (1 + depth) ** -beta
        assert prior.log_stop(depth, n_splits) == pytest.approx(math.log(1 - chance), rel=1e-14)
        assert prior.log_split(depth, n_splits) == pytest.approx(math.log(chance / n_splits), rel=1e-14)
        assert prior.log_stop(depth, 0) == 0.0


@pytest.mark.parametrize("prior", [LeafCountPrior(1.5), DepthDecayPrior(0.5, 1.0)])
def test_priors_are_values(prior):
    assert isinstance(prior, TreePrior)
    prior.log_stop(0, 1)  # native parts do not travel
    again = pickle.loads(pickle.dumps(prior))
    assert again == prior
    assert hash(again) == hash(prior)
    assert again.log_split(2, 3) == prior.log_split(2, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.log_phi = 3.0


@pytest.mark.parametrize("log_phi", [math.nan, math.inf, 1e101, -1e101, "two", None, True])
def test_a_leaf_count_prior_that_makes_no_sense_is_refused(log_phi):
    with pytest.raises(bcart.InvalidModelError, match="log_phi"):
        LeafCountPrior(log_phi)


@pytest.mark.parametrize(
    ("alpha", "beta", "name"),
    [
        (0.0, 1.0, "split_alpha"),
        (1.0, 1.0, "split_alpha"),
        (1.5, 1.0, "split_alpha"),
        (math.nan, 1.0, "split_alpha"),
        ("half", 1.0, "split_alpha"),
        (0.5, -0.1, "split_beta"),
        (0.5, math.inf, "split_beta"),
        (0.5, None, "split_beta"),
    ],
)
def test_a_depth_decay_prior_that_makes_no_sense_is_refused(alpha, beta, name):
    with pytest.raises(bcart.InvalidModelError, match=name):
        DepthDecayPrior(alpha, beta)


def test_priors_are_chosen_by_name_or_given():
    assert choose_prior("leaf-count", 3.0, 0.5, 1.0) == LeafCountPrior(3.0)
    assert choose_prior("depth-decay", 3.0, 0.5, 1.0) == DepthDecayPrior(0.5, 1.0)
    given = DepthDecayPrior(0.3, 0.2)
    assert choose_prior(given, 3.0, 0.5, 1.0) is given
    for wrong in ("uniform", None, 2.0, LeafCountPrior):
        with pytest.raises(
            bcart.InvalidModelError, match=r"prior=.* must be 'leaf-count', 'depth-decay' or a TreePrior"
        ):
            choose_prior(wrong, 3.0, 0.5, 1.0)


# Sums over all trees

RNG = np.random.default_rng(4)
X = RNG.integers(0, 3, (12, 2)).astype(float)
Y = RNG.integers(0, 2, 12)


def fit(**parameters):
    return bcart.BayesianTreeClassifier(n_jobs=1, **parameters).fit(X, Y).posterior_


@pytest.mark.parametrize("max_depth", [None, 1, 2, 3])
@pytest.mark.parametrize(("alpha", "beta"), [(0.95, 0.5), (0.5, 2.0), (0.9, 0.0)])
def test_the_depth_decay_prior_is_a_probability(alpha, beta, max_depth):
    posterior = fit(prior="depth-decay", split_alpha=alpha, split_beta=beta, max_depth=max_depth)
    assert posterior.log_prior_mass == pytest.approx(0.0, abs=1e-12)
    assert posterior.log_evidence == pytest.approx(posterior.log_score, abs=1e-12)
    listed = enumerate_posterior(
        X, Y, prior="depth-decay", split_alpha=alpha, split_beta=beta, max_depth=max_depth, max_trees=10**6
    )
    assert posterior.log_score == pytest.approx(listed.log_score, abs=1e-11)
    assert posterior.log_n_trees == pytest.approx(listed.log_n_trees, abs=1e-11)
    assert posterior.map_tree() == listed.map_tree


def test_a_deeper_penalty_makes_smaller_trees():
    leaves = [
        np.mean([tree.n_leaves for tree in fit(prior=DepthDecayPrior(0.95, beta)).sample(400, 0)])
        for beta in (0.0, 1.0, 4.0)
    ]
    assert leaves[0] > leaves[1] > leaves[2]


def test_changing_the_prior_is_what_fitting_with_it_gives():
    prior = DepthDecayPrior(0.7, 1.5)
    for max_depth in (None, 2):
        other, anew = fit(max_depth=max_depth).with_prior(prior), fit(max_depth=max_depth, prior=prior)
        assert other.log_score == anew.log_score
        assert other.map_tree() == anew.map_tree()
        assert other.sample(20, 1) == anew.sample(20, 1)
        np.testing.assert_array_equal(other.predict_proba(X), anew.predict_proba(X))
        assert other.with_prior(2.0).log_score == fit(max_depth=max_depth).log_score
        assert other.with_prior(log_phi=2.0).log_score == fit(max_depth=max_depth).log_score


def test_a_prior_is_given_once():
    for arguments in ({}, {"prior": LeafCountPrior(), "log_phi": 1.0}):
        with pytest.raises(bcart.InvalidModelError, match="either a prior or log_phi"):
            fit().with_prior(**arguments)


# A number from the literature: log prior -5.638 and log likelihood -7.879 of the tree x2 ? (x3 ? A : B) : C with class
# counts (0, 19), (0, 10) and (11, 0), under the depth-decay prior with alpha_s = .95, beta_s = .5 and Dirichlet (1, 1)
# leaves. There |S(N)| is the number of features that separate the box N. With four binary features that is 4 at the
# root and 3 in the box x2; all three leaves can still be split. Three features give at most 3 * 2 and -4.945 instead.

LITERATURE = DepthDecayPrior(0.95, 0.5)
LOG_PRIOR, LOG_LIKELIHOOD = -5.638, -7.879
TREE = Tree(
    feature=[2, -1, 3, -1, -1],
    threshold=[0.5, np.nan, 0.5, np.nan, np.nan],
    left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1],
    statistics=[[11, 29], [11, 0], [0, 29], [0, 10], [0, 19]],
    predictive=np.full((5, 2), 0.5),
    feature_names=("x0", "x1", "x2", "x3"),
    classes=[0, 1],
)


def literature_rows(second):
    """Forty rows of four binary features; `second` makes the second of the first."""
    first = np.arange(40) // 2 % 2
    x2 = np.repeat([1, 1, 0], [19, 10, 11])
    x3 = np.concatenate([np.repeat([1, 0], [19, 10]), np.arange(11) // 4 % 2])
    return np.column_stack([first, second(first), x2, x3]), (x2 == 1).astype(int)


def n_separating_features(rows):
    return int((rows.min(axis=0) < rows.max(axis=0)).sum())


def n_bipartitions(rows):
    """Of the distinct rows, by the features that separate them: equal and complementary ones count once."""
    cells = np.unique(rows, axis=0)
    sides = {frozenset([tuple(column), tuple(1 - column)]) for column in cells.T if 0 < column.sum() < len(column)}
    return len(sides)


def log_prior_of_the_tree(rows, n_splits):
    """By the definition, with either way of counting splits."""
    in_c, in_a, in_b = rows[:, 2] == 0, (rows[:, 2] == 1) & (rows[:, 3] == 1), (rows[:, 2] == 1) & (rows[:, 3] == 0)

    def chance(depth):
        return 0.95 * (1 + depth) ** -0.5

    log_splits = math.log(chance(0) / n_splits(rows)) + math.log(chance(1) / n_splits(rows[~in_c]))
    leaves = [(in_c, 1), (in_a, 2), (in_b, 2)]
    return log_splits + sum(math.log(1 - chance(depth)) for box, depth in leaves if n_splits(rows[box]) > 0)


def log_prior_and_likelihood(rows, labels):
    """Those of the tree, as the library has them."""
    cells = Cells.from_rows(rows, np.eye(2)[labels])
    posterior = Posterior(bcart.build_graph(cells), prior=LITERATURE, n_jobs=1)
    counts = TREE.statistics[TREE.feature < 0]
    log_likelihood = float(posterior.leaf.log_marginal(counts).sum())
    return posterior.log_probability(TREE) + posterior.log_score - log_likelihood, log_likelihood


def test_the_tree_has_the_leaves_that_the_literature_says():
    rows, labels = literature_rows(lambda first: np.arange(40) // 3 % 2)
    leaves = TREE.apply(rows.astype(float))
    counts = [np.bincount(labels[leaves == node], minlength=2).tolist() for node in (1, 3, 4)]
    assert counts == [[11, 0], [0, 10], [0, 19]] == TREE.statistics[[1, 3, 4]].tolist()


def test_where_no_features_coincide_we_have_the_number_of_the_literature():
    rows, labels = literature_rows(lambda first: np.arange(40) // 3 % 2)
    assert n_separating_features(rows) == n_bipartitions(rows) == 4
    assert n_separating_features(rows[:29]) == n_bipartitions(rows[:29]) == 3
    assert log_prior_of_the_tree(rows, n_separating_features) == pytest.approx(LOG_PRIOR, abs=5e-4)
    log_prior, log_likelihood = log_prior_and_likelihood(rows, labels)
    assert log_prior == pytest.approx(log_prior_of_the_tree(rows, n_separating_features), abs=1e-12)
    assert log_prior == pytest.approx(LOG_PRIOR, abs=5e-4)
    assert log_likelihood == pytest.approx(LOG_LIKELIHOOD, abs=5e-4)
    assert log_likelihood == pytest.approx(-math.log(20 * 11 * 12), abs=1e-13)
    assert log_prior + log_likelihood == pytest.approx(-13.517, abs=1e-3)


@pytest.mark.parametrize("second", [lambda first: first, lambda first: 1 - first], ids=["equal", "opposite"])
def test_features_that_part_a_box_alike_are_one_split_to_us_and_two_to_the_literature(second):
    rows, labels = literature_rows(second)
    assert (n_separating_features(rows), n_separating_features(rows[:29])) == (4, 3)
    assert (n_bipartitions(rows), n_bipartitions(rows[:29])) == (3, 2)
    assert log_prior_of_the_tree(rows, n_separating_features) == pytest.approx(LOG_PRIOR, abs=5e-4)
    log_prior, log_likelihood = log_prior_and_likelihood(rows, labels)
    assert log_prior == pytest.approx(log_prior_of_the_tree(rows, n_bipartitions), abs=1e-12)
    assert log_prior == pytest.approx(LOG_PRIOR + math.log(4 / 3) + math.log(3 / 2), abs=5e-4)
    assert log_likelihood == pytest.approx(LOG_LIKELIHOOD, abs=5e-4)


def test_three_binary_features_cannot_give_the_number_of_the_literature():
    """Whichever of the three leaves can be split, only 12 as the product of the two |S| is a whole number."""

    def chance(depth):
        return 0.95 * (1 + depth) ** -0.5

    products = []
    for n_shallow in (0, 1):
        for n_deep in (0, 1, 2):
            stops = n_shallow * math.log(1 - chance(1)) + n_deep * math.log(1 - chance(2))
            products.append(chance(0) * chance(1) * math.exp(stops - LOG_PRIOR))
    whole = [product for product in products if abs(product - round(product)) < 5e-4 * product]
    assert [round(product) for product in whole] == [12]
    assert 3 * 2 < 12 == 4 * 3


def test_leaves_at_the_depth_limit_have_to_stop():
    rows, labels = literature_rows(lambda first: np.arange(40) // 3 % 2)
    cells = Cells.from_rows(rows, np.eye(2)[labels])
    limited = Posterior(bcart.build_graph(cells, Family(max_depth=2)), prior=LITERATURE, n_jobs=1)
    log_likelihood = -math.log(20 * 11 * 12)
    log_prior = limited.log_probability(TREE) + limited.log_score - log_likelihood
    assert log_prior == pytest.approx(LOG_PRIOR - 2 * math.log(1 - 0.95 / math.sqrt(3)), abs=5e-4)
