"""Queries a second that the exact ensemble answers, and how that grows with the graph.

Each row is a table with its queries: the rows themselves, or for Hidden XOR 200 rows of fair coins. Rows that no tree
can tell apart are answered once; times are for a distinct query. A sweep over the same graph, the least that touches
every split once, is measured beside it.

python benchmarks/response.py [--rows 100 200 500]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from build_and_sweep import hidden_xor
from sklearn.datasets import load_iris

import bcart
from bcart.datasets import load_haberman

N_XOR_QUERIES = 200
HEADER = (
    "data",
    "boxes",
    "splits",
    "rows",
    "distinct",
    "ms, 1 thread",
    "ms, 2 threads",
    "rows/s",
    "sweep ms",
    "query / sweep",
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, nargs="+", default=[100, 200, 500], help="sizes of Hidden XOR")
    arguments.add_argument("--data", type=Path, default=os.environ.get("BCART_DATA", "../shared/data"))
    given = arguments.parse_args()
    print(f"| {' | '.join(HEADER)} |\n{'|---' * len(HEADER)}|")
    haberman, iris = load_haberman(), load_iris()
    report("Haberman", haberman.data, haberman.target, haberman.data)
    report("Iris", iris.data, iris.target, iris.data)
    vertebral = Path(given.data) / "paper" / "vertebral.csv"
    if vertebral.exists():
        table = np.loadtxt(vertebral, delimiter=",", skiprows=1)
        report("Vertebral, 5 bins", table[:, :-1], table[:, -1], table[:, :-1], max_bins=5)
    else:
        print(f"Vertebral left out: {vertebral} does not exist; set BCART_DATA")
    queries = np.random.default_rng(1).integers(0, 2, (N_XOR_QUERIES, 20))
    for n_rows in given.rows:
        report(f"XOR n={n_rows}", *hidden_xor(n_rows), queries)


def report(name: str, X: np.ndarray, y: np.ndarray, queries: np.ndarray, **parameters: object) -> None:
    model = bcart.BayesianTreeClassifier(max_memory="20GB", **parameters).fit(X, y)
    posterior = model.posterior_
    n_distinct = len(np.unique(posterior._routing.positions(queries), axis=0))
    assert np.isfinite(posterior.log_score)  # and swept
    milliseconds = {n: 1e3 * answer(posterior, queries, n) / n_distinct for n in (1, 2)}
    start = time.perf_counter()
    assert np.isfinite(posterior.with_prior(log_phi=3.0).log_score)
    sweep = 1e3 * (time.perf_counter() - start)
    row_rate = len(queries) / (milliseconds[2] * n_distinct / 1e3)
    cells = [f"{posterior.n_boxes:,}", f"{posterior.n_splits:,}", len(queries), n_distinct]
    times = [f"{milliseconds[1]:.2f}", f"{milliseconds[2]:.2f}", f"{row_rate:,.0f}", f"{sweep:.1f}"]
    print(f"| {' | '.join(map(str, [name, *cells, *times, f'{milliseconds[2] / sweep:.2f}']))} |", flush=True)


def answer(posterior: bcart.Posterior, queries: np.ndarray, n_jobs: int) -> float:
    """Seconds to answer all queries, the better of two runs."""
    posterior.n_jobs = n_jobs
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        posterior.predict_proba(queries)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
