"""A run gives what scikit-learn's own cross-validation gives, the same each time, and says so in tables."""

import csv
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score, cross_validate
from sklearn.tree import DecisionTreeClassifier

from bcart import BayesianTreeClassifier, InvalidDataError, InvalidModelError, MemoryBudgetError
from bcart.reproduce import __main__, experiment, fetch, figures, reproduction, run, schedule
from bcart.reproduce.binning import BINNINGS
from bcart.reproduce.data import Problem
from bcart.reproduce.intervals import Interval
from bcart.reproduce.tables import fold_lines, mark

TRIALS, FOLDS = 2, 3  # of the run that most tests look at


@pytest.fixture(scope="module")
def report():
    return run(datasets=["iris"], trials=TRIALS, folds=FOLDS, n_jobs=1)


@pytest.fixture
def small_forests(monkeypatch):
    monkeypatch.setattr(experiment, "RandomForestClassifier", partial(RandomForestClassifier, n_estimators=2))


def numbers(report, binning, model, measure):
    """Trials times folds."""
    found = [r for r in report.results if (r.binning, r.model) == (binning, model)]
    return np.array([getattr(r, measure) for r in found]).reshape(TRIALS, FOLDS)


def parts(trial):
    return StratifiedKFold(FOLDS, shuffle=True, random_state=trial)


# -- against scikit-learn ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"), [("CART", DecisionTreeClassifier), ("random forest", RandomForestClassifier)]
)
def test_raw_numbers_give_what_scikit_learns_cross_validation_gives(report, name, kind):
    X, y = load_iris(return_X_y=True)
    for trial, ours in enumerate(numbers(report, "none", name, "accuracy")):
        expected = cross_val_score(kind(random_state=trial), X, y, cv=parts(trial))
        assert ours.tolist() == expected.tolist()


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
@pytest.mark.parametrize(("name", "predictor"), [("best tree", "map"), ("ensemble", "ensemble")])
def test_our_trees_give_what_scikit_learns_cross_validation_gives(report, binning, name, predictor):
    X, y = load_iris(return_X_y=True)
    model = BayesianTreeClassifier(log_phi=2.0, max_bins=10, binning=binning, predictor=predictor)
    for trial in range(TRIALS):
        found = cross_validate(model, X, y, cv=parts(trial), scoring=["accuracy"], return_estimator=True)
        assert numbers(report, binning, name, "accuracy")[trial].tolist() == found["test_accuracy"].tolist()
        if predictor == "map":
            sizes = [fitted.tree_.n_nodes for fitted in found["estimator"]]
            assert numbers(report, binning, name, "nodes")[trial].tolist() == sizes


def test_buckets_between_edges_are_cut_before_the_folds(report):
    X, y = load_iris(return_X_y=True)
    cut = np.column_stack([np.digitize(x, np.linspace(x.min(), x.max(), 10)) for x in X.T])
    for trial in range(TRIALS):
        cart = cross_val_score(DecisionTreeClassifier(random_state=trial), cut, y, cv=parts(trial))
        best = cross_val_score(BayesianTreeClassifier(predictor="map"), cut, y, cv=parts(trial))
        assert numbers(report, "edges", "CART", "accuracy")[trial].tolist() == cart.tolist()
        assert numbers(report, "edges", "best tree", "accuracy")[trial].tolist() == best.tolist()


# -- once more, and elsewhere ------------------------------------------------------------------------------------------


def without_times(results):
    head, *lines = fold_lines(results)
    keep = [i for i, name in enumerate(head) if "seconds" not in name]
    return [[line[i] for i in keep] for line in lines]


def test_a_run_in_processes_gives_the_same_numbers(report):
    seen = []
    again = run(datasets=["iris"], trials=1, folds=FOLDS, n_jobs=2, on_progress=lambda *step: seen.append(step))
    first_trial = [r for r in report.results if r.trial == 0]
    assert without_times(again.results) == without_times(first_trial)
    assert all((a.proba == b.proba).all() for a, b in zip(first_trial, again.results, strict=True))
    done, totals, what = zip(*seen, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == pytest.approx(totals[-1])
    assert re.fullmatch(r"iris( in \w+ bins)?, trial 1, fold \d", what[0])


@pytest.mark.parametrize(("slower", "expected"), [(1.0, 100.0), (2.0, 190.0), (0.5, 55.0)])
def test_the_time_that_is_left_starts_from_what_is_expected_and_goes_over_to_what_is_seen(slower, expected):
    assert schedule._seconds_left(0.0, 0.0, 100.0) == 100.0
    assert schedule._seconds_left(slower * 90.0, 90.0, 100.0) == pytest.approx(expected / 10)
    assert schedule._seconds_left(slower * 100.0, 100.0, 100.0) == 0.0


def test_every_dataset_binning_model_trial_and_fold_is_there_once(report):
    keys = {(r.binning, r.model, r.trial, r.fold) for r in report.results}
    assert len(keys) == len(report.results) == (2 + 3 * 4) * TRIALS * FOLDS
    assert all(r.n_train + r.n_test == 150 for r in report.results)


# -- tables, files and figures -----------------------------------------------------------------------------------------


def test_the_tables_say_what_the_results_are(report):
    text = report.tables()
    mean = numbers(report, "uniform", "best tree", "accuracy").mean()
    line = next(line for line in text.splitlines() if line.startswith("|      | uniform"))
    assert f"{mean:.3f} ± " in line.split("|")[-2]
    assert "| Iris | none     | 0.967 ± 0.069 |" in text


@pytest.mark.parametrize(
    ("mean", "expected"), [(7.0, ""), (6.96, ""), (6.6, " ▼"), (7.4, " ▲")], ids=["same", "rounded", "below", "above"]
)
def test_a_number_outside_the_papers_interval_is_marked(mean, expected):
    iris = Problem("iris", "Iris", "iris", (), 10)
    assert mark(Interval(mean, 0.1, 1.0), "nodes", "best tree", iris) == expected


def test_what_is_marked_in_the_table_is_outside(report):
    nodes = report.tables().split("## Nodes of single trees")[1].split("##")[0]
    (line,) = [line for line in nodes.splitlines() if "| none " in line]
    size = numbers(report, "none", "CART", "nodes").mean()
    assert size < 19.6 - 4.153 - 0.05  # raw numbers, and two thirds of the rows: smaller than the paper's
    assert "▼" in line.split("|")[4]


@pytest.mark.parametrize("panel", [panel for panels in figures.FIGURES.values() for panel in panels], ids=str)
def test_a_figure_shows_every_mean_and_the_whole_of_intervals_that_are_not_too_wide(report, panel):
    axis = pytest.importorskip("matplotlib.figure").Figure().subplots()
    figures._draw_panel(axis, panel, report)
    low, high = axis.get_xlim()
    drawn = [report.interval("iris", b, model, panel.measure) for b in BINNINGS for model in panel.models]
    means = [interval.mean for interval in drawn if interval is not None]
    assert low < min(means) <= max(means) < high
    if panel.measure != "fit_seconds":
        narrow = [i for i in drawn if i is not None and i.half_width < i.mean / 2]
        assert all(low < i.mean - i.half_width and i.mean + i.half_width < high for i in narrow)


def test_a_folder_holds_tables_results_and_figures(report, tmp_path):
    report.save(tmp_path / "new" / "folder")
    with (tmp_path / "new" / "folder" / "folds.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(report.results)
    assert np.mean([float(r["accuracy"]) for r in rows]) == pytest.approx(
        np.mean([r.accuracy for r in report.results]), abs=1e-5
    )
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert {"report.md", "trials.csv", "tree_accuracy.csv", "ensemble_accuracy.csv", "nodes.csv"} <= names
    assert (tmp_path / "new" / "folder" / "paper.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new" / "folder" / "report.md").read_text() == report.text()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder"]  # nothing half-written beside it


def test_a_folder_that_is_there_keeps_its_other_files(report, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "report.md").write_text("old")
    report.save(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert (tmp_path / "report.md").read_text() == report.text()


def test_nothing_is_left_behind_when_a_file_cannot_be_made(report, tmp_path, monkeypatch):
    def fail(report):
        raise RuntimeError("no ink")

    monkeypatch.setattr(figures, "draw_all", fail)
    with pytest.raises(RuntimeError, match="no ink"):
        report.save(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_there_are_no_figures_and_a_line_says_so(tmp_path, monkeypatch, small_forests):
    monkeypatch.setattr(figures, "can_draw", lambda: False)
    found = run(datasets=["iris"], trials=1, folds=2, n_jobs=1, output=tmp_path / "folder")
    assert 'pip install "bcart[plot]"' in found.text()
    assert not list((tmp_path / "folder").glob("*.png"))


def test_an_output_that_is_a_file_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidModelError, match="is a file; name a folder"):
        run(datasets=["iris"], output=tmp_path / "file", on_progress=lambda *step: pytest.fail("it ran"))


# -- what is missing ---------------------------------------------------------------------------------------------------


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("BCART_DATA", raising=False)
    monkeypatch.setattr(fetch, "fetch_openml", lambda **arguments: 1 / 0)


def test_missing_data_is_reported(no_data, small_forests):
    found = run(datasets=["caesarian", "iris"], trials=1, folds=2, n_jobs=1)
    assert [problem.name for problem in found.problems] == ["iris"]
    assert "Caesarian Section is left out: OpenML did not send its table" in " ".join(found.text().split())
    assert "Caesarian |" not in found.tables()


def test_with_nothing_left_there_is_nothing_to_run(no_data):
    with pytest.raises(InvalidDataError, match=r"nothing to run\. Vertebral Column is left out"):
        run(datasets=["vertebral"])


def test_a_quick_look_says_that_it_is_one(small_forests):
    found = run(quick=True, datasets=["iris"], trials=1, n_jobs=1)
    assert "This is a quick look" in found.text()
    assert {r.fold for r in found.results} == {0, 1, 2}
    assert {r.n_test for r in found.results} == {15}


# -- schedule ----------------------------------------------------------------------------------------------------------


def folds_of(*names):
    problems = reproduction.load_problems(names, None, 1000, 1)[0]
    return schedule.make_folds(problems, 1, 10, 10)


def test_the_longest_folds_come_first():
    seconds = [fold.seconds for fold in folds_of("iris", "xor")]
    assert seconds == sorted(seconds, reverse=True)
    assert {fold.dataset for fold in folds_of("iris", "xor")[:10]} == {"xor"}


def test_memory_limits_how_many_run_at_once():
    folds = folds_of("xor")
    largest = folds[0].n_bytes
    assert schedule.choose_n_jobs(folds, 4, 2 * largest + 1) == 2
    assert schedule.choose_n_jobs(folds, 4, 100 * largest) == 4
    assert schedule.choose_n_jobs(folds, 4, None) == 4
    with pytest.raises(MemoryBudgetError, match=r"takes about \d\.\d GB, but only 1\.0 GB of memory are free"):
        schedule.choose_n_jobs(folds, 4, 10**9)


def test_a_posterior_that_is_cut_short_is_an_error(monkeypatch):
    monkeypatch.setattr(experiment, "MAX_MEMORY", "100kB")
    with pytest.raises(
        MemoryBudgetError, match=r"haberman, trial 0, fold 0: 100kB hold all trees up to depth \d+ only"
    ):
        run(datasets=["haberman"], trials=1, folds=2, n_jobs=1)


class Deadly:
    """Ends the process that it is sent to, as a system does that has no more memory."""

    def __reduce__(self):
        return os._exit, (1,)


@pytest.mark.filterwarnings("ignore::UserWarning")  # joblib says more about it
def test_a_worker_that_is_ended_is_an_error_that_says_so():
    fold = replace(folds_of("iris")[0], y=Deadly())
    with pytest.raises(MemoryBudgetError, match=r"ended from outside.*run fewer at once \(n_jobs=1\)"):
        schedule.run_folds([fold, fold], n_jobs=2)


# -- from a shell ------------------------------------------------------------------------------------------------------


def test_the_command_prints_tables_and_writes_a_folder(tmp_path, capsys, small_forests):
    arguments = ["--datasets", "iris", "--trials", "1", "--folds", "2", "--n-jobs", "1", "-o", str(tmp_path / "out")]
    assert __main__.main(arguments) == 0
    out, err = capsys.readouterr()
    assert "## Accuracy of single trees" in out
    assert "left  (iris" in err
    assert (tmp_path / "out" / "report.md").exists()


def test_an_error_is_one_line(capsys):
    assert __main__.main(["--datasets", "iris", "--trials", "0"]) == 2
    assert capsys.readouterr().err == "Error: trials=0 must be a whole number, one or more\n"


def test_ctrl_c_ends_it_quickly_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "bcart.reproduce", "--datasets", "iris", "--trials", "40", "--n-jobs", "2"]
    process = subprocess.Popen(
        [*command, "-o", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that its group is the command and its workers
    )
    try:
        assert "%" in process.stderr.readline()  # workers are at work
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert time.monotonic() - start < 10
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "Interrupted; nothing was written."
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert wait_until(lambda: not group_lives(process.pid))


def group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
