"""Time and bytes a split of the build and of the sweeps on Hidden XOR, beside what the machine's memory can do.

make bench            # n=500 and n=1000, one and two threads: about two minutes and 6 GB
python benchmarks/build_and_sweep.py --rows 200 500
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SIZES = (100, 200, 500, 1000)  # drawn in this order from one generator
MACHINE_LIMIT = Path(__file__).parents[1] / "build" / "bench" / "machine_limit"


def hidden_xor(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    for n in SIZES:
        X = rng.integers(0, 2, (n, 20))
        if n == n_rows:
            return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3]
    raise SystemExit(f"--rows must be among {SIZES}")


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def measure(n_rows: int, n_jobs: int) -> dict[str, float]:
    """Run one build and its sweeps; meant for a process of its own, so that peak memory is this run's."""
    import bcart
    from bcart import _core

    X, y = hidden_xor(n_rows)
    cells = bcart.Cells.from_rows(X, bcart.DirichletLeaf.statistics(y, 2))
    limits = bcart.Limits("20GB", n_jobs=n_jobs)
    graph, build_seconds = timed(lambda: bcart.build_graph(cells, limits=limits))
    leaf = bcart.DirichletLeaf((1.0, 1.0))
    log_leaf, leaf_seconds = timed(lambda: leaf.log_marginal(graph.core.statistics, n_jobs))
    sums, sum_seconds = timed(lambda: _core.sweep_log_sum(graph.core, log_leaf, -2.0, n_jobs))
    best, max_seconds = timed(lambda: _core.sweep_maximum(graph.core, log_leaf, -2.0, n_jobs))
    arrays = ("tests", "left", "right")
    return {
        "log_score": sums.root,
        "map_score": best.root,
        "boxes": graph.n_boxes,
        "splits": graph.n_splits,
        "build": build_seconds,
        "leaf": leaf_seconds,
        "log_sum": sum_seconds,
        "maximum": max_seconds,
        "bytes_a_split": sum(np.asarray(getattr(graph.core, name)).nbytes for name in arrays) / graph.n_splits,
        "bytes_a_box": 8 + 4 + 4 + np.asarray(graph.core.statistics).nbytes / graph.n_boxes,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def in_own_process(n_rows: int, n_jobs: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", str(n_rows), str(n_jobs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def machine_limit(megabytes: int, n_threads: int) -> dict[str, float]:
    command = [str(MACHINE_LIMIT), str(megabytes), str(n_threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


HEADER = (
    f"{'n':>5} {'threads':>7} {'boxes':>11} {'splits':>12} {'build s':>8} {'ns/split':>9} {'log-sum ns':>11}"
    f" {'max ns':>7} {'total s':>8} {'B/split':>8} {'B/box':>6} {'peak GB':>8} {'read ns':>8}"
    f" {'build/2 reads':>14} {'touch GB/s':>11}"
)


def row(n_rows: int, n_jobs: int) -> str:
    run = in_own_process(n_rows, n_jobs)
    table_megabytes = int(run["boxes"] * 48 / 1e6) + 1
    limit = machine_limit(table_megabytes, n_jobs)
    n = run["splits"]
    build = run["build"] * 1e9 / n
    total = run["build"] + run["leaf"] + run["log_sum"]
    return (
        f"{n_rows:5} {n_jobs:7} {run['boxes']:11,} {n:12,} {run['build']:8.2f} {build:9.1f}"
        f" {run['log_sum'] * 1e9 / n:11.2f} {run['maximum'] * 1e9 / n:7.2f} {total:8.2f} {run['bytes_a_split']:8.1f}"
        f" {run['bytes_a_box']:6.1f} {run['peak_gb']:8.2f} {limit['read_ns']:8.2f}"
        f" {build / (2 * limit['read_ns']):14.2f} {limit['first_touch_gb_per_s']:11.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    print(f"Hidden XOR, Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    print(HEADER)
    for n_rows in arguments.rows:
        for n_jobs in arguments.threads:
            print(row(n_rows, n_jobs), flush=True)


if __name__ == "__main__":
    main()
