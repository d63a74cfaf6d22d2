"""Measure one case: meant for a process of its own, so that its peak of memory is this case's.

Prints what is found as lines of JSON, each as soon as it is known, so that a run that is cut short leaves what it had.

python -m benchmarks.machine.measure CASE THREADS MEMORY          # everything
python -m benchmarks.machine.measure CASE THREADS MEMORY again    # builds on memory that the process has kept
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections.abc import Callable

import numpy as np

import bcart
from bcart import _core
from benchmarks.clock import best_seconds, seconds_of
from benchmarks.machine.cases import Case, all_cases
from benchmarks.machine.tables import cells_of

N_SAMPLES = 10_000
N_FIRST_QUERIES = 40
PATIENCE = 10.0  # seconds for all queries: if they are expected to take longer, only the first are asked
REPEATS, REPEAT_SECONDS = 3, 1.0
OF_A_SPLIT = ("tests", "left", "right")
OF_A_BOX = ("first_split", "n_splits_of", "n_cells", "statistics")


def several(measure: Callable[[], float]) -> list[float]:
    """Return up to three measurements, fewer where they are long."""
    runs: list[float] = []
    while len(runs) < REPEATS and sum(runs) < REPEAT_SECONDS:
        runs.append(measure())
    return runs


def best_of(work: Callable[[], object]) -> float:
    """Return how long something takes when nothing comes in between."""
    return min(several(lambda: seconds_of(work)))


def tell(**facts: object) -> None:
    """Print what is known."""
    print(json.dumps(facts), flush=True)


def measure(case: Case, limits: bcart.Limits) -> None:
    """Build, sweep, draw and answer."""
    cells, grid, queries = cells_of(case)
    tell(cells=cells.n_cells)
    graph = build(cells, bcart.Family(case.max_depth), limits)
    posterior = bcart.Posterior(graph, grid=grid, n_jobs=limits.n_jobs)
    sweep(posterior)
    tell(samples=best_of(lambda: posterior.sample(N_SAMPLES, random_state=0)))
    respond(posterior, queries)


def measure_again(case: Case, limits: bcart.Limits) -> None:
    """Build with the memory of builds before instead of the system's."""
    cells, _, _ = cells_of(case)
    family = bcart.Family(case.max_depth)
    _core.keep_released_memory(True)
    bcart.build_graph(cells, family, limits)
    tell(again=best_seconds(lambda: bcart.build_graph(cells, family, limits), n_repeats=2))


def build(cells: bcart.Cells, family: bcart.Family, limits: bcart.Limits) -> bcart.Graph:
    """List boxes and splits."""
    graphs: list[bcart.Graph] = []
    system: list[float] = []

    def once() -> float:
        graphs.clear()
        before = system_seconds()
        seconds = seconds_of(lambda: graphs.append(bcart.build_graph(cells, family, limits)))
        system.append(system_seconds() - before)
        return seconds

    seconds, of_system = min(zip(several(once), system, strict=True))
    graph = graphs[0]
    tell(depth=graph.max_depth, boxes=graph.n_boxes, splits=graph.n_splits, build=seconds, build_system=of_system)
    tell(split_bytes=n_bytes(graph, OF_A_SPLIT), box_bytes=n_bytes(graph, OF_A_BOX))
    return graph


def system_seconds() -> float:
    """Return what the system has taken of this process's time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def n_bytes(graph: bcart.Graph, names: tuple[str, ...]) -> int:
    """Return the bytes of those arrays of a graph that there are."""
    return sum(np.asarray(getattr(graph.core, name)).nbytes for name in names if hasattr(graph.core, name))


def sweep(posterior: bcart.Posterior) -> None:
    """Time each kind of sweep, on posteriors that share the graph and the leaves but no sweep."""
    tell(first_score=seconds_of(lambda: posterior.log_score))
    tell(log_sum=best_of(lambda: fresh(posterior).log_score))

    def maximum() -> float:
        other = fresh(posterior)
        assert np.isfinite(other.log_score)  # which a tree's probability needs
        return seconds_of(other.map_tree)

    tell(maximum=min(several(maximum)))
    tell(count=best_of(lambda: fresh(posterior).log_n_trees))
    tell(prior_mass=best_of(lambda: fresh(posterior).log_prior_mass))


def fresh(posterior: bcart.Posterior) -> bcart.Posterior:
    """Return a posterior that has not been swept."""
    return posterior.with_prior(log_phi=3.0)


def respond(posterior: bcart.Posterior, queries: np.ndarray) -> None:
    """Answer all queries that differ, or where that takes long, some that stand for all."""
    _, places = np.unique(queries, axis=0, return_index=True)
    different = queries[np.sort(places)]
    first = different[:N_FIRST_QUERIES]
    posterior.predict_proba(first[:1])
    expected = seconds_of(lambda: posterior.predict_proba(first)) * len(different) / len(first)
    if expected > PATIENCE:
        tell(response=expected, queries=len(first), different_queries=len(different))
    else:
        seconds = best_of(lambda: posterior.predict_proba(queries))
        tell(response=seconds, queries=len(different), different_queries=len(different))


if __name__ == "__main__":
    warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
    name, n_threads, max_memory, *how = sys.argv[1:]
    chosen = all_cases()[name]
    given_limits = bcart.Limits(chosen.memory or max_memory, n_jobs=int(n_threads))
    (measure_again if how == ["again"] else measure)(chosen, given_limits)
