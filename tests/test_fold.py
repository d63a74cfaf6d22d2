"""Graphs whose last two levels are folded, against graphs that list everything, on tables of real size."""

import pickle
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import bcart
from bcart import _core
from bcart.datasets import load_haberman
from bcart.listing import core_kinds

Classifier, Regressor = bcart.BayesianTreeClassifier, bcart.BayesianTreeRegressor
RNG = np.random.default_rng(0)
HABERMAN = load_haberman().data, load_haberman().target
IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
WEIGHTS = RNG.uniform(0.1, 3.0, 1000)


def mixed():
    """Numbers, labels, yes and no; one value in eight is missing."""
    n = 200
    X = np.column_stack([RNG.normal(size=n), RNG.integers(0, 5, n), RNG.integers(0, 2, n), RNG.normal(size=n).round()])
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] == 3)
    return np.where(RNG.random(X.shape) < 1 / 8, np.nan, X), y


def binary(n_rows, n_features):
    X = np.random.default_rng(1).integers(0, 2, (n_rows, n_features))
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2]


MIXED = mixed()
# model, table, depth, whether rows are weighed
CASES = {
    "Haberman": (Classifier(max_bins=20), HABERMAN, 3, False),
    "Haberman, deep": (Classifier(max_bins=6), HABERMAN, 5, False),
    "Iris, depth 1": (Classifier(), IRIS, 1, False),
    "Iris, depth 2": (Classifier(), IRIS, 2, False),
    "Iris, depth 3": (Classifier(), IRIS, 3, False),
    "Iris, depth 4": (Classifier(), IRIS, 4, False),
    "Iris, decaying": (Classifier(prior="depth-decay"), IRIS, 3, False),
    "Iris, weighed": (Classifier(), IRIS, 3, True),
    "Iris, heavy leaves": (Classifier(min_samples_leaf=7.5, min_samples_split=30), IRIS, 4, True),
    "cancer, depth 2": (Classifier(), CANCER, 2, False),
    "cancer, many cuts": (Classifier(max_bins=6), (CANCER[0][:16], CANCER[1][:16]), 3, False),
    "missing values and labels": (Classifier(categorical_features=[1]), MIXED, 3, False),
    "missing, weighed, decaying": (Classifier(categorical_features=[1], prior="depth-decay"), MIXED, 3, True),
    "Hidden XOR": (Classifier(), binary(80, 20), 4, False),
    "normal leaves": (Regressor(max_bins=5), DIABETES, 3, False),
    "normal leaves, weighed": (Regressor(max_bins=4, min_samples_leaf=3), DIABETES, 3, True),
    "Poisson leaves": (Regressor(leaf="poisson", max_bins=5), (DIABETES[0], DIABETES[1] // 30), 3, False),
}
FOLDED = [name for name, case in CASES.items() if case[2] > 1]
SMALL = ["Haberman", "Iris, depth 3", "Iris, weighed", "missing values and labels", "Poisson leaves"]


@cache
def posterior(name, folding, n_jobs=2):
    model, (X, y), depth, is_weighed = CASES[name]
    weights = WEIGHTS[: len(X)] if is_weighed else None
    parts = model.set_params(max_depth=1, n_jobs=1).fit(X, y, sample_weight=weights).posterior_
    family = replace(parts.graph.family, max_depth=depth)
    graph = bcart.build_graph(parts.graph.cells, family, bcart.Limits(n_jobs=n_jobs), folding=folding)
    assert graph.is_folded == (folding == "always" and depth > 1)
    return bcart.Posterior(graph, parts.leaf, parts.prior, parts.grid, parts.classes, n_jobs)


def both(name):
    return posterior(name, "never"), posterior(name, "always")


def rows_of(name):
    """A few rows of the table, and some far from all of them."""
    X, _ = CASES[name][1]
    return np.concatenate([X[:: len(X) // 3], X.mean(axis=0, keepdims=True), 9 + X[:1]])


def assert_close(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# Answers


@pytest.mark.parametrize("name", CASES)
def test_sums_over_all_trees_are_those_of_the_full_graph(name):
    full, folded = both(name)
    assert full.max_depth == folded.max_depth
    for number in ("log_score", "log_prior_mass", "log_n_trees", "log_evidence"):
        assert getattr(folded, number) == pytest.approx(getattr(full, number), rel=1e-9, abs=1e-9), number


@pytest.mark.parametrize("name", CASES)
def test_the_most_probable_tree_and_random_trees_are_those_of_the_full_graph(name):
    full, folded = both(name)
    trees = [folded.map_tree(), *folded.sample(20, 3)]
    twins = [full.map_tree(), *full.sample(20, 3)]
    assert trees == twins
    for tree, twin in zip(trees, twins, strict=True):
        assert_close(tree.log_probability, twin.log_probability)
        assert_close(tree.n_rows, twin.n_rows)
        assert_close(tree.predictive, twin.predictive)


@pytest.mark.parametrize("name", CASES)
def test_random_trees_have_the_probability_that_they_say(name):
    _, folded = both(name)
    for tree in [folded.map_tree(), *folded.sample(5, 4)]:
        assert folded.log_probability(tree) == pytest.approx(tree.log_probability, abs=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_a_tree_deeper_than_the_fold_is_not_one_of_the_family(name):
    _, folded = both(name)
    graph = bcart.build_graph(folded.graph.cells, replace(folded.graph.family, max_depth=folded.max_depth + 1))
    deeper = bcart.Posterior(graph, folded.leaf, bcart.LeafCountPrior(-5.0), folded.grid, folded.classes)
    trees = [tree for tree in deeper.sample(20, 0) if tree.depth > folded.max_depth]
    assert trees
    assert all(folded.log_probability(tree) == -np.inf for tree in trees)


@pytest.mark.parametrize("predictor", ["ensemble", "map"])
@pytest.mark.parametrize("name", CASES)
def test_predictions_are_as_sure_as_those_of_the_full_graph(name, predictor):
    full, folded = both(name)
    rows = rows_of(name)
    assert_close(folded.expected_output(rows, predictor), full.expected_output(rows, predictor))
    sure, twin = (one.uncertainty(rows, 0.9, predictor) for one in (folded, full))
    for part in ("mean", "between_trees", "within_leaf", "noise", "std", "low", "high"):
        scale = np.abs(getattr(twin, part)).max() + 1
        assert_close(getattr(sure, part) / scale, getattr(twin, part) / scale)


@pytest.mark.parametrize("name", CASES)
def test_the_next_target_is_told_as_by_the_full_graph(name):
    full, folded = both(name)
    rows, y = rows_of(name), np.resize(CASES[name][1][1], len(rows_of(name)))
    assert_close(folded.log_predictive(rows, y), full.log_predictive(rows, y))
    if full.classes is None:
        assert_close(folded.predict_interval(rows), full.predict_interval(rows))


@pytest.mark.parametrize("name", CASES)
def test_random_paths_end_where_those_of_the_full_graph_do(name):
    full, folded = (one.sample_paths(rows_of(name), 40, random_state=5) for one in both(name))
    assert_close(folded.statistics, full.statistics)
    if full.y.dtype.kind == "f":
        assert_close(folded.y, full.y)
    else:
        np.testing.assert_array_equal(folded.y, full.y)


def depths_in(graph):
    """The least and the most splits above each box."""
    least, most = np.full(graph.n_boxes, 99), np.zeros(graph.n_boxes, dtype=int)
    least[0] = 0
    for box in range(graph.n_boxes):
        splits = list(graph.splits_of(box)) if least[box] < graph.max_depth else []
        for child in np.concatenate([graph.core.left[splits], graph.core.right[splits]]).astype(int):
            least[child], most[child] = min(least[child], least[box] + 1), max(most[child], most[box] + 1)
    return least, np.minimum(most, graph.max_depth)


@pytest.mark.parametrize("name", ["Haberman", "Iris, depth 2", "Iris, depth 3", "Hidden XOR"])
def test_just_leaves_below_the_rim_have_no_number(name):
    full, folded = (one.with_prior(log_phi=3.0) for one in both(name))
    paths, twins = (one.sample_paths(rows_of(name), 200, random_state=5) for one in (folded, full))
    is_below = paths.boxes == -1
    least, most = (depths[twins.boxes] for depths in depths_in(full.graph))
    rim = folded.max_depth - 2
    assert is_below[least > rim].all()
    assert not is_below[most <= rim].any()
    assert (least > rim).any()
    np.testing.assert_array_equal(folded.graph.core.statistics[paths.boxes[~is_below]], paths.statistics[~is_below])


def test_leaves_at_the_rim_have_a_number():
    rare = posterior("Iris, depth 3", "always").with_prior(log_phi=60.0)
    assert (rare.sample_paths(IRIS[0][:5], 20, random_state=0).boxes >= 0).all()


@pytest.mark.parametrize("name", SMALL)
def test_the_grammar_is_that_of_the_full_graph(name):
    full, folded = (one.grammar() for one in both(name))
    assert (len(full), full.n_nonterminals) == (len(folded), folded.n_nonterminals)
    some = list(full.nonterminals)[:: max(1, full.n_nonterminals // 300)]
    assert list(folded.nonterminals)[:: max(1, full.n_nonterminals // 300)] == some
    for symbol in some:
        rules, twins = folded.rules(symbol), full.rules(symbol)
        assert [rule[:2] + rule[3:] for rule in rules] == [rule[:2] + rule[3:] for rule in twins]
        assert_close([rule.probability for rule in rules], [rule.probability for rule in twins])


# Shapes


def test_the_cases_have_boxes_at_the_rim_of_few_and_many_cells_and_splits():
    """A box is opened one level at a time if it may have more than 128 splits; one of at most 64 cells is small."""
    n_cells = {name: posterior(name, "always").graph.core.n_cells for name in FOLDED}
    assert any((counts < 64).any() and (counts > 64).any() for counts in n_cells.values())
    n_splits = {name: int(posterior(name, "never").graph.core.n_splits_of.max()) for name in FOLDED}
    assert n_splits["cancer, depth 2"] > 128
    assert sum(posterior("cancer, many cuts", "always").graph.cells.n_bins) - 30 > 128
    assert n_splits["Iris, depth 3"] < 128


@pytest.mark.parametrize("name", [*SMALL, "cancer, depth 2", "missing, weighed, decaying"])
def test_the_number_of_threads_changes_no_bit(name):
    one, two = posterior(name, "always", 1), posterior(name, "always", 2)
    assert (one.log_score, one.log_prior_mass, one.log_n_trees) == (two.log_score, two.log_prior_mass, two.log_n_trees)
    assert one.sample(5, 0) == two.sample(5, 0)
    np.testing.assert_array_equal(one.expected_output(rows_of(name)), two.expected_output(rows_of(name)))


@pytest.mark.parametrize("name", SMALL)
def test_a_folded_posterior_survives_pickling(name):
    _, folded = both(name)
    copy = pickle.loads(pickle.dumps(folded))
    assert copy.graph.is_folded
    assert (copy.log_score, copy.max_depth) == (folded.log_score, folded.max_depth)
    assert copy.sample(5, 1) == folded.sample(5, 1)
    np.testing.assert_array_equal(copy.expected_output(rows_of(name)), folded.expected_output(rows_of(name)))


@pytest.mark.parametrize("prior", [bcart.LeafCountPrior(-1.0), bcart.LeafCountPrior(9.0), bcart.DepthDecayPrior()])
@pytest.mark.parametrize("name", SMALL)
def test_another_prior_and_leaf_need_no_new_fold(name, prior):
    full, folded = (one.with_prior(prior) for one in both(name))
    assert folded.graph is posterior(name, "always").graph
    if full.classes is not None:
        full, folded = (one.with_leaf(alpha=0.3) for one in (full, folded))
    assert_close(
        [folded.log_score, folded.log_prior_mass, folded.log_n_trees],
        [full.log_score, full.log_prior_mass, full.log_n_trees],
    )
    assert folded.sample(5, 2) == full.sample(5, 2)
    assert_close(folded.expected_output(rows_of(name)), full.expected_output(rows_of(name)))


# When graphs are folded


def test_a_wide_table_is_folded_if_memory_is_small_and_a_tiny_one_is_not():
    model = Classifier(max_depth=3, max_memory="20MB")
    wide, tiny = (model.fit(*table).posterior_ for table in (binary(200, 100), binary(30, 5)))
    assert (wide.max_depth, wide.graph.is_folded) == (3, True)
    assert not tiny.graph.is_folded
    with pytest.warns(bcart.DepthLimitedWarning):
        assert bcart.build_graph(wide.graph.cells, wide.graph.family, wide.graph.limits, folding="never").max_depth < 3


@pytest.mark.parametrize("max_depth", [3, 4, 5, 6, 7])
def test_a_graph_whose_boxes_fit_is_not_folded_and_one_whose_boxes_do_not_is(max_depth):
    X = np.random.default_rng(0).random((300, 4))
    cells = Classifier(max_depth=1).fit(X, X[:, 0] > X[:, 1]).posterior_.graph.cells
    family = bcart.Family(max_depth)
    listed = bcart.build_graph(cells, family, folding="never")
    n_bytes = listed.core.n_bytes_counted
    enough, too_little = (bcart.build_graph(cells, family, bcart.Limits(int(n_bytes * part))) for part in (3, 0.7))
    assert (enough.max_depth, enough.is_folded, enough.n_boxes) == (max_depth, False, listed.n_boxes)
    assert (too_little.max_depth, too_little.is_folded) == (max_depth, True)


@pytest.mark.parametrize("max_memory", ["60kB", "200kB", "1MB", "4MB"])
@pytest.mark.parametrize("table", [binary(80, 20), IRIS], ids=["binary", "Iris"])
def test_within_a_budget_folding_reaches_no_less_depth_and_says_which(table, max_memory):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cut = Classifier(max_memory=max_memory).fit(*table).posterior_
    cells, limits = cut.graph.cells, bcart.Limits(max_memory)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        listed = bcart.build_graph(cells, None, limits, folding="never")
    if cut.max_depth is None:
        assert not caught
        return
    assert listed.max_depth is not None
    assert cut.max_depth >= listed.max_depth
    assert f"exact for trees up to depth {cut.max_depth}." in str(caught[0].message)
    exact = bcart.build_graph(cells, bcart.Family(cut.max_depth), bcart.Limits("1GB"), folding="never")
    assert cut.log_score == pytest.approx(bcart.Posterior(exact, cut.leaf, cut.prior, cut.grid).log_score, rel=1e-9)


@pytest.mark.parametrize(("kind", "n_cuts"), [("numeric", 199), ("optional", 397), ("nominal", 200)])
def test_a_fold_counts_an_answer_of_each_cell_to_each_split(kind, n_cuts):
    codes = np.random.default_rng(0).permuted(np.tile(np.arange(200), (20, 10)), axis=1).T
    cells = bcart.Cells(codes, np.eye(2)[np.arange(2000) % 2], kinds=[kind] * 20)
    n_splits = bcart.build_graph(cells, bcart.Family(max_depth=1)).n_splits
    few, many = (_core.ByteCounts(n, cells.n_bins, core_kinds(cells.kinds), 2).fold for n in (1_000, 2_000))
    assert n_splits == 20 * n_cuts
    assert many - few > 1_000 * n_splits / 8


@pytest.mark.parametrize("is_whole", [True, False])
def test_many_cells_are_folded_only_if_there_is_time_to_add_them_up(is_whole):
    """There are few pairs of splits here, and it takes a worker more than a second to sweep over the fold."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 300_000)
    statistics = np.eye(2)[labels] if is_whole else np.eye(2)[labels] / 3
    cells = bcart.Cells.from_rows(rng.integers(0, 10, (300_000, 5)), statistics)
    limits = bcart.Limits("4GB", n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        hurried, patient = (
            bcart.build_graph(cells, bcart.Family(max_depth=3), replace(limits, time_limit=seconds))
            for seconds in (0.5, 600.0)
        )
    assert (hurried.is_folded, patient.is_folded) == (False, True)
    assert hurried.max_depth < patient.max_depth == 3


def test_folding_is_one_of_three_words():
    with pytest.raises(bcart.InvalidModelError, match="folding='sometimes' must be 'automatic', 'never' or 'always'"):
        bcart.build_graph(bcart.Cells([[0], [1]], [[1.0], [1.0]]), folding="sometimes")


def test_answers_have_no_limit_of_time_though_the_fit_had_one():
    coins = np.random.default_rng(0).integers(0, 2, (60, 8))
    cells = bcart.Cells.from_labels(coins, coins[:, 0] ^ coins[:, 1], 2)
    spent = bcart.Limits(time_limit=10.0, n_jobs=1, seconds_spent=10.0)
    graph = replace(bcart.build_graph(cells, bcart.Family(4), folding="always"), limits=spent)
    assert bcart.Posterior(graph).grammar().n_nonterminals > graph.n_boxes
