"""Which Hidden XOR the paper may have used: CART and random forest on other numbers of coins and rows.

The paper says that its Hidden XOR has 20 features, and does not say how many rows. Its numbers for CART and random
forest are compared with what both do here; our trees take no part. Writes docs/reproduction/xor_sizes.csv.

python -m benchmarks.xor_sizes               # from the root of the repository; a few minutes
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

from bcart.datasets import make_hidden_xor
from bcart.reproduce.data import Problem
from bcart.reproduce.experiment import Result
from bcart.reproduce.intervals import summarize
from bcart.reproduce.paper import ROUNDING, quoted
from bcart.reproduce.schedule import make_folds, run_folds

RESULTS = Path(__file__).parents[1] / "docs" / "reproduction" / "xor_sizes.csv"
COINS, ROWS = (10, 12, 15, 20), (300, 500, 700, 1000, 2000)
N_TRIALS, N_FOLDS, N_JOBS = 5, 10, 2
COLUMNS = (("accuracy", "CART"), ("nodes", "CART"), ("accuracy", "random forest"))


def main() -> None:
    """Run all sizes, and write a line for each."""
    lines = [["coins", "rows", *(f"{model}, {measure}" for measure, model in COLUMNS), "within the paper's intervals"]]
    lines.append(
        ["the paper: 20", "?", *(plus_minus(measure, *paper_number(measure, model)) for measure, model in COLUMNS), ""]
    )
    for n_coins in COINS:
        for n_rows in ROWS:
            lines.append(line(n_coins, n_rows, run(n_coins, n_rows)))
            print("  ".join(lines[-1]), file=sys.stderr, flush=True)
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def run(n_coins: int, n_rows: int) -> list[Result]:
    """Return what CART and random forest say, with new rows in each trial."""
    tables = [make_hidden_xor(n_rows, trial, n_coins) for trial in range(N_TRIALS)]
    samples = tuple((table.data, table.target) for table in tables)
    folds = make_folds([Problem("xor", "Hidden XOR", "xor", samples, 10, ("none",))], N_TRIALS, N_FOLDS, N_FOLDS)
    return run_folds([replace(fold, has_ours=False) for fold in folds], N_JOBS)


def line(n_coins: int, n_rows: int, results: list[Result]) -> list[str]:
    """Return the numbers as text, and how many of them the paper's intervals hold."""
    cells, n_within = [], 0
    for measure, model in COLUMNS:
        found = summarize([result for result in results if result.model == model], measure)
        n_within += quoted(measure, model, "xor").place(found.mean, ROUNDING[measure]) == 0
        cells.append(plus_minus(measure, found.mean, found.half_width))
    return [str(n_coins), f"{n_rows:,}", *cells, f"{n_within} of {len(COLUMNS)}"]


def paper_number(measure: str, model: str) -> tuple[float, float]:
    """Return mean and half width of the paper."""
    number = quoted(measure, model, "xor")
    return number.mean, number.half_width


def plus_minus(measure: str, mean: float, half_width: float) -> str:
    """Return a number with as many digits as it deserves."""
    digits = 0 if measure == "nodes" else 3
    return f"{mean:.{digits}f} ± {half_width:.{digits}f}"


if __name__ == "__main__":
    main()
