"""How fast rows become codes and cells, beside numpy.unique(axis=0) and DuckDB's GROUP BY, and what a whole fit takes.

Tables have 6 features, cut into 10 bins of equal width, and two classes. The features of *walks* are the steps of a
random walk, so that most of the million possible cells stay empty; those of *independent* rows are uniform, and fill
them; trees go to depth 3 and 2. Each way gets the same codes and adds up the classes of each cell (numpy.unique counts
rows only). DuckDB's table is in its memory before the clock starts; all give their answer as arrays. The time of
encoding is put beside that of `X.sum()`, which reads the table once, and of `X.copy()`. A fit runs in a process of its
own.

python -m benchmarks.big_tables [--rows 10000 100000 1000000 10000000]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import bcart
import bcart.estimators.base
from benchmarks.clock import best_seconds
from benchmarks.record import describe_machine, is_whole, markdown, replace_section

N_FEATURES = 6
MOST_SECONDS = 120.0  # numpy is not asked for more
MAX_DEPTH = {"walks": 3, "independent": 2}
WAYS = ("encode", "2 threads", "group", "2 threads", "numpy", "DuckDB", "2 threads")
RATIOS = ("group / numpy", "group / DuckDB", "2 threads", "encode / X.sum()", "encode / X.copy()")
SPEEDS = ["data", "rows", "cells", *WAYS, *RATIOS]
FITS = ["data", "rows", "cells", "boxes", "fit s", "of this the graph", "predict_proba s", "table GB", "peak GB"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--fit", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        print(json.dumps(measure_fit(given.fit[0], int(given.fit[1]))))
        return
    speeds, fits = [SPEEDS], [FITS]
    for kind in MAX_DEPTH:
        seconds_per_row = 0.0
        for n_rows in given.rows:
            row, seconds_per_row = measure_speed(kind, n_rows, seconds_per_row)
            speeds.append([kind, f"{n_rows:,}", *row])
            fits.append([kind, f"{n_rows:,}", *fit_elsewhere(kind, n_rows)])
    print(markdown(speeds), markdown(fits), sep="\n\n")
    if is_whole(parser):
        peers = f"numpy {np.__version__}, DuckDB {version('duckdb')}"
        replace_section("rows", f"Million rows a second, on {describe_machine()}, {peers}:\n\n{markdown(speeds)}")
        replace_section("fits", markdown(fits))


def make_rows(kind: str, n_rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES)) if kind == "walks" else rng.random((n_rows, N_FEATURES))
    if kind == "walks":
        np.cumsum(X, axis=1, out=X)
    middle = X[:1000].mean(axis=0)
    y = (X[:, 0] > middle[0]) ^ (X[:, 1] > middle[1]) ^ (rng.random(n_rows) < 0.1)
    return X, y.astype(np.int64)


def measure_speed(kind: str, n_rows: int, numpy_seconds_per_row: float) -> tuple[list[str], float]:
    """Return one row of the table, and the seconds that numpy took for a row."""
    X, y = make_rows(kind, n_rows)
    grid = bcart.Grid.from_data(X)
    encode = [best_seconds(lambda n=n: grid.encode(X, n_jobs=n)) for n in (1, 2)]
    memory = [best_seconds(work) for work in (X.sum, X.copy)]
    codes = grid.encode(X)
    group = [best_seconds(lambda n=n: bcart.Cells.from_labels(codes, y, 2, n_jobs=n)) for n in (1, 2)]
    cells = bcart.Cells.from_labels(codes, y, 2)
    duck = [duckdb_seconds(codes, y, n_threads, cells) for n_threads in (1, 2)]
    unique = None
    if 1.5 * numpy_seconds_per_row * n_rows < MOST_SECONDS:
        unique = best_seconds(lambda: np.unique(codes, axis=0, return_counts=True), 1 if n_rows > 10**6 else 3)
    speeds = [
        f"{n_rows / seconds / 1e6:.1f}" if seconds else "left out" for seconds in (*encode, *group, unique, *duck)
    ]
    ratios = [f"{unique / group[0]:.0f}" if unique else "", *(f"{d / g:.1f}" for d, g in zip(duck, group, strict=True))]
    ratios += [f"{encode[0] / seconds:.1f}" for seconds in memory]
    return [f"{cells.n_cells:,}", *speeds, *ratios], unique / n_rows if unique else numpy_seconds_per_row


def duckdb_seconds(codes: Any, y: Any, n_threads: int, cells: bcart.Cells) -> float:
    import duckdb

    names = [f"c{i}" for i in range(N_FEATURES)]
    columns = {name: np.ascontiguousarray(column) for name, column in zip(names, codes.T, strict=True)} | {"y": y}
    with duckdb.connect(config={"threads": n_threads}) as connection:
        connection.register("given", columns)
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
        query = f"SELECT {', '.join(names)}, sum(1 - y) AS n0, sum(y) AS n1 FROM t GROUP BY {', '.join(names)}"
        seconds = best_seconds(lambda: connection.execute(query).fetchnumpy())
        found = connection.execute(f"{query} ORDER BY {', '.join(names)}").fetchnumpy()
    for place, name in enumerate(("n0", "n1")):
        assert np.array_equal(np.asarray(found[name], dtype=float), cells.statistics[:, place])
    return seconds


def fit_elsewhere(kind: str, n_rows: int) -> list[str]:
    command = [sys.executable, "-m", "benchmarks.big_tables", "--fit", kind, str(n_rows)]
    return list(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def measure_fit(kind: str, n_rows: int) -> list[str]:
    warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
    X, y = make_rows(kind, n_rows)
    build_graph, building = bcart.estimators.base.build_graph, []

    def timed_build(*parts: Any) -> Any:
        start = time.perf_counter()
        graph = build_graph(*parts)
        building.append(time.perf_counter() - start)
        return graph

    bcart.estimators.base.build_graph = timed_build
    model = bcart.BayesianTreeClassifier(max_depth=MAX_DEPTH[kind])
    fitting = best_seconds(lambda: model.fit(X, y), 1)
    predicting = best_seconds(lambda: model.predict_proba(X), 1)
    posterior = model.posterior_
    numbers = [f"{seconds:.2f}" for seconds in (fitting, building[0], predicting)]
    sizes = [f"{posterior.graph.cells.n_cells:,}", f"{posterior.n_boxes:,}"]
    return [*sizes, *numbers, f"{(X.nbytes + y.nbytes) / 1e9:.2f}", f"{peak_bytes() / 1e9:.2f}"]


def peak_bytes() -> int:
    """Return the most memory that this process has held; getrusage would count that of its parent, too."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
