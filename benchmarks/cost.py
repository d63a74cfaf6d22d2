"""What `bcart.estimate_cost` predicts, beside what a build then takes.

python -m benchmarks.cost                     # all cases of benchmarks.machine: a quarter of an hour, and 24 GB
python -m benchmarks.cost --only iris xor-200
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

import bcart
from bcart.cost import CostEstimate, predict_cost
from benchmarks.machine.cases import Case, all_cases, data_folder
from benchmarks.machine.tables import cells_of
from benchmarks.readme import markdown, replace_section

HEAD = [
    "case", "boxes", "predicted", "ratio", "ratio at worst depth", "MB", "predicted", "ratio",
    "seconds", "predicted", "ratio", "probe s",
]  # fmt: skip
LARGE = {"xor-2000": "22GB", "bins-50": "22GB", "features-8": "22GB"}  # so that all trees fit
DEEPEST = {"bins-50": 4}  # more than 22 GB are needed for deeper trees
MEMORY_BESIDES = 1_500_000_000  # bytes for the system, Python and what is not counted
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
        elif not has_memory(memory_for(case, given.memory)):
            print(f"{name} is left out: the machine has less than {memory_for(case, given.memory)}", file=sys.stderr)
            has_all_data = False
        elif (line := compare(case, given.memory)) is not None:
            print(*line, flush=True)
            lines.append(line)
    if not given.only and has_all_data:
        replace_section("cost", markdown(lines))


def memory_for(case: Case, memory: str) -> str:
    """Return what the build of a case may take."""
    return case.memory or LARGE.get(case.name, memory)


def has_memory(wanted: str) -> bool:
    """Tell whether the machine could give so much."""
    given = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return bcart.Limits(wanted).n_bytes + MEMORY_BESIDES <= given


def compare(case: Case, memory: str) -> list[str] | None:
    """Return the line of a case, or None if its trees do not fit."""
    limits = bcart.Limits(memory_for(case, memory), n_jobs=2)
    cells, _, _ = cells_of(case)
    family = bcart.Family(case.max_depth or DEEPEST.get(case.name))
    start = time.perf_counter()
    cost = predict_cost(cells, family, limits)
    probe = time.perf_counter() - start
    start = time.perf_counter()
    graph = bcart.build_graph(cells, family, limits)
    bcart.Posterior(graph, n_jobs=2).log_score  # noqa: B018 - a sweep, which is part of the prediction
    seconds = time.perf_counter() - start
    if graph.core.ending.name not in ("COMPLETE", "MAX_DEPTH"):
        return None
    said = " (folded)" if graph.is_folded else f" to depth {family.max_depth}" if case.name in DEEPEST else ""
    return [case.name + said, *line_of(graph, cost, seconds, probe)]


def line_of(graph: bcart.Graph, estimate: CostEstimate, seconds: float, probe: float) -> list[str]:
    """Return counts beside predictions; boxes of a fold are those that it stands for, which nobody counted."""
    cost = estimate.folded[-1] if graph.is_folded else estimate.all_trees
    ratios = ["", "", ""]
    if not graph.is_folded:
        at_worst = max(ratios_by_depth(graph, estimate), key=lambda ratio: max(ratio, 1 / ratio))
        ratios = [f"{graph.n_boxes:,}", f"{cost.n_boxes / graph.n_boxes:.2f}", f"{at_worst:.2f}"]
    mega = graph.core.n_bytes_counted / 1e6
    return [
        ratios[0], f"{cost.n_boxes:,.0f}", *ratios[1:],
        f"{mega:.1f}", f"{cost.n_bytes / 1e6:.1f}", f"{cost.n_bytes / 1e6 / mega:.2f}",
        f"{seconds:.2f}", f"{cost.seconds:.2f}",
        f"{cost.seconds / seconds:.2f}" if seconds > WORTH_RATING else "", f"{probe:.2f}",
    ]  # fmt: skip


def ratios_by_depth(graph: bcart.Graph, estimate: CostEstimate) -> list[float]:
    """Return the predicted boxes and splits of trees up to each depth, over those that there are."""
    boxes, splits = graph.core.n_boxes_to, graph.core.n_splits_to
    parts = zip(estimate.by_depth, boxes[1:], splits[1:], strict=False)
    return [ratio for part, b, s in parts for ratio in (part.n_boxes / b, part.n_splits / s)]


if __name__ == "__main__":
    main()
