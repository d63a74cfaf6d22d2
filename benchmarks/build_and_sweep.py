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
import warnings
from pathlib import Path

import numpy as np

SIZES = (100, 200, 500, 1000)  # drawn in this order from one generator
TABLE_BYTES_A_BOX = 40  # between 32 and 48, as the table grows by half
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
    kernel_seconds = resource.getrusage(resource.RUSAGE_SELF).ru_stime
    leaf = bcart.DirichletLeaf((1.0, 1.0))
    log_leaf, leaf_seconds = timed(lambda: leaf.log_marginal(graph.core.statistics, n_jobs))
    prior = bcart.LeafCountPrior(2.0).core
    depths = _core.Depths(graph.core, prior, n_jobs)
    sums, sum_seconds = timed(lambda: _core.sweep_log_sum(graph.core, depths, prior, log_leaf, n_jobs))
    best, max_seconds = timed(lambda: _core.sweep_maximum(graph.core, depths, prior, log_leaf, n_jobs))
    arrays = ("tests", "left", "right")
    return {
        "log_score": float(sums[0]),
        "map_score": float(best[0]),
        "boxes": graph.n_boxes,
        "splits": graph.n_splits,
        "build": build_seconds,
        "kernel": kernel_seconds,
        "leaf": leaf_seconds,
        "log_sum": sum_seconds,
        "maximum": max_seconds,
        "bytes_a_split": sum(np.asarray(getattr(graph.core, name)).nbytes for name in arrays) / graph.n_splits,
        "bytes_a_box": 8 + 4 + 4 + np.asarray(graph.core.statistics).nbytes / graph.n_boxes,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }


def first_fit() -> None:
    """How long a user waits who asks for too much with default settings."""
    import bcart

    warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
    model, seconds = timed(lambda: bcart.BayesianTreeClassifier().fit(*hidden_xor(1000)))
    print(f"Hidden XOR n=1000, default settings: {seconds:.1f} s, trees up to depth {model.posterior_.max_depth}")


def in_own_process(n_rows: int, n_jobs: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", str(n_rows), str(n_jobs)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def machine_limit(megabytes: int, n_threads: int) -> dict[str, float]:
    command = [str(MACHINE_LIMIT), str(megabytes), str(n_threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


COLUMNS = {
    "n": "{n_rows}",
    "threads": "{n_jobs}",
    "boxes": "{boxes:,}",
    "splits": "{splits:,}",
    "build s": "{build:.2f}",
    "kernel CPU s": "{kernel:.2f}",
    "ns/split": "{build_ns:.1f}",
    "log-sum ns": "{log_sum_ns:.1f}",
    "max ns": "{maximum_ns:.1f}",
    "all s": "{total:.2f}",
    "B/split": "{bytes_a_split:.0f}",
    "B/box": "{bytes_a_box:.0f}",
    "peak GB": "{peak_gb:.2f}",
    "read ns": "{read_ns:.1f}",
    "build / 2 reads": "{ratio:.1f}",
}


def row(n_rows: int, n_jobs: int) -> list[str]:
    run = in_own_process(n_rows, n_jobs)
    limit = machine_limit(int(run["boxes"] * TABLE_BYTES_A_BOX / 1e6) + 1, n_jobs)
    for name in ("build", "log_sum", "maximum"):
        run[f"{name}_ns"] = run[name] * 1e9 / run["splits"]
    total = run["build"] + run["leaf"] + run["log_sum"]
    ratio = run["build_ns"] / (2 * limit["read_ns"])
    facts = {"n_rows": n_rows, "n_jobs": n_jobs, "total": total, "ratio": ratio, **run, **limit}
    return [text.format(**facts) for text in COLUMNS.values()]


def as_line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--first-fit", action="store_true", help="only time a fit with default settings, n=1000")
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return
    if arguments.first_fit:
        first_fit()
        return
    print(f"Hidden XOR, Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    print(as_line(list(COLUMNS)))
    print(as_line(["---"] * len(COLUMNS)))
    for n_rows in arguments.rows:
        for n_jobs in arguments.threads:
            print(as_line(row(n_rows, n_jobs)), flush=True)


if __name__ == "__main__":
    main()
