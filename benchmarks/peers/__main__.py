"""bcart beside CART, random forests, optimal trees and BART: time, size, accuracy and honesty of probabilities.

Ten folds, the same for all models; one thread each, as many models at a time as there are processors. Writes
benchmarks/results/peers.csv and peers.png, and puts the tables into benchmarks/README.md.

python -m benchmarks.peers               # all of it, from the root of the repository
python -m benchmarks.peers --quick       # two tables, three folds, nothing is written
python -m benchmarks.peers --report      # only the tables and the figure, from the results that are there
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

from benchmarks.data import has_table, why_absent
from benchmarks.peers import report, scoring
from benchmarks.peers.data import CLASSIFICATION, QUICK, REGRESSION, Table, load
from benchmarks.peers.jobs import Failed, side_by_side
from benchmarks.peers.models import Model, missing_packages, models_for
from benchmarks.record import describe_machine, is_whole, write_rows

Row = dict[str, object]
TABLES = [*CLASSIFICATION, *REGRESSION]


def main() -> None:
    """Run, write down and report."""
    parser = command_line()
    given = parser.parse_args()
    if given.report:
        report.write(report.read_results())
        return
    for package in missing_packages():
        print(f"{package} is left out: it is not installed (pip install '.[bench]')")
    asked = given.only or (QUICK if given.quick else TABLES)
    tables = [load(name) for name in asked if name == "xor" or has_table(name)]
    is_kept = is_whole(parser) and len(tables) == len(asked)
    for name in asked:
        if name != "xor" and not has_table(name):
            print(why_absent(name), file=sys.stderr)
    rows = judge_all(tables, 3 if given.quick else given.folds, is_kept)
    if is_kept:
        report.write(rows)


def command_line() -> argparse.ArgumentParser:
    """Return what can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two tables, three folds; print and write nothing")
    parser.add_argument(
        "--only", nargs="+", metavar="TABLE", choices=TABLES, help="such as paper/iris; print and write nothing"
    )
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--report", action="store_true", help="tables and figure from the results that are there")
    return parser


def judge_all(tables: list[Table], n_folds: int, is_kept: bool) -> list[Row]:
    """Return the rows of all models on all tables."""
    jobs = [(model, table, n_folds) for table in tables for model in models_for(table.is_regression, table.max_depth)]
    rows: list[Row] = []
    for job, row in zip(jobs, side_by_side(judge, jobs), strict=True):
        rows.append(describe_row(*job, row.why) if isinstance(row, Failed) else row)
        print(report.line(rows[-1]), flush=True)
        if isinstance(row, Failed) and job[0].package == "bcart":
            raise SystemExit("nothing is reported, since what failed is ours")
        if is_kept:
            write_rows(report.RESULTS_FILE, rows)
    return rows


def describe_row(model: Model, table: Table, n_folds: int, note: str) -> Row:
    """Return a row without scores."""
    task = "regression" if table.is_regression else "classes"
    names = {"table": table.name, "task": task, "model": model.name, "package": model.package}
    place = {"version": version(model.package), "machine": describe_machine()}
    return {**names, **place, "folds": n_folds, "note": note}


def judge(model: Model, table: Table, n_folds: int) -> Row:
    """Return the scores of a model on a table: mean and standard error over the folds."""
    model.prepare()
    judge_fold = judge_numbers if table.is_regression else judge_classes
    folds, held_out, notes = [], [], Counter()
    for train, test in table.folds(n_folds):
        fit_seconds, _ = timed(lambda rows=train: model.fit(table.X[rows], table.y[rows]))
        seconds, scores, prediction = judge_fold(model, table.X[test], table.y[test])
        sizes = {"fit": fit_seconds, "predict": 1000 * seconds / len(test), "leaves": float(model.n_leaves())}
        folds.append(sizes | scores)
        held_out.append((table.y[test], prediction))
        notes[model.note] += 1
    row = describe_row(model, table, n_folds, describe(notes, n_folds))
    for name in folds[0]:
        row[name], row[f"{name}_error"] = scoring.mean_and_error([fold[name] for fold in folds])
    if not table.is_regression:
        row["ece"] = scoring.calibration_error(*map(np.concatenate, zip(*held_out, strict=True)))
    return row


def judge_classes(model: Model, X: np.ndarray, y: np.ndarray) -> tuple[float, dict[str, float], np.ndarray]:
    """Return the seconds of predicting, the scores and the predictions."""
    seconds, proba = timed(lambda: model.proba(X))
    scores = {score.__name__: score(y, proba) for score in (scoring.accuracy, scoring.log_loss, scoring.brier)}
    return seconds, scores, proba


def judge_numbers(model: Model, X: np.ndarray, y: np.ndarray) -> tuple[float, dict[str, float], np.ndarray]:
    """Return the seconds of predicting, the scores and the predictions."""
    seconds, mean = timed(lambda: model.mean(X))
    scores = {"rmse": scoring.rmse(y, mean)}
    if hasattr(model, "log_density"):
        scores["nlpd"] = -float(np.mean(model.log_density(X, y)))
        scores["coverage"] = scoring.coverage(y, model.interval(X))
    return seconds, scores, mean


def timed(work: Callable[[], np.ndarray | None]) -> tuple[float, np.ndarray | None]:
    """Return the processor's seconds for something, and what it gives: with one thread, a busy machine adds little."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def describe(notes: Counter[str], n_folds: int) -> str:
    """Return what was said of the fits, with how often where not always."""
    parts = [note if n == n_folds else f"{note} in {n} of {n_folds}" for note, n in notes.items() if note]
    return "; ".join(parts)


if __name__ == "__main__":
    main()
