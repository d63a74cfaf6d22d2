"""What a fit will cost: counted where the probe lists everything, else near the truth."""

import math
import re
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import bcart
from bcart.census import estimate_boxes, most_boxes, take_census
from bcart.datasets import load_haberman
from bcart.limits import parse_bytes
from bcart.probes import Layers, Probe

IRIS = load_iris(return_X_y=True)
WIDE = load_breast_cancer(return_X_y=True)
HABERMAN = load_haberman().data, load_haberman().target


def hidden_xor(n):
    X = np.random.default_rng(0).integers(0, 2, (n, 20))
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3]


def continuous(n_rows, n_features):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    return X, (X[:, 0] > 0).astype(int)


def crowded(n_rows, n_features):
    X = np.random.default_rng(0).random((n_rows, n_features))
    return X, (X[:, 0] > 0.5).astype(int)


XOR = hidden_xor(100)
KNOWN = {
    "a line": ((np.arange(12.0)[:, None], np.arange(12) % 2), {"max_bins": 12}),
    "Iris": (IRIS, {}),
    "Haberman": (HABERMAN, {}),
    "Haberman, heavy leaves": (HABERMAN, {"max_bins": 20, "min_samples_leaf": 10, "min_samples_split": 25}),
    "Hidden XOR of few rows": (hidden_xor(40), {}),
}
ESTIMATED = {
    "Hidden XOR of 100": (XOR, {}),
    "Hidden XOR of 200": (hidden_xor(200), {}),
    "Haberman in 20 bins": (HABERMAN, {"max_bins": 20}),
    "continuous": (continuous(200, 4), {"max_bins": 8}),
    "many of all possible cells": (crowded(2000, 4), {"max_bins": 8}),
    "heavy leaves": (continuous(400, 5), {"min_samples_leaf": 20}),
    "heavy leaves and boxes": (continuous(400, 5), {"min_samples_leaf": 20, "min_samples_split": 60}),
}


def cells_of(table, max_bins=10, **_):
    return bcart.BayesianTreeClassifier(max_depth=1, max_bins=max_bins, n_jobs=1).fit(*table).posterior_.graph.cells


def family_of(max_depth=None, min_samples_leaf=1, min_samples_split=2, **_):
    return bcart.Family(max_depth, min_samples_leaf, min_samples_split)


def build(table, max_memory="4GB", folding="never", **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        limits = bcart.Limits(max_memory, n_jobs=2)
        return bcart.build_graph(cells_of(table, **parameters), family_of(**parameters), limits, folding=folding)


@cache
def estimate(name):
    table, parameters = (KNOWN | ESTIMATED)[name]
    return bcart.estimate_cost(*table, n_jobs=2, **parameters)


@cache
def truth(name):
    """The graph of all trees, listed within twice the bytes that were estimated."""
    table, parameters = ESTIMATED[name]
    return build(table, round(2 * estimate(name).all_trees.n_bytes), **parameters)


def is_near(estimated, true, factor=2.0):
    return true / factor <= estimated <= true * factor


# Counts


@pytest.mark.parametrize("kinds", [("numeric",) * 3, ("optional", "numeric", "nominal"), ("nominal",) * 3])
@pytest.mark.parametrize("n_cells", [1, 5, 40, 64])
def test_no_graph_has_more_boxes_than_there_are_ways_to_restrict_codes(kinds, n_cells):
    codes = np.stack(np.unravel_index(np.random.default_rng(0).permutation(64)[:n_cells], (4, 4, 4)), axis=1)
    cells = bcart.Cells(codes, np.ones((n_cells, 1)), kinds=kinds)
    n_boxes = bcart.build_graph(cells).n_boxes
    assert n_boxes <= most_boxes(cells)
    if n_cells == 64 and "optional" not in kinds:  # every one of them is another set of cells
        assert n_boxes == most_boxes(cells)


@pytest.mark.parametrize("kinds", [("numeric",) * 3, ("optional", "numeric", "nominal"), ("nominal",) * 3])
@pytest.mark.parametrize("n_cells", [1, 5, 40, 64])
def test_random_ranges_tell_how_many_boxes_there_are(kinds, n_cells):
    codes = np.stack(np.unravel_index(np.random.default_rng(0).permutation(64)[:n_cells], (4, 4, 4)), axis=1)
    cells = bcart.Cells(codes, np.ones((n_cells, 1)), kinds=kinds)
    assert is_near(estimate_boxes(cells), bcart.build_graph(cells).n_boxes, 1.2)  # a thousand hits: four deviations


@pytest.mark.parametrize("kinds", [("numeric",) * 3, ("optional", "numeric", "nominal"), ("nominal",) * 3])
@pytest.mark.parametrize("limits", [(2, 2), (3, 8), (1, 6)])
def test_a_census_tells_boxes_of_heavy_leaves_and_their_splits(kinds, limits):
    rng = np.random.default_rng(0)
    codes = np.stack(np.unravel_index(rng.permutation(64)[:40], (4, 4, 4)), axis=1)
    cells, family = bcart.Cells(codes, rng.uniform(0.5, 2, (40, 1)), kinds=kinds), bcart.Family(None, *limits)
    census, graph = take_census(cells, family), bcart.build_graph(cells, family)
    assert is_near(census.n_boxes, graph.n_boxes, 1.2)
    assert is_near(census.n_boxes * census.splits.mean(), graph.n_splits, 1.2)
    assert is_near(census.n_boxes * census.cells.mean(), graph.core.n_cells_to[-1], 1.2)


@pytest.mark.parametrize("n", [40, 1500])
def test_where_boxes_are_rare_or_cells_too_many_random_ranges_tell_nothing(n):
    assert estimate_boxes(bcart.Cells(np.eye(n, dtype=np.uint8), np.ones((n, 1)))) is None


def test_many_layers_that_are_expected_to_hold_few_boxes_or_very_many():
    probe = Probe(4, [1, 2], [4, 4], [1], False, 4, 6, 3, 0.5, 0.1)
    for expected in (1.0, 1e3, 1e300):
        layers = Layers.told_by([probe], None, math.inf, expected)
        assert 3 <= layers.n_boxes(layers.n_levels) < math.inf


@pytest.mark.parametrize("name", KNOWN)
def test_what_the_probe_lists_is_counted_exactly(name):
    (table, parameters), cost = KNOWN[name], estimate(name)
    assert cost.all_trees.is_known
    everything = build(table, **parameters)
    assert everything.max_depth is None
    assert (cost.all_trees.n_boxes, cost.all_trees.n_splits) == (everything.n_boxes, everything.n_splits)
    for part in cost.by_depth:
        graph = build(table, max_depth=part.depth, **parameters)
        assert (part.n_boxes, part.n_splits, part.is_known) == (graph.n_boxes, graph.n_splits, True)


@pytest.mark.parametrize("name", ESTIMATED)
def test_boxes_and_splits_of_all_trees_are_within_a_factor_of_two(name):
    cost, graph = estimate(name).all_trees, truth(name)
    assert not cost.is_known
    assert graph.max_depth is None
    assert is_near(cost.n_boxes, graph.n_boxes)
    assert is_near(cost.n_splits, graph.n_splits)


def test_a_wide_table_has_not_as_many_boxes_as_half_of_it_has_pairs_of_cuts():
    cost, graph = bcart.estimate_cost(*WIDE, max_depth=2, n_jobs=2).all_trees, build(WIDE, max_depth=2)
    assert not cost.is_known
    assert is_near(cost.n_boxes, graph.n_boxes)
    assert is_near(cost.n_splits, graph.n_splits)


def test_a_root_that_was_not_finished_tells_its_splits():
    table = crowded(60_000, 20)
    cost, graph = bcart.estimate_cost(*table, max_depth=1, n_jobs=2).all_trees, build(table, max_depth=1)
    assert is_near(cost.n_splits, graph.n_splits)
    assert is_near(cost.n_boxes, graph.n_boxes)


@pytest.mark.parametrize(
    ("table", "max_bins"), [((300_000, 3), 255), ((300_000, 20), 10), ((100, 8000), 10)], ids=["bins", "rows", "wide"]
)
def test_tables_whose_tests_take_more_than_a_usual_probe_are_told_of(table, max_bins):
    cost = bcart.estimate_cost(*crowded(*table), max_bins=max_bins, n_jobs=2)
    first, n_splits = cost.by_depth[0], table[1] * (max_bins - 1)
    assert is_near(first.n_splits, n_splits)
    assert is_near(first.n_boxes, 2 * n_splits)
    assert cost.by_depth[1].n_boxes > 10 * first.n_boxes


def test_trees_of_many_cells_in_many_bins_are_told_of():
    table = crowded(300_000, 3)
    deeper, graph = (
        bcart.estimate_cost(*table, max_bins=100, n_jobs=2).by_depth[1],
        build(table, "3GB", max_bins=100, max_depth=2),
    )
    assert is_near(deeper.n_boxes, graph.n_boxes)
    assert is_near(deeper.n_splits, graph.n_splits)


def test_where_memory_is_too_small_for_all_cells_nothing_is_told():
    cost = bcart.estimate_cost(*crowded(300_000, 3), max_bins=255, max_memory="20MB", n_jobs=2)
    assert (cost.by_depth, cost.folded, cost.all_trees.is_known) == ((), (), False)
    assert np.isnan([cost.all_trees.n_boxes, cost.all_trees.n_splits, cost.all_trees.n_bytes]).all()
    assert cost.deepest_within(10**12) == 0
    assert str(cost.all_trees) == "all trees: unknown"
    assert str(cost).splitlines()[1].split() == ["all", "?", "?", "?", "?"]


@pytest.mark.parametrize("name", ESTIMATED)
def test_boxes_and_splits_of_each_depth_are_within_a_factor_of_two(name):
    cost, core = estimate(name), truth(name).core
    assert len({part.is_known for part in cost.by_depth}) == 2
    for part in cost.by_depth:
        depth = min(part.depth, len(core.n_boxes_to) - 1)
        true = core.n_boxes_to[depth], core.n_splits_to[depth]
        if part.is_known:
            assert (part.n_boxes, part.n_splits) == true
        assert is_near(part.n_boxes, true[0]), part
        assert is_near(part.n_splits, true[1]), part


def test_the_layers_that_estimates_are_held_against_are_those_of_limited_trees():
    core = truth("Haberman in 20 bins").core
    for depth in (1, 2, 3, 4, 5):
        graph = build(HABERMAN, max_bins=20, max_depth=depth)
        assert (graph.n_boxes, graph.n_splits) == (core.n_boxes_to[depth], core.n_splits_to[depth])
    assert truth("Haberman in 20 bins").n_boxes == 180_444


def test_of_a_last_layer_below_large_boxes_only_a_share_of_the_cells_is_passed():
    large, small = (Layers([1.0, 4.0], [n, 2 * n], [2.0], 2, True) for n in (100.0, 50.0))
    assert large.n_cells_passed(1, share_of_last=0.1) == 2 * 100 + 0.1 * 200
    assert small.n_cells_passed(1, share_of_last=0.1) == 2 * 50 + 100


# Bytes


@pytest.mark.parametrize("name", ESTIMATED)
def test_twice_the_bytes_are_enough_for_all_trees_and_half_are_not(name):
    table, parameters = ESTIMATED[name]
    assert truth(name).max_depth is None
    assert build(table, round(estimate(name).all_trees.n_bytes / 2), **parameters).max_depth is not None


@pytest.mark.parametrize(("name", "depth"), [("Iris", 3), ("Haberman", 4), ("Hidden XOR of 100", 3)])
def test_twice_the_bytes_are_enough_for_a_depth_and_half_are_not(name, depth):
    (table, parameters), part = (KNOWN | ESTIMATED)[name], estimate(name).by_depth[depth - 1]
    assert build(table, round(2 * part.n_bytes), max_depth=depth, **parameters).max_depth == depth
    assert build(table, round(part.n_bytes / 2), max_depth=depth, **parameters).max_depth < depth


@pytest.mark.parametrize(("n_rows", "n_features"), [(200, 500), (20_000, 20)])
def test_wide_and_long_tables_take_what_the_core_counts(n_rows, n_features):
    table = crowded(n_rows, n_features)
    cost = bcart.estimate_cost(*table, max_depth=1, n_jobs=2).all_trees
    assert cost.n_bytes == build(table, max_depth=1).core.n_bytes_counted


def test_bytes_are_near_those_that_the_build_tells():
    told = []
    limits = bcart.Limits("1GB", n_jobs=1)
    bcart.build_graph(cells_of(hidden_xor(200)), None, limits, told.append, folding="never")
    assert is_near(estimate("Hidden XOR of 200").all_trees.n_bytes, told[-1].n_bytes)


@pytest.mark.parametrize(
    ("table", "parameters"),
    [
        pytest.param((hidden_xor(200)[0], np.arange(200) % 100), {"max_depth": 2}, id="many classes"),
        pytest.param((np.repeat(np.arange(200.0)[:, None], 4, axis=1), np.arange(200) % 2), {"max_bins": 255},
                     id="many tests"),
    ],
)  # fmt: skip
def test_bytes_are_those_that_the_core_counts(table, parameters):
    cost = bcart.estimate_cost(*table, n_jobs=2, **parameters).all_trees
    assert cost.is_known
    assert cost.n_bytes == build(table, **parameters).core.n_bytes_counted


@pytest.mark.parametrize("name", KNOWN)
def test_bytes_of_what_was_counted_are_known_at_each_depth(name):
    table, parameters = KNOWN[name]
    for part in (*estimate(name).by_depth, estimate(name).all_trees):
        limited = parameters if part.depth is None else {**parameters, "max_depth": part.depth}
        assert part.n_bytes == build(table, **limited).core.n_bytes_counted


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_twice_the_bytes_of_a_folded_graph_are_enough_for_it(depth):
    (folded,) = (part for part in estimate("Hidden XOR of 100").folded if part.depth == depth)
    graph = build(XOR, round(2 * folded.n_bytes), "always", max_depth=depth)
    assert (graph.max_depth, graph.is_folded) == (depth, True)


def test_a_fold_takes_longer_the_more_cells_there_are():
    """Splits, and pairs of them, are as many in both tables."""
    rng = np.random.default_rng(0)
    few, many = (
        bcart.estimate_cost(rng.integers(0, 10, (n_rows, 5)), np.arange(n_rows) % 2, max_depth=3, n_jobs=2).folded[-1]
        for n_rows in (3_000, 300_000)
    )
    assert (few.depth, many.depth) == (3, 3)
    assert many.seconds > 5 * few.seconds


def test_folded_graphs_hold_the_same_trees_in_fewer_bytes():
    cost = estimate("Hidden XOR of 200")
    assert [part.depth for part in cost.folded] == [part.depth for part in cost.by_depth[1:]]
    for folded, listed in zip(cost.folded, cost.by_depth[1:], strict=True):
        assert (folded.n_boxes, folded.n_splits) == (listed.n_boxes, listed.n_splits)
        assert folded.n_bytes < listed.n_bytes


# The table of depths


@pytest.mark.parametrize("max_depth", [1, 2, 3, 6])
def test_no_trees_deeper_than_asked_for_are_told_of(max_depth):
    cost = bcart.estimate_cost(*XOR, max_depth=max_depth, n_jobs=2)
    assert [part.depth for part in cost.by_depth] == list(range(1, max_depth + 1))
    assert cost.all_trees.depth is None
    assert (cost.all_trees.n_boxes, cost.all_trees.n_bytes) == (cost.by_depth[-1].n_boxes, cost.by_depth[-1].n_bytes)


def test_deeper_trees_cost_more_and_seconds_are_positive():
    for name in ESTIMATED:
        cost = estimate(name)
        for part in (*cost.by_depth, *cost.folded, cost.all_trees):
            assert 0 < part.seconds < math.inf
        for shallow, deep in zip(cost.by_depth, cost.by_depth[1:], strict=False):
            assert shallow.n_boxes < deep.n_boxes
            assert shallow.n_bytes <= deep.n_bytes  # the layers above may have been the fullest


def test_the_table_has_one_row_a_depth():
    cost = estimate("Haberman in 20 bins")
    header, *rows = str(cost).splitlines()
    assert header.split()[:5] == ["depth", "boxes", "splits", "memory", "seconds"]
    assert [row.split()[0] for row in rows] == [*(str(part.depth) for part in cost.by_depth), "all"]


def test_the_deepest_trees_within_some_bytes():
    cost = estimate("Hidden XOR of 200")
    assert cost.deepest_within(10**12) is None
    assert cost.deepest_within(math.ceil(cost.all_trees.n_bytes)) is None
    assert cost.deepest_within(10) == 0
    depths = [cost.deepest_within(n) for n in (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)]
    assert depths == sorted(depths)


@pytest.mark.parametrize("max_memory", ["400kB", "15MB"])
def test_the_deepest_trees_within_some_bytes_are_those_that_can_be_built(max_memory):
    depth = estimate("Hidden XOR of 100").deepest_within(parse_bytes(max_memory))
    assert build(XOR, max_memory, "always").max_depth == depth


# Small budgets


def test_a_small_budget_is_enough_for_an_estimate():
    cost = bcart.estimate_cost(*XOR, max_memory="4MB", n_jobs=2)
    assert is_near(cost.all_trees.n_boxes, truth("Hidden XOR of 100").n_boxes)
    assert cost.by_depth[2].n_boxes == pytest.approx(truth("Hidden XOR of 100").core.n_boxes_to[3], rel=0.5)


@pytest.mark.parametrize("max_memory", [16_000, "40kB"])
def test_a_probe_that_saw_nothing_does_not_know_all_trees(max_memory):
    cost = bcart.estimate_cost(*XOR, max_memory=max_memory, n_jobs=1)
    assert cost.all_trees.n_boxes > 1
    assert not cost.all_trees.is_known


@pytest.mark.parametrize("max_memory", ["20MB"])
def test_the_warning_of_limited_depth_tells_the_expected_cost(max_memory):
    with pytest.warns(bcart.DepthLimitedWarning) as caught:
        bcart.BayesianTreeClassifier(max_memory=max_memory, n_jobs=2).fit(*XOR)
    sentence, *lines = str(caught[0].message).split("\n")
    reached = int(re.search(r"up to depth (\d+)", sentence)[1])
    graph = truth("Hidden XOR of 100")
    n_boxes = [*graph.core.n_boxes_to[reached + 1 :], graph.n_boxes]
    told = [re.fullmatch(r"  (.+): about (\d+) k boxes, .* splits, ([\d.]+ MB), .* s", line) for line in lines]
    assert [line[1] for line in told] == [*(f"depth {reached + 1 + i}" for i in range(len(lines) - 1)), "all trees"]
    for line, n in zip(told[:-1], n_boxes, strict=False):
        assert is_near(1000 * int(line[2]), n)
    assert is_near(1000 * int(told[-1][2]), graph.n_boxes)
    assert parse_bytes(told[-1][3]) > parse_bytes(max_memory)


@pytest.mark.parametrize(("time_limit", "is_told"), [(None, True), (60.0, True), (4.0, False)])
def test_the_expected_cost_is_told_only_if_the_time_limit_leaves_room_for_it(time_limit, is_told):
    with pytest.warns(bcart.DepthLimitedWarning, match="more than max_memory") as caught:
        bcart.BayesianTreeClassifier(max_memory="4MB", time_limit=time_limit, n_jobs=2).fit(*XOR)
    assert ("Expected" in str(caught[0].message)) == is_told
