"""The parts of the benchmarks that need no data; those that need a peer are left out where it is not installed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(path: str) -> ModuleType:
    name = "benchmark_" + path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


jobs = load("peers/jobs.py")
models = load("peers/models.py")
scoring = load("peers/scoring.py")
record = load("record.py")
cases = load("machine/cases.py")


def calibrated_coins(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(n_rows)
    return (rng.random(n_rows) < p).astype(int), np.column_stack([1 - p, p])


def test_probabilities_that_hold_have_no_calibration_error():
    assert scoring.calibration_error(*calibrated_coins(200_000)) < 0.005


def test_overconfidence_is_the_calibration_error():
    y = np.array([0] * 70 + [1] * 30)
    always_sure = np.tile([0.95, 0.05], (100, 1))
    assert scoring.calibration_error(y, always_sure) == pytest.approx(0.25)


def test_calibration_error_does_not_depend_on_the_order_of_rows():
    y, proba = calibrated_coins(500)
    order = np.random.default_rng(1).permutation(len(y))
    assert scoring.calibration_error(y, proba) == pytest.approx(scoring.calibration_error(y[order], proba[order]))


def test_brier_score_is_zero_for_the_truth_and_two_for_its_opposite():
    y = np.array([0, 1, 1])
    truth = np.eye(2)[y]
    assert scoring.brier(y, truth) == 0
    assert scoring.brier(y, 1 - truth) == 2
    assert scoring.brier(y, np.full((3, 2), 0.5)) == pytest.approx(0.5)


def test_log_loss_of_a_sure_error_is_bounded_by_the_least_probability():
    y = np.array([0])
    assert scoring.log_loss(y, np.array([[0.5, 0.5]])) == pytest.approx(np.log(2))
    assert scoring.log_loss(y, np.array([[0.0, 1.0]])) == pytest.approx(np.log(1.001 / 0.001))


def test_coverage_counts_the_targets_within():
    assert scoring.coverage(np.array([0.0, 1.0, 5.0]), np.array([[-1, 1], [0, 1], [0, 1]])) == pytest.approx(2 / 3)


def test_standard_error_is_that_of_the_mean():
    assert scoring.mean_and_error([1.0, 3.0]) == pytest.approx((2.0, 1.0))


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_job_that_fails_or_ends_its_process_harms_no_other(capfd):
    def work(n: int) -> float:
        return 1 / n if n < 3 else os._exit(n)

    failed = [jobs.Failed("raised ZeroDivisionError"), jobs.Failed("ended the process")]
    assert list(jobs.side_by_side(work, [(1,), (0,), (3,), (2,)])) == [1, *failed, 0.5]
    assert "ZeroDivisionError: division by zero" in capfd.readouterr().err


def test_a_section_of_a_page_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- x: begin -->\nold\n<!-- x: end -->\nafter\n")
    record.replace_section("x", "new \\1", page)
    assert page.read_text() == "before\n<!-- x: begin -->\nnew \\1\n<!-- x: end -->\nafter\n"
    with pytest.raises(ValueError, match="has no lines"):
        record.replace_section("y", "new", page)


def test_every_case_has_a_name_and_a_question_of_its_own():
    named = cases.all_cases()
    questions = {(case.source, case.max_bins, case.max_depth, case.memory) for case in named.values()}
    assert len(questions) == len(named)
    assert {"iris", "xor-1000", "bins-50", "features-8", "rows-3000", "zoo-1-4"} <= set(named)


# -- peers -------------------------------------------------------------------------------------------------------------


def needs(*packages: str) -> pytest.MarkDecorator:
    absent = [package for package in packages if package in models.missing_packages()]
    return pytest.mark.skipif(bool(absent), reason=f"not installed: {', '.join(absent)}")


ignore_distutils = pytest.mark.filterwarnings("ignore:The distutils package is deprecated")  # which pydl8.5 imports


def noisy_classes() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    return X, (X[:, 0] > 0.5).astype(int) + ((X[:, 1] > 0.4) ^ (rng.random(200) < 0.2))


@ignore_distutils
@needs("pydl8.5")
def test_probabilities_of_dl85_are_the_frequencies_of_classes_in_a_leaf():
    X, y = noisy_classes()
    model = models.Dl85()
    model.fit(X, y)
    codes, proba, leaves = model.encode(X), np.full((len(y), 3), np.nan), 0
    below = [(model.tree.tree_, np.arange(len(y)))]
    while below:
        node, rows = below.pop()
        if "feat" in node:
            is_left = codes[rows, node["feat"]] == 1
            below += [(node["left"], rows[is_left]), (node["right"], rows[~is_left])]
        else:
            proba[rows] = np.bincount(y[rows], minlength=3) / len(rows)
            leaves += 1
    np.testing.assert_allclose(model.proba(X), proba)
    assert model.n_leaves() == leaves
    assert model.note == ""


@ignore_distutils
@needs("pydl8.5", "pystreed")
def test_dl85_and_streed_find_trees_of_the_same_error():
    from pystreed import STreeDClassifier

    X, y = noisy_classes()
    model = models.Dl85()
    model.fit(X, y)
    codes = model.encode(X)
    best = STreeDClassifier(max_depth=models.DL85_DEPTH).fit(codes, y)
    assert model.tree.error_ == np.sum(best.predict(codes) != y)


# -- without data ------------------------------------------------------------------------------------------------------


def run(*arguments: object, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=BENCHMARKS.parent,
        env={**os.environ, "BCART_DATA": str(data)},
        capture_output=True,
        text=True,
    )


def left_out(name: str, folder: Path) -> str:
    path = folder / f"{name}.csv"
    return f"{name} is left out: {path} does not exist; set BCART_DATA to a folder with {name}.csv\n"


def test_cases_without_their_data_are_left_out_of_the_predictions_of_cost(tmp_path):
    done = run("-m", "benchmarks.cost", "--only", "iris", "features-2", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("features-2 ")
    assert done.stderr == left_out("paper/iris", tmp_path)


def test_defaults_without_data_are_left_as_they_are(tmp_path):
    done = run("-m", "benchmarks.regression_defaults", data=tmp_path)
    said = "".join(left_out(f"regression/{name}", tmp_path) for name in ("diabetes", "airfoil", "yacht"))
    assert (done.returncode, done.stderr) == (0, f"{said}the page stays as it is\n")


def test_peers_leave_out_tables_that_are_not_there(tmp_path):
    done = run("-m", "benchmarks.peers", "--only", "paper/iris", data=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == left_out("paper/iris", tmp_path)


def test_a_table_that_peers_do_not_have_is_refused_with_a_list_of_those_there_are(tmp_path):
    done = run("-m", "benchmarks.peers", "--only", "typo", data=tmp_path)
    assert done.returncode == 2
    assert "'typo'" in done.stderr
    assert "paper/iris" in done.stderr
    assert "regression/yacht" in done.stderr


@pytest.mark.parametrize("options", [[], ["--threads", "2"]])
@pytest.mark.parametrize("has_data", [True, False])
def test_only_a_whole_run_with_all_data_is_published(tmp_path, monkeypatch, capsys, has_data, options):
    monkeypatch.syspath_prepend(BENCHMARKS.parent)
    machine = importlib.import_module("benchmarks.machine.__main__")
    monkeypatch.setenv("BCART_DATA", str(tmp_path))
    if has_data:
        for case in cases.all_cases().values():
            if case.file:
                path = tmp_path / f"{case.file}.csv"
                path.parent.mkdir(exist_ok=True)
                path.touch()
    pages = []
    monkeypatch.setattr(machine, "AFTER", tmp_path / "machine.csv")
    monkeypatch.setattr(machine, "one_row", lambda name, n_threads, _: {"case": name, "threads": n_threads})
    monkeypatch.setattr(machine, "write_page", lambda: pages.append("written"))
    monkeypatch.setattr(sys, "argv", ["benchmarks.machine", *options])
    machine.main()
    is_published = has_data and not options
    assert (tmp_path / "machine.csv").exists() == is_published
    assert pages == ["written"] * is_published
    said = left_out("paper/iris", tmp_path)
    assert (said in capsys.readouterr().err) == (not has_data and not options)


def test_a_gain_is_told_of_what_both_runs_have_measured():
    loaded = load("machine/report.py")
    row = {
        "case": "x",
        "threads": 1,
        "depth": "all",
        "build": 2.0,
        "queries": 40,
        "different_queries": 40,
        "response": 3.0,
    }
    faster = {**row, "build": "1.0", "response": "0.5"}
    assert "| 2 | 1 | 2.0 |" in loaded.beside([row], [faster])
    assert "| 3 | 0.5 | 6.0 |" in loaded.beside([row], [faster])
    assert "| 3 | ~0.5 |  |" in loaded.beside([row], [{**faster, "different_queries": 1000}])
    assert "| 2 | 1 |  |" in loaded.beside([row], [{**faster, "depth": 4}])
