"""Paths of rows through random trees, and through the best one, without building a tree.

Seeds are fixed. Under other seeds a right sampler would fail each chi-square test with probability `FALSE_ALARM`.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, kstest

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor

FALSE_ALARM = 1e-6
N_PATHS = 20_000

RNG = np.random.default_rng(5)
PORTS = np.array(["C", "Q", "S"])
TABLE = pd.DataFrame(
    {
        "x": np.where(RNG.random(40) < 0.15, np.nan, RNG.integers(0, 4, 40) * 1.5),
        "port": PORTS[RNG.integers(0, 3, 40)],
        "z": RNG.integers(0, 3, 40).astype(float),
    }
)
LABELS = np.array(["a", "b", "c"])[((TABLE["x"].fillna(9) > 2) + (TABLE["port"] == "S")).to_numpy() * 1]
NUMBERS = np.where(TABLE["port"] == "C", 1.0, 4.0) + RNG.normal(size=40)
# Within bins, in gaps between them, outside, missing (seen on x, never on z), and of labels never seen.
QUERIES = pd.DataFrame(
    {
        "x": [0.0, 1.5, 0.74, 0.75, 2.3, -50.0, 50.0, np.nan, np.nan, 3.0, 1.5],
        "port": ["C", "Q", "S", "S", "C", "Q", "S", "C", None, "never", "other"],
        "z": [0.0, 1.0, 0.5, 2.0, 1.49, -9.0, 9.0, 1.0, np.nan, np.nan, 1.0],
    }
)

MODELS = {
    "classes": (BayesianTreeClassifier, LABELS, {"log_phi": 1.0}),
    "classes, depth 2": (BayesianTreeClassifier, LABELS, {"log_phi": 0.0, "max_depth": 2}),
    "classes, depth-decay": (
        BayesianTreeClassifier,
        LABELS,
        {"prior": "depth-decay", "split_beta": 1.0, "max_depth": 4},
    ),
    "numbers": (BayesianTreeRegressor, NUMBERS, {"log_phi": 1.0}),
    "counts": (BayesianTreeRegressor, np.round(np.abs(NUMBERS)), {"leaf": "poisson"}),
}


def fit(name, **parameters):
    kind, y, settings = MODELS[name]
    return kind(**{"n_jobs": 1, **settings, **parameters}).fit(TABLE, y).posterior_


@pytest.fixture(scope="module", params=MODELS)
def posterior(request):
    return fit(request.param)


def chi_square(counts, probabilities):
    """The p-value of counts under given probabilities; classes expected fewer than ten times are taken together."""
    expected = probabilities * counts.sum()
    is_rare = expected < 10
    observed, expected = (np.append(v[~is_rare], v[is_rare].sum()) for v in (counts, expected))
    if expected[-1] < 10:
        least = int(np.argmin(expected[:-1]))
        for values in (observed, expected):
            values[least] += values[-1]
        observed, expected = observed[:-1], expected[:-1]
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)


# Random trees


def test_leaves_are_reached_as_often_as_by_trees_that_were_built(posterior):
    """Both are samples of the same leaves, so the counts are compared with each other."""
    paths = posterior.sample_paths(QUERIES, 4000, random_state=0)
    trees = posterior.sample(4000, random_state=1)
    reached = {tree: tree.statistics[tree.apply(QUERIES)] for tree in set(trees)}
    for row in range(len(QUERIES)):
        by_path = [statistics.tobytes() for statistics in paths.statistics[row]]
        by_tree = [reached[tree][row].tobytes() for tree in trees]
        kinds = sorted(set(by_path) | set(by_tree))
        one, other = (np.array([seen.count(kind) for kind in kinds]) for seen in (by_path, by_tree))
        both = one + other
        is_common = both >= 20
        table = np.array([[*v[is_common], v[~is_common].sum()] for v in (one, other)], dtype=float)
        table = table[:, table.sum(axis=0) >= 10]
        expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
        if table.shape[1] > 1:
            p = chi2.sf(((table - expected) ** 2 / expected).sum(), table.shape[1] - 1)
            assert p > FALSE_ALARM, row


def test_leaves_are_reached_as_often_as_they_weigh_in_the_mixture(posterior):
    """False alarm: one seed in a million, for each row."""
    paths = posterior.sample_paths(QUERIES, N_PATHS, random_state=0)
    for row in range(len(QUERIES)):
        ((_, mixture),) = posterior._rows(posterior.grid.table(QUERIES.iloc[row : row + 1])).mixtures("ensemble")
        weight_of = {}
        for statistics, weight in zip(mixture.statistics, mixture.weights, strict=True):
            weight_of[statistics.tobytes()] = weight_of.get(statistics.tobytes(), 0.0) + weight
        assert sum(weight_of.values()) == pytest.approx(1.0, abs=1e-12)
        seen = [statistics.tobytes() for statistics in paths.statistics[row]]
        assert set(seen) <= set(weight_of)
        counts = np.array([seen.count(leaf) for leaf in weight_of], dtype=float)
        assert chi_square(counts, np.array(list(weight_of.values()))) > FALSE_ALARM, row


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("classes")])
@pytest.mark.parametrize("seed", [0, 1])
def test_labels_are_drawn_as_often_as_they_are_probable(name, seed):
    """False alarm: one seed in a million, for each row."""
    posterior = fit(name)
    drawn = posterior.sample_paths(QUERIES, N_PATHS, random_state=seed).y
    chances = posterior.predict_proba(QUERIES)
    for labels, expected in zip(drawn, chances, strict=True):
        counts = np.array([(labels == label).sum() for label in posterior.classes], dtype=float)
        assert chi_square(counts, expected) > FALSE_ALARM


def test_labels_of_a_slightly_different_posterior_are_found_out():
    """The test above has power."""
    posterior = fit("classes")
    drawn = posterior.with_leaf(1.5).sample_paths(QUERIES, N_PATHS, random_state=0).y
    p_values = [
        chi_square(np.array([(labels == label).sum() for label in posterior.classes], dtype=float), expected)
        for labels, expected in zip(drawn, posterior.predict_proba(QUERIES), strict=True)
    ]
    assert min(p_values) < FALSE_ALARM


def test_numbers_are_drawn_from_the_predictive_distribution():
    """False alarm: one seed in a million; one interval after the other holds its share of the draws."""
    posterior = fit("numbers")
    drawn = posterior.sample_paths(QUERIES, N_PATHS, random_state=0).y
    levels = np.array([0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    bounds = [posterior.predict_interval(QUERIES, level) for level in levels]
    shares = np.diff(levels, prepend=0.0, append=1.0)
    for row, y in enumerate(drawn):
        inside = np.array([((bound[row, 0] < y) & (y < bound[row, 1])).sum() for bound in bounds])
        counts = np.diff(inside, prepend=0, append=N_PATHS).astype(float)
        assert chi_square(counts, shares) > FALSE_ALARM
        assert np.median(y) == pytest.approx(posterior.predict_interval(QUERIES, 1e-9)[row].mean(), abs=0.1)


def test_counts_are_drawn_as_often_as_they_are_probable():
    """False alarm: one seed in a million, for each row."""
    posterior = fit("counts")
    drawn = posterior.sample_paths(QUERIES, N_PATHS, random_state=0).y
    counts = np.arange(60)
    for row, y in enumerate(drawn):
        repeated = QUERIES.iloc[[row] * len(counts)]
        chances = np.exp(posterior.log_predictive(repeated, counts))
        assert chi_square(np.bincount(y.astype(int), minlength=60)[:60].astype(float), chances) > FALSE_ALARM


def test_targets_do_not_tell_which_leaf_beyond_what_it_holds():
    """The number that draws the target is fair, given the leaf: in one leaf the targets follow its own distribution."""
    posterior = fit("numbers")
    paths = posterior.sample_paths(QUERIES[:1], N_PATHS, random_state=3)
    boxes, counts = np.unique(paths.boxes[0], return_counts=True)
    assert counts.max() > 500
    for box in boxes[counts > 500]:
        of_box = paths.boxes[0] == box
        statistics = paths.statistics[0][of_box]
        uniforms = posterior.leaf.target_cdf(paths.y[0][of_box], statistics)
        assert kstest(uniforms, "uniform").pvalue > FALSE_ALARM


def test_one_path_tells_nothing_about_the_next():
    """False alarm: one seed in a million. Between paths of one row, and between rows that are alike."""
    posterior = fit("classes")
    alike = QUERIES.iloc[[0] * 2]
    paths = posterior.sample_paths(alike, N_PATHS, random_state=2)
    common = np.unique(paths.boxes, return_counts=True)
    boxes = common[0][np.argsort(-common[1])[:3]]
    places = np.searchsorted(np.sort(boxes), np.where(np.isin(paths.boxes, boxes), paths.boxes, boxes.max()))
    for one, other in ((places[0, :-1], places[0, 1:]), (places[0], places[1])):
        table = np.zeros((4, 4))
        np.add.at(table, (one, other), 1)
        table = table[table.any(axis=1)][:, table.any(axis=0)]
        expected = table.sum(axis=0) * table.sum(axis=1, keepdims=True) / table.sum()
        assert chi2.sf(((table - expected) ** 2 / expected).sum(), (len(table) - 1) ** 2) > FALSE_ALARM


# The i-th path of the k-th row


def same(one, other):
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in ("boxes", "statistics", "y"))


def test_fewer_paths_are_the_first_of_more(posterior):
    more = posterior.sample_paths(QUERIES, 100, random_state=7)
    for n in (0, 1, 99):
        fewer = posterior.sample_paths(QUERIES, n, random_state=7)
        assert fewer.boxes.shape == fewer.y.shape == (len(QUERIES), n)
        np.testing.assert_array_equal(fewer.boxes, more.boxes[:, :n])
        np.testing.assert_array_equal(fewer.y, more.y[:, :n])
        np.testing.assert_array_equal(fewer.statistics, more.statistics[:, :n])


@pytest.mark.parametrize("name", ["classes, depth 2", "numbers", "counts"])
def test_paths_that_are_made_in_parts_are_those_that_are_made_at_once(name):
    once, in_parts = (fit(name, max_depth=2, max_memory=room) for room in ("1GB", "1MB"))
    assert same(once.sample_paths(QUERIES, 5000, random_state=7), in_parts.sample_paths(QUERIES, 5000, random_state=7))


def test_other_rows_do_not_change_the_paths_of_a_row(posterior):
    paths = posterior.sample_paths(QUERIES, 50, random_state=7)
    fewer = posterior.sample_paths(QUERIES[:4], 50, random_state=7)
    np.testing.assert_array_equal(fewer.boxes, paths.boxes[:4])
    np.testing.assert_array_equal(fewer.y, paths.y[:4])
    changed = QUERIES.copy()
    changed.loc[5:, "z"] = 0.0
    np.testing.assert_array_equal(posterior.sample_paths(changed, 50, random_state=7).boxes[:5], paths.boxes[:5])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_paths_do_not_depend_on_the_number_of_threads(name, n_jobs):
    one, other = (fit(name, n_jobs=n).sample_paths(QUERIES, 300, random_state=1) for n in (1, n_jobs))
    assert same(one, other)


def test_seeds_are_kept_and_different(posterior):
    assert same(posterior.sample_paths(QUERIES, 20, 5), posterior.sample_paths(QUERIES, 20, np.uint64(5)))
    assert not same(posterior.sample_paths(QUERIES, 20, 5), posterior.sample_paths(QUERIES, 20, 6))
    assert not same(posterior.sample_paths(QUERIES, 20), posterior.sample_paths(QUERIES, 20))


@pytest.mark.parametrize("n", [-1, 1.0, True, "two", None, 2**31 + 1, 2**62, 2**64 - 1, 10**30])
def test_what_is_no_number_of_paths_is_refused(n):
    with pytest.raises(bcart.InvalidModelError, match="n="):
        fit("classes").sample_paths(QUERIES, n)


def test_the_number_of_paths_is_bounded_for_all_rows_together():
    with pytest.raises(bcart.InvalidModelError, match="for 4 rows from 0 to 536,870,912"):
        fit("classes").sample_paths(QUERIES.iloc[[0, 0, 0, 0]], 2**29 + 1)


def test_no_rows_have_no_paths(posterior):
    paths = posterior.sample_paths(QUERIES[:0], 3, random_state=0)
    assert paths.boxes.shape == paths.y.shape == (0, 3)
    assert paths.statistics.shape == (0, 3, posterior.leaf.n_statistics)


# The best tree


def test_the_way_through_the_best_tree_is_that_of_the_tree_itself(posterior):
    tree = posterior.map_tree()
    assert tree.n_leaves > 1
    expected = tree.predictive[tree.apply(QUERIES)]
    np.testing.assert_array_equal(posterior.expected_output(QUERIES, "map"), expected)
    np.testing.assert_array_equal(posterior.predict(QUERIES, "map"), tree.predict(QUERIES))


@pytest.mark.parametrize("log_phi", [-3.0, -1.0, 0.0, 3.0])
def test_trees_of_all_sizes_answer_alike_with_and_without_being_built(log_phi):
    posterior = fit("classes").with_prior(log_phi)
    tree = posterior.map_tree()
    np.testing.assert_array_equal(posterior.predict_proba(QUERIES, "map"), tree.predict_proba(QUERIES))
    np.testing.assert_array_equal(posterior.predict_proba(TABLE, "map"), tree.predict_proba(TABLE))


def test_a_predictor_of_another_name_is_refused(posterior):
    with pytest.raises(bcart.InvalidModelError, match="predictor='vote' must be 'ensemble' or 'map'"):
        posterior.predict(QUERIES, "vote")
