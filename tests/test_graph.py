"""Building the graph: its shape, its limits, and its manners while it runs."""

import json
import math
import pickle
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import bcart
from bcart import _core
from bcart.graph import crossed_limit


def hidden_xor(n, seed=0):
    X = np.random.default_rng(seed).integers(0, 2, (n, 20))
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3]


X, Y = hidden_xor(100)


def fit(n_jobs=2, **parameters):
    return bcart.BayesianTreeClassifier(n_jobs=n_jobs, **parameters).fit(X, Y).posterior_


def cells_of(n):
    codes, labels = hidden_xor(n)
    return bcart.Cells.from_rows(codes, np.eye(2)[labels])


def scores(posterior):
    return posterior.log_score, posterior.log_n_trees, posterior.log_prior_mass


def numbers(posterior):
    return *scores(posterior), posterior.n_boxes, posterior.n_splits


# Shape


def test_the_graph_of_a_line_is_its_intervals():
    n = 12
    graph = bcart.build_graph(bcart.Cells(np.arange(n)[:, None], np.ones((n, 1))))
    assert (graph.n_boxes, graph.n_splits) == (n * (n + 1) // 2, math.comb(n + 1, 3))
    assert graph.max_depth is None


def test_children_add_up_to_their_parent_and_every_split_has_one():
    graph = bcart.build_graph(cells_of(30))
    core, parents = graph.core, np.full(graph.n_splits, -1)
    for box in range(graph.n_boxes):
        splits = list(graph.splits_of(box))
        assert (parents[splits] == -1).all()
        parents[splits] = box
    assert (parents >= 0).all()
    np.testing.assert_array_equal(core.n_cells[core.left] + core.n_cells[core.right], core.n_cells[parents])
    np.testing.assert_array_equal(core.statistics[core.left] + core.statistics[core.right], core.statistics[parents])


def test_a_split_is_found_by_the_cells_it_parts():
    graph = bcart.build_graph(cells_of(30))
    cells = np.arange(graph.cells.n_cells)
    for split in graph.splits_of(0):
        test = graph.tests.of(int(graph.core.tests[split]))
        assert test.lower < test.upper
        is_left = graph.cells.codes[:, test.feature] <= test.lower
        children = graph.core.left[split], graph.core.right[split]
        assert graph.find_split(0, cells, is_left) == children
        assert graph.find_split(0, cells, ~is_left) == children[::-1]
    assert graph.find_split(0, cells, cells < 1) is None


def test_a_depth_that_limits_nothing_is_no_limit():
    posterior = fit(max_depth=99)
    assert posterior.max_depth is None
    assert numbers(posterior) == numbers(fit())


def test_a_family_says_what_it_is():
    with pytest.raises(bcart.InvalidModelError, match="max_depth=0"):
        bcart.Family(max_depth=0)
    with pytest.raises(bcart.InvalidModelError, match="min_samples_leaf=-1"):
        bcart.Family(min_samples_leaf=-1)


# Budgets


@pytest.mark.parametrize("max_memory", [32_000, "100kB", "400kB", "1MB", "2.5MB", "5MB", "10MB", "20MB"])
def test_within_a_byte_budget_the_posterior_is_that_of_the_depth_it_names(max_memory):
    with pytest.warns(bcart.DepthLimitedWarning) as caught:
        limited = fit(max_memory=max_memory)
    depth = limited.max_depth
    assert depth >= 1
    assert f"exact for trees up to depth {depth}. To go deeper, lower max_bins" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert scores(limited) == scores(fit(max_depth=depth))  # of the two, one may be folded
    assert limited.map_tree() == fit(max_depth=depth).map_tree()


def test_more_memory_never_gives_less_depth():
    depths = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        for kilobytes in (32, 64, 160, 640, 2_560, 10_240, 1_000_000):
            depths.append(fit(max_memory=f"{kilobytes}kB").max_depth)
    assert depths[-1] is None
    assert depths[:-1] == sorted(depths[:-1])
    assert len(set(depths)) >= 4


@pytest.mark.parametrize("max_memory", ["100kB", "1MB", "5MB", "20MB"])
def test_the_depth_within_a_byte_budget_is_the_same_for_any_number_of_threads(max_memory):
    with pytest.warns(bcart.DepthLimitedWarning):
        one, two, three = (fit(n_jobs=n, max_memory=max_memory) for n in (1, 2, 3))
    assert one.max_depth == two.max_depth == three.max_depth
    assert numbers(one) == numbers(two) == numbers(three)


def test_no_memory_for_a_single_split_is_an_error_with_a_remedy():
    with pytest.raises(bcart.MemoryBudgetError, match=r"more than max_memory=100 bytes; lower max_bins, .* raise max"):
        fit(max_memory=100)


def test_more_boxes_than_can_be_numbered_are_no_lack_of_memory():
    crossed = crossed_limit(SimpleNamespace(core=SimpleNamespace(ending=_core.Ending.NUMBERS), limits=bcart.Limits()))
    assert crossed.budget == "more boxes than can be numbered"
    assert "machine" not in crossed.remedy


def test_features_that_can_be_tested_in_more_ways_than_can_be_numbered_are_refused():
    cells = bcart.Cells([[0] * 140_000, [255] * 140_000], np.eye(2))
    with pytest.raises(bcart.InvalidDataError, match="lower max_bins, or use fewer features"):
        bcart.build_graph(cells)


# Tests that are far fewer than there might be


@pytest.fixture(scope="module")
def wide():
    """All trees up to a depth, with listed tests and with all that are possible."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((250, 2)) < 0.1, np.nan, rng.random((250, 2)))
    model = bcart.BayesianTreeClassifier(max_depth=2, max_bins=255, n_jobs=1).fit(X, np.nansum(X, axis=1) > 1)
    listed = model.posterior_
    folded = bcart.build_graph(listed.graph.cells, listed.graph.family, folding="always")
    return X, listed, bcart.Posterior(folded, listed.leaf, listed.prior, listed.grid, listed.classes, n_jobs=1)


def test_only_tests_that_splits_ask_are_listed(wide):
    _, listed, folded = wide
    asked = np.asarray(listed.graph.core.tests)
    assert np.unique(asked).tolist() == list(range(len(listed.graph.tests.form)))
    assert len(folded.graph.tests.form) > 65_536 > len(listed.graph.tests.form)


def test_answers_are_the_same_whether_tests_are_listed_or_not(wide):
    X, listed, folded = wide
    rows = np.concatenate([X[:3], np.random.default_rng(1).random((3, 2))])
    assert listed.map_tree() == folded.map_tree()
    assert listed.sample(20, 0) == folded.sample(20, 0)
    for predictor in ("ensemble", "map"):
        np.testing.assert_allclose(listed.predict_proba(rows, predictor), folded.predict_proba(rows, predictor), 1e-9)
    labels = listed.predict(rows)
    np.testing.assert_allclose(listed.log_predictive(rows, labels), folded.log_predictive(rows, labels))
    tree = folded.sample(1, 3)[0]
    assert listed.log_probability(tree) == pytest.approx(folded.log_probability(tree))


def test_a_pickle_knows_which_tests_are_listed(wide):
    X, listed, _ = wide
    again = pickle.loads(pickle.dumps(listed))
    assert again.map_tree() == listed.map_tree()
    assert (again.predict_proba(X) == listed.predict_proba(X)).all()


def test_no_time_for_a_single_split_is_an_error_with_a_remedy():
    with pytest.raises(bcart.TimeBudgetError, match=r"longer than time_limit=1e-09 s; .* raise time_limit"):
        fit(time_limit=1e-9)


def test_within_a_time_limit_the_posterior_is_that_of_the_depth_it_names():
    codes, labels = hidden_xor(600)
    start = time.perf_counter()
    with pytest.warns(bcart.DepthLimitedWarning, match="longer than time_limit=0.2 s"):
        limited = bcart.BayesianTreeClassifier(time_limit=0.2, max_memory="4GB", n_jobs=1).fit(codes, labels).posterior_
    assert time.perf_counter() - start < 2.0
    same = bcart.BayesianTreeClassifier(max_depth=limited.max_depth, n_jobs=1).fit(codes, labels).posterior_
    assert numbers(limited) == numbers(same)


def test_a_budget_that_is_not_crossed_says_nothing():
    assert fit(max_memory="1GB", time_limit=600.0).max_depth is None


# Manners


def test_progress_tells_how_far_the_build_is():
    told = []
    start = time.perf_counter()
    graph = bcart.build_graph(cells_of(200), limits=bcart.Limits(n_jobs=1), on_progress=told.append)
    seconds = time.perf_counter() - start
    assert 1 <= len(told) <= seconds / 0.05
    assert all(isinstance(progress, bcart.Progress) for progress in told)
    assert [p.depth for p in told] == sorted(p.depth for p in told)
    assert [p.n_boxes for p in told] == sorted(p.n_boxes for p in told)
    assert [p.n_splits for p in told] == sorted(p.n_splits for p in told)
    assert [p.n_bytes for p in told] != [told[0].n_bytes] * len(told)
    assert all(0 <= p.n_expanded <= p.layer_size <= p.n_boxes for p in told)
    assert told[-1].n_boxes <= graph.n_boxes
    assert told[-1].n_splits <= graph.n_splits
    assert told[-1].depth < 20


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_in_the_callback_ends_the_build(n_jobs):
    calls = []

    def stop(progress):
        calls.append(progress)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        bcart.build_graph(cells_of(600), limits=bcart.Limits("8GB", n_jobs=n_jobs), on_progress=stop)
    assert len(calls) == 1
    assert bcart.build_graph(cells_of(10)).n_boxes > 0


def test_other_threads_of_python_run_during_a_build():
    ticks, is_done = [], threading.Event()

    def tick():
        while not is_done.wait(0.001):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        start = time.perf_counter()
        bcart.build_graph(cells_of(200), limits=bcart.Limits(n_jobs=1))
        end = time.perf_counter()
    finally:
        is_done.set()
        thread.join()
    within = [at for at in ticks if start + 0.05 * (end - start) < at < end - 0.05 * (end - start)]
    assert len(within) > 20 * (end - start)


INTERRUPTED = """
    import json, os, signal, threading, time
    import numpy as np, bcart

    X = np.random.default_rng(0).integers(0, 2, (600, 20))
    cells = bcart.Cells.from_rows(X, np.eye(2)[X[:, 0] ^ X[:, 1]])
    sent = []

    def interrupt():
        time.sleep(1.0)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        bcart.build_graph(cells, limits=bcart.Limits("8GB", n_jobs={n_jobs}))
        seconds = None
    except KeyboardInterrupt:
        seconds = time.perf_counter() - sent[0]
    small = bcart.build_graph(bcart.Cells([[0], [1], [2]], np.ones((3, 2))), limits=bcart.Limits(n_jobs={n_jobs}))
    print(json.dumps([seconds, small.n_boxes]))
"""


def run_child(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_is_a_keyboard_interrupt_at_once_and_the_next_build_works(n_jobs):
    child = run_child(INTERRUPTED.format(n_jobs=n_jobs))
    assert child.returncode == 0, child.stderr
    seconds, n_boxes = json.loads(child.stdout)
    assert seconds is not None, "the build was over before the interrupt came"
    assert seconds < 0.5  # 0.2 s on a machine that does nothing else
    assert n_boxes == 6


TOO_MANY_THREADS = """
    import resource
    import bcart

    resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))
    try:
        bcart.build_graph(bcart.Cells([[0], [1]], [[1.0], [1.0]]), limits=bcart.Limits(n_jobs=5000))
    except Exception as error:
        print(type(error).__name__)
    print(bcart.build_graph(bcart.Cells([[0], [1]], [[1.0], [1.0]]), limits=bcart.Limits(n_jobs=1)).n_boxes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_threads_that_cannot_be_started_do_not_end_the_process():
    child = run_child(TOO_MANY_THREADS)
    assert child.returncode == 0, child.stderr
    assert child.stdout.split()[-1] == "3"


PICKLED = {
    "all trees": (None, bcart.Limits(n_jobs=2), "automatic"),
    "cut short by memory": (None, bcart.Limits("10MB", n_jobs=1), "automatic"),
    "limited depth": (3, bcart.Limits(time_limit=60.0, n_jobs=1), "never"),
    "folded": (4, bcart.Limits(n_jobs=1), "always"),
}


@pytest.mark.filterwarnings("ignore::bcart.DepthLimitedWarning")
@pytest.mark.parametrize("name", PICKLED)
def test_a_pickle_without_room_for_boxes_is_small_and_gives_the_same_bits(name, monkeypatch):
    max_depth, limits, folding = PICKLED[name]
    graph = bcart.build_graph(cells_of(100), bcart.Family(max_depth), limits, folding=folding)
    monkeypatch.setattr("bcart.memory.Room.__post_init__", no_room_for_boxes)
    with pytest.warns(RuntimeWarning, match=r"no memory for .* of boxes in a pickle: it holds the cells alone"):
        pickled = pickle.dumps(graph)
    again = pickle.loads(pickled)
    assert len(pickled) < 10_000
    assert numbers(bcart.Posterior(again)) == numbers(bcart.Posterior(graph))
    assert (again.max_depth, again.is_folded) == (graph.max_depth, graph.is_folded)
    assert (again.family, again.limits) == (graph.family, graph.limits)


def no_room_for_boxes(self):
    if self.n_bytes > 20_000:
        raise bcart.MemoryBudgetError


@pytest.mark.parametrize("n_cells", [40, 300])
@pytest.mark.parametrize("kinds", [("numeric",) * 3, ("optional", "numeric", "nominal")])
def test_statistics_of_boxes_whose_cells_are_not_kept_are_those_of_the_cells(kinds, n_cells):
    rng = np.random.default_rng(0)
    codes = np.stack(np.unravel_index(rng.permutation(1000)[:n_cells], (10, 10, 10)), axis=1)
    cells = bcart.Cells(codes, rng.random((n_cells, 2)), kinds=kinds)
    graph = bcart.build_graph(cells, bcart.Family(1), folding="never")
    core, splits = graph.core, graph.splits_of(0)
    assert len(splits) >= 27
    for split in splits:
        test = graph.tests.of(core.tests[split])
        is_left = test.is_left(cells.codes[:, test.feature])
        for box, side in ((core.left[split], is_left), (core.right[split], ~is_left)):
            assert core.n_cells[box] == side.sum()
            np.testing.assert_allclose(core.statistics[box], cells.statistics[side].sum(axis=0), rtol=1e-13)
