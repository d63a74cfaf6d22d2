"""bcart beside CART, random forests, optimal trees and BART: time, size, accuracy and honesty of probabilities.

Ten folds, the same for all models; one thread each, as many models at a time as there are processors. Writes
benchmarks/results/peers.csv and peers.png, and puts the tables into benchmarks/README.md.

python -m benchmarks.peers               # all of it, from the root of the repository
python -m benchmarks.peers --quick       # two tables, three folds, nothing is written
python -m benchmarks.peers --report      # only the tables and the figure, from the results that are there
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.peers import report, scoring
from benchmarks.peers.data import CLASSIFICATION, QUICK, REGRESSION, Table, load
from benchmarks.peers.jobs import Failed, side_by_side
from benchmarks.peers.models import Model, missing_packages, models_for

RESULTS = Path(__file__).parents[1] / "results" / "peers.csv"
Row = dict[str, object]


def main() -> None:
    """Run, write down and report."""
    given = arguments()
    if given.report:
        report.write(read_rows())
        return
    for package in missing_packages():
        print(f"{package} is left out: it is not installed (pip install '.[bench]')")
    n_folds = 3 if given.quick else given.folds
    is_kept = not given.quick and not given.only
    jobs = [
        (model, table, n_folds)
        for table in load(given.only or (list(QUICK) if given.quick else None))
        for model in models_for(table.is_regression, table.max_depth)
    ]
    rows: list[Row] = []
    for job, row in zip(jobs, side_by_side(judge, jobs), strict=True):
        rows.append(describe_row(*job, row.why) if isinstance(row, Failed) else row)
        print(report.line(rows[-1]), flush=True)
        if isinstance(row, Failed) and job[0].package == "bcart":
            raise SystemExit("nothing is reported, since what failed is ours")
        if is_kept:
            write_rows(rows)
    if is_kept:
        report.write(read_rows())


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two tables, three folds; print and write nothing")
    tables = [*CLASSIFICATION, *REGRESSION]
    parser.add_argument(
        "--only", nargs="+", metavar="TABLE", choices=tables, help="such as paper/iris; print and write nothing"
    )
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--report", action="store_true", help="tables and figure from the results that are there")
    return parser.parse_args()


def describe_row(model: Model, table: Table, n_folds: int, note: str) -> Row:
    """Return a row without scores."""
    task = "regression" if table.is_regression else "classes"
    names = {"table": table.name, "task": task, "model": model.name, "package": model.package}
    return {**names, "folds": n_folds, "note": note}


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


def read_rows() -> list[Row]:
    """Read the results; what was not measured is absent."""
    with RESULTS.open(newline="") as file:
        return [
            {k: report.parse(k, v) for k, v in row.items() if v != "" or k == "note"} for row in csv.DictReader(file)
        ]


def write_rows(rows: list[Row]) -> None:
    """Write the results, rounded."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


if __name__ == "__main__":
    main()
