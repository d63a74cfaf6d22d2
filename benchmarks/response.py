"""Queries a second that the exact ensemble answers, how that grows with the graph, and what a second thread brings.

Each row is a table with its queries: the rows themselves, or for Hidden XOR 200 rows of fair coins. Rows that no tree
can tell apart are answered once; times are for a distinct query. A sweep over the same graph, the least that touches
every split once, is measured beside it. Then: whole trees and single paths that are drawn.

python benchmarks/response.py [--rows 100 200 500]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from build_and_sweep import hidden_xor
from sklearn.datasets import load_iris

import bcart
from bcart.datasets import load_haberman

N_XOR_QUERIES = 200
N_TREES = 10_000
N_PATHS = 1000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, nargs="+", default=[100, 200, 500], help="sizes of Hidden XOR")
    arguments.add_argument("--data", type=Path, default=os.environ.get("BCART_DATA", "../shared/data"))
    given = arguments.parse_args()
    answers = [
        ["data", "boxes", "splits", "rows", "distinct", "ms", "ms, 2 threads", "rows/s", "sweep ms", "query / sweep"]
    ]
    draws = [["data", "10,000 trees s", "2 threads", "1,000 paths a row s", "2 threads"]]
    for name, posterior, queries in posteriors(given.data, given.rows):
        answers.append([name, *answer(posterior, queries)])
        draws.append([name, *draw(posterior, queries)])
        print(f"{name} measured", flush=True)
    for table in (answers, draws):
        print()
        for i, row in enumerate(table):
            print(f"| {' | '.join(row)} |" + (f"\n{'|---' * len(row)}|" if i == 0 else ""))


def posteriors(data: Path, xor_sizes: list[int]) -> Iterator[tuple[str, bcart.Posterior, np.ndarray]]:
    """The posteriors with the rows to ask about."""
    haberman, iris = load_haberman(), load_iris()
    yield "Haberman", fit(haberman.data, haberman.target), haberman.data
    yield "Iris", fit(iris.data, iris.target), iris.data
    vertebral = Path(data) / "paper" / "vertebral.csv"
    if vertebral.exists():
        table = np.loadtxt(vertebral, delimiter=",", skiprows=1)
        yield "Vertebral, 5 bins", fit(table[:, :-1], table[:, -1], max_bins=5), table[:, :-1]
    else:
        print(f"Vertebral left out: {vertebral} does not exist; set BCART_DATA")
    queries = np.random.default_rng(1).integers(0, 2, (N_XOR_QUERIES, 20))
    for n_rows in xor_sizes:
        yield f"XOR n={n_rows}", fit(*hidden_xor(n_rows)), queries


def fit(X: np.ndarray, y: np.ndarray, **parameters: object) -> bcart.Posterior:
    posterior = bcart.BayesianTreeClassifier(max_memory="20GB", **parameters).fit(X, y).posterior_
    assert np.isfinite(posterior.log_score)  # and swept
    return posterior


def answer(posterior: bcart.Posterior, queries: np.ndarray) -> list[str]:
    n_distinct = len(np.unique(posterior._routing.positions(queries), axis=0))
    one, two = (1e3 * s / n_distinct for s in on_threads(posterior, lambda: posterior.predict_proba(queries)))
    start = time.perf_counter()
    assert np.isfinite(posterior.with_prior(log_phi=3.0).log_score)
    sweep = 1e3 * (time.perf_counter() - start)
    sizes = [f"{posterior.n_boxes:,}", f"{posterior.n_splits:,}", f"{len(queries)}", f"{n_distinct}"]
    rate = len(queries) / (two * n_distinct / 1e3)
    return [*sizes, f"{one:.2f}", f"{two:.2f}", f"{rate:,.0f}", f"{sweep:.1f}", f"{two / sweep:.2f}"]


def draw(posterior: bcart.Posterior, queries: np.ndarray) -> list[str]:
    trees = on_threads(posterior, lambda: posterior.sample(N_TREES, random_state=0))
    paths = on_threads(posterior, lambda: posterior.sample_paths(queries, N_PATHS, random_state=0))
    return [f"{seconds:.2f}" for seconds in (*trees, *paths)]


def on_threads(posterior: bcart.Posterior, work: Callable[[], object]) -> tuple[float, float]:
    """Seconds with one and with two threads, the better of two runs each."""
    seconds = []
    for n_jobs in (1, 2):
        posterior.n_jobs = n_jobs
        runs = []
        for _ in range(2):
            start = time.perf_counter()
            work()
            runs.append(time.perf_counter() - start)
        seconds.append(min(runs))
    return seconds[0], seconds[1]


if __name__ == "__main__":
    main()
