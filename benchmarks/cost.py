"""What `bcart.estimate_cost` predicts, beside what a build then takes.

python -m benchmarks.cost                     # all cases of benchmarks.machine that fit into 4 GB: some minutes
python -m benchmarks.cost --only iris xor-200
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import bcart
from bcart.cost import Cost, predict_cost
from benchmarks.machine.cases import Case, all_cases, data_folder
from benchmarks.machine.tables import cells_of
from benchmarks.readme import markdown, replace_section

HEAD = ["case", "boxes", "predicted", "ratio", "MB", "predicted", "ratio", "seconds", "predicted", "ratio", "probe s"]
WORTH_RATING = 1.0  # seconds: shorter builds have no time that could be missed by a factor


def main() -> None:
    """Predict, build, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(all_cases()))
    parser.add_argument("--memory", default="4GB")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
    lines, has_all_data = [HEAD], True
    for name in given.only or all_cases():
        case = all_cases()[name]
        if not case.has_data:
            print(f"{name} is left out: {data_folder()} does not have it; set BCART_DATA", file=sys.stderr)
            has_all_data = False
        elif (line := compare(case, given.memory)) is not None:
            print(*line, flush=True)
            lines.append(line)
    if not given.only and has_all_data:
        replace_section("cost", markdown(lines))


def compare(case: Case, memory: str) -> list[str] | None:
    """Return the line of a case, or None if its trees do not fit."""
    limits = bcart.Limits(case.memory or memory, n_jobs=2)
    cells, _, _ = cells_of(case)
    family = bcart.Family(case.max_depth)
    start = time.perf_counter()
    cost = predict_cost(cells, family, limits)
    probe = time.perf_counter() - start
    start = time.perf_counter()
    graph = bcart.build_graph(cells, family, limits)
    bcart.Posterior(graph, n_jobs=2).log_score  # noqa: B018 - a sweep, which is part of the prediction
    seconds = time.perf_counter() - start
    if graph.core.ending.name not in ("COMPLETE", "MAX_DEPTH"):
        return None
    predicted = cost.folded[-1] if graph.is_folded else cost.all_trees
    return [case.name + (" (folded)" if graph.is_folded else ""), *line_of(graph, predicted, seconds, probe)]


def line_of(graph: bcart.Graph, cost: Cost, seconds: float, probe: float) -> list[str]:
    """Return counts beside predictions; boxes of a fold are those that it stands for, which nobody counted."""
    boxes = "" if graph.is_folded else f"{graph.n_boxes:,}"
    mega = graph.core.n_bytes_counted / 1e6
    return [
        boxes, f"{cost.n_boxes:,.0f}", "" if graph.is_folded else f"{cost.n_boxes / graph.n_boxes:.2f}",
        f"{mega:.1f}", f"{cost.n_bytes / 1e6:.1f}", f"{cost.n_bytes / 1e6 / mega:.2f}",
        f"{seconds:.2f}", f"{cost.seconds:.2f}",
        f"{cost.seconds / seconds:.2f}" if seconds > WORTH_RATING else "", f"{probe:.2f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
