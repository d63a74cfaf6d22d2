"""What the commands print and write."""

import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bcart as library
from bcart import __version__
from bcart.cli.report import print_scores
from bcart.cli.screen import report


@pytest.fixture(scope="session")
def fitted(haberman):
    frame = pd.read_csv(haberman)
    return library.BayesianTreeClassifier(log_phi=4.0).fit(frame[["age", "year", "nodes"]], frame["outcome"])


def test_help_lists_the_commands_and_each_has_help_of_its_own(bcart):
    code, out, _ = bcart("--help")
    assert code == 0
    commands = ("fit", "show", "predict", "sample", "export", "plot", "reproduce")
    for command in commands:
        assert re.search(rf"^[│ ]*{command} +[A-Z]", out, re.MULTILINE)
        code, own, _ = bcart(command, "--help")
        assert code == 0
        assert f"Usage: bcart {command}" in own


def test_without_a_command_help_is_shown(bcart):
    code, out, err = bcart()
    assert code == 2
    assert "Usage: bcart" in out + err


def test_the_version_is_told(bcart):
    assert bcart("--version") == (0, f"bcart {__version__}\n", "")


def test_a_fit_shows_data_cost_posterior_trees_and_scores(model, fitted):
    out = model.with_suffix(".txt").read_text()
    posterior = fitted.posterior_
    for line in str(fitted.tree_).splitlines()[1:]:
        assert f"  {line}\n" in out
    assert "haberman.csv: 306 rows\n" in out
    assert "outcome: died (81), survived (225)" in out
    assert re.search(r"nodes +numeric +0 to 52 *\n", out)
    assert f"all trees: {posterior.n_boxes / 1000:.0f} k boxes" in out
    assert (
        f"log evidence {posterior.log_evidence:.4f}, {posterior.n_boxes:,} boxes, {posterior.n_splits:,} splits" in out
    )
    assert "exact for all 10^78.5 trees on 141 cells" in out
    assert "5-fold cross-validation on 306 rows" in out
    for name in ("all trees", "most probable tree", "CART"):
        assert re.search(rf"^  {name} +0\.\d+ ", out, re.MULTILINE)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 120


def test_show_repeats_what_the_fit_has_shown(bcart, model):
    shown = bcart("show", model).out.splitlines()
    fitted = [
        line for line in model.with_suffix(".txt").read_text().splitlines() if not line.startswith(("Cost", "Saved"))
    ]
    assert [line.rstrip() for line in shown] == [line.rstrip() for line in fitted]


def test_a_model_of_the_library_can_be_shown_and_used_too(bcart, fitted, haberman, tmp_path):
    library.save_model(fitted, tmp_path / "bare.bcart", about={"data": [1], "overview": {"leaves": 3}, "scores": None})
    code, out, _ = bcart("show", tmp_path / "bare.bcart")
    assert code == 0
    assert str(fitted.tree_).splitlines()[-1] in out
    assert bcart("predict", tmp_path / "bare.bcart", haberman, "--predictor", "map").code == 0


def test_predictions_are_those_of_the_model(bcart, model, fitted, haberman, tmp_path):
    head = pd.read_csv(haberman).head(6)
    head.to_csv(tmp_path / "rows.csv", index=False)
    assert bcart("predict", model, tmp_path / "rows.csv", "-o", tmp_path / "out.parquet", "--level", "0.9").code == 0
    found = pd.read_parquet(tmp_path / "out.parquet")
    sure = fitted.uncertainty(head[["age", "year", "nodes"]], level=0.9)
    np.testing.assert_allclose(found[["p_died", "p_survived"]], sure.mean, rtol=1e-9)
    np.testing.assert_allclose(found[["p_died_low", "p_survived_low"]], sure.low, rtol=1e-6)
    np.testing.assert_allclose(found[["p_died_high", "p_survived_high"]], sure.high, rtol=1e-6)
    assert found["outcome"].tolist() == head["outcome"].tolist()


def test_predictions_go_to_the_screen_without_a_file(bcart, model, tmp_path):
    (tmp_path / "rows.csv").write_text("nodes,age,year\n0,40,60\n,,\n")
    code, out, err = bcart("predict", model, tmp_path / "rows.csv", "--predictor", "map", "--only-predictions")
    assert (code, err) == (0, "")
    header, *lines = out.splitlines()
    assert header == "prediction,p_died,p_died_low,p_died_high,p_survived,p_survived_low,p_survived_high"
    assert len(lines) == 2


def test_samples_are_those_of_the_posterior(bcart, model, fitted):
    code, out, _ = bcart("sample", model, "-n", 3, "--seed", 7)
    assert code == 0
    for tree in fitted.posterior_.sample(3, random_state=7):
        assert all(f"  {line}\n" in out for line in str(tree).splitlines()[1:])
    assert out == bcart("sample", model, "-n", 3, "--seed", 7).out
    assert out != bcart("sample", model, "-n", 3, "--seed", 8).out


@pytest.mark.parametrize("language", ["text", "dot", "sql", "c"])
def test_exports_are_those_of_the_tree(bcart, model, fitted, language, tmp_path):
    code, out, err = bcart("export", model, "--to", language)
    assert (code, err) == (0, "")
    assert out.rstrip("\n") == getattr(fitted.tree_, f"to_{language}")().rstrip("\n")
    assert bcart("export", model, "--to", language, "-o", tmp_path / "out").out == ""
    assert (tmp_path / "out").read_text() == out


def test_json_and_html_are_whole_documents(bcart, model, fitted):
    assert json.loads(bcart("export", model, "--to", "json").out) == fitted.tree_.to_dict()
    assert bcart("export", model, "--to", "html").out.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("language", ["text", "dot", "html"])
def test_exports_have_intervals_of_a_level(bcart, model, language):
    half, usual = (bcart("export", model, "--to", language, "--level", level).out for level in (0.5, 0.95))
    assert "50 %" in half
    assert "95 %" in usual
    code, out, err = bcart("export", model, "--to", language, "--level", 2)
    assert (code, out) == (2, "")
    assert "--level 2.0 must be a probability" in err


@pytest.mark.parametrize(
    ("options", "start"),
    [
        (["-o", "tree.png"], b"\x89PNG"),
        (["--kind", "posterior", "-o", "p.pdf"], b"%PDF"),
        (["--kind", "predictive", "--feature", "nodes", "-o", "x.svg"], b"<?xml"),
    ],
)
def test_pictures_are_written(bcart, model, options, start, tmp_path):
    *others, name = options
    code, _, err = bcart("plot", model, *others, tmp_path / name)
    assert code == 0, err
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_picture_stands_beside_the_model_by_default(bcart, model):
    assert bcart("plot", model).code == 0
    assert (model.parent / "haberman-tree.png").stat().st_size > 10_000


def fit(bcart, tmp_path, frame, *options):
    frame.to_csv(tmp_path / "table.csv", index=False)
    return bcart("fit", tmp_path / "table.csv", "--no-cv", *options)


def test_regression_is_recognised_and_predicted_with_intervals(bcart, tmp_path):
    x = np.arange(60.0)
    frame = pd.DataFrame({"x": x, "price": np.where(x < 30, 10.0, 20.0) + np.sin(7 * x)})
    code, out, _ = fit(bcart, tmp_path, frame, "--target", "price", "-o", tmp_path / "m.bcart")
    assert code == 0
    assert "(numbers, guessed" in out
    assert bcart("predict", tmp_path / "m.bcart", tmp_path / "table.csv", "-o", tmp_path / "p.csv").code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    model = library.BayesianTreeRegressor().fit(frame[["x"]], frame["price"])
    np.testing.assert_allclose(found["prediction"], model.predict(frame[["x"]]), rtol=1e-5)
    np.testing.assert_allclose(found[["target_low", "target_high"]], model.predict_interval(frame[["x"]]), rtol=1e-5)
    assert (found["target_low"] < found["mean_low"]).all()


def test_regression_is_scored_beside_cart(bcart, tmp_path):
    x = np.arange(60.0)
    pd.DataFrame({"x": x, "price": np.where(x < 30, 10.0, 20.0) + np.sin(7 * x)}).to_csv(
        tmp_path / "t.csv", index=False
    )
    out = bcart("fit", tmp_path / "t.csv", "-t", "price", "--folds", 3).out
    assert "3-fold cross-validation on 60 rows" in out
    assert re.search(r"^  CART +[\d.]+ +[\d.]+ ", out, re.MULTILINE)


@pytest.mark.parametrize(("n_folds", "has_r2"), [(5, True), (9, False)])
def test_folds_of_one_row_are_scored_by_what_one_row_can_tell(bcart, tmp_path, n_folds, has_r2):
    x = np.arange(9.0)
    pd.DataFrame({"x": x, "price": np.where(x < 5, 10.0, 20.0) + np.sin(7 * x)}).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = bcart("fit", tmp_path / "t.csv", "-t", "price", "--folds", n_folds, "-o", tmp_path / "m.bcart")
    assert (code, err) == (0, "")
    assert "RMSE" in out
    assert ("R²" in out) == has_r2
    assert "nan" not in out
    assert out.splitlines()[-6:-1] == bcart("show", tmp_path / "m.bcart").out.splitlines()[-5:]


def test_a_score_that_only_some_models_have_is_left_empty_for_the_others(capsys):
    models = [{"model": "all trees", "n_leaves": None, "RMSE": 1.5}, {"model": "CART", "n_leaves": 3.0, "R²": 0.25}]
    print_scores({"n_folds": 2, "n_rows": 9, "n_known": 9, "n_tested": 9, "models": models}, report())
    _, head, *lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in (head, *lines)] == [
        ["RMSE", "R²", "leaves"],
        ["all", "trees", "1.5", "all"],
        ["CART", "0.25", "3.0"],
    ]


@pytest.mark.parametrize("error", [library.TimeBudgetError, library.MemoryBudgetError])
def test_scores_have_the_limits_of_the_fit_and_are_left_out_if_they_cross_them(
    bcart, haberman, tmp_path, monkeypatch, error
):
    asked = []

    def compare(estimator, *rest):
        asked.append(estimator.get_params())
        raise error("a fold takes longer than time_limit=60 s; raise time_limit")

    monkeypatch.setattr(sys.modules["bcart.cli.fitting"], "compare_with_cart", compare)
    options = ["--time-limit", 60, "--max-memory", "500MB", "--jobs", 1, "-o", tmp_path / "m.bcart"]
    code, out, err = bcart("fit", haberman, "-t", "outcome", *options)
    assert code == 0
    assert err == "note: scores are left out: a fold takes longer than --time-limit 60 s; raise --time-limit\n"
    assert "Scores" not in out
    assert "scores" not in library.load_model(tmp_path / "m.bcart").about
    assert (asked[0]["time_limit"], asked[0]["max_memory"], asked[0]["n_jobs"]) == (60, 500_000_000, 1)


def test_scores_of_a_sample_are_told_as_such(bcart, haberman, tmp_path):
    options = ["--max-bins", 3, "--cv-rows", 90, "--folds", 2, "-o", tmp_path / "m.bcart"]
    out = bcart("fit", haberman, "-t", "outcome", *options).out
    assert "2-fold cross-validation on 90 rows sampled from 306\n" in out
    assert library.load_model(tmp_path / "m.bcart").about["scores"]["n_rows"] == 90


def test_no_more_folds_are_told_than_were_done(bcart, tmp_path):
    (tmp_path / "two.csv").write_text("a,y\n1,x\n2,z\n")
    assert "2-fold cross-validation on 2 rows\n" in bcart("fit", tmp_path / "two.csv", "-t", "y").out


def test_options_reach_the_model(bcart, tmp_path, haberman):
    options = ["--max-bins", 4, "--binning", "quantile", "--max-depth", 2, "--prior", "depth-decay", "--alpha", 0.5]
    options += ["--split-alpha", 0.8, "--split-beta", 1, "--min-samples-leaf", 5, "--min-samples-split", 20]
    assert bcart("fit", haberman, "-t", "outcome", "--no-cv", "-o", tmp_path / "m.bcart", *options).code == 0
    frame = pd.read_csv(haberman)
    model = library.BayesianTreeClassifier(
        max_bins=4, binning="quantile", max_depth=2, prior="depth-decay", alpha=0.5, split_alpha=0.8, split_beta=1,
        min_samples_leaf=5, min_samples_split=20,
    ).fit(frame[["age", "year", "nodes"]], frame["outcome"])  # fmt: skip
    saved = library.load_model(tmp_path / "m.bcart")
    assert saved.summary["log_evidence"] == model.posterior_.log_evidence
    assert saved.tree == model.tree_


def test_hostile_names_and_labels_do_no_harm_on_the_screen(bcart, tmp_path):
    x = np.arange(40)
    frame = pd.DataFrame({"[bold]x": x, "\x1b[31mred": x % 3, "a,\"b\n'c": np.resize(["\x1b]0;t\x07", "[/]"], 40)})
    frame["[link=x]y"] = np.where(x < 20, "[red]ill", "we\x07ll")
    code, out, err = fit(bcart, tmp_path, frame, "-t", "[link=x]y", "-o", tmp_path / "m.bcart")
    assert (code, err) == (0, "")
    assert "[bold]x < 19.5" in out
    assert "[red]ill" in out
    shown = out + bcart("show", tmp_path / "m.bcart").out + bcart("sample", tmp_path / "m.bcart").out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", shown)


def test_a_limit_on_memory_is_told_as_a_note(bcart, tmp_path):
    X = np.random.default_rng(0).integers(0, 2, (100, 20))
    frame = pd.DataFrame(X).add_prefix("x").assign(y=X[:, 0] ^ X[:, 1])
    code, out, err = fit(bcart, tmp_path, frame, "-t", "y", "--max-memory", "10MB")
    assert code == 0
    assert re.search(r"exact for all .*trees up to depth 5 on 100 cells", out)
    assert err.startswith("note: listing all trees takes more than --max-memory 10.0 MB")
    assert err.count("\n") == 1
    assert "DepthLimitedWarning" not in err


def test_nothing_is_saved_unless_asked_for(bcart, tmp_path):
    code, out, _ = fit(bcart, tmp_path, pd.DataFrame({"x": range(20), "y": [0, 1] * 10}), "-t", "y")
    assert code == 0
    assert "Saved     nothing; -o model.bcart keeps the model" in out
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_left_out_rows_and_dropped_columns_are_told(bcart, tmp_path):
    frame = pd.DataFrame({"x": range(300), "name": [f"n{i}" for i in range(300)], "y": ["a", None, "b"] * 100})
    out = fit(bcart, tmp_path, frame, "-t", "y").out
    assert "200 rows\n" in out
    assert "100 rows without y are left out" in out
    assert re.search(r"name +dropped +a label for nearly every row", out)


@pytest.mark.slow
def test_the_experiments_of_the_paper_run_from_the_command(bcart, tmp_path):
    options = ["--quick", "--dataset", "haberman", "--trials", 1, "--folds", 2, "--jobs", 1]
    code, out, err = bcart("reproduce", *options, "-o", tmp_path / "out")
    assert code == 0
    assert out.startswith("# The paper's experiments\n")
    assert (tmp_path / "out" / "report.md").read_text().strip() == out.strip()
    assert f"tables, results and figures are in {tmp_path / 'out'}" in err


def test_options_reach_the_experiments_and_their_report_is_printed(bcart, tmp_path, monkeypatch):
    asked = []

    def run(quick, data, output, n_jobs, on_progress, trials, datasets, folds):
        asked.extend([quick, data, output, n_jobs, trials, datasets, folds])
        on_progress(1.0, 2.0, "haberman")
        return SimpleNamespace(text=lambda: "# The report")

    monkeypatch.setattr(sys.modules["bcart.cli.reproduce"], "run", run)
    options = [
        "--quick",
        "--data",
        tmp_path,
        "--dataset",
        "iris",
        "--dataset",
        "xor",
        "--trials",
        3,
        "--folds",
        4,
        "-j",
        2,
    ]
    code, out, err = bcart("reproduce", *options, "-o", tmp_path / "out")
    assert (code, out) == (0, "# The report\n")
    assert asked == [True, tmp_path, tmp_path / "out", 2, 3, ["iris", "xor"], 4]
    assert err.split() == f"tables, results and figures are in {tmp_path / 'out'}".split()


def test_a_dataset_that_the_paper_does_not_have_is_refused(bcart, tmp_path):
    code, _, err = bcart("reproduce", "--dataset", "titanic", "-o", tmp_path / "out")
    assert code == 2
    assert "titanic" in err
    assert list(tmp_path.iterdir()) == []
