"""What `bcart.estimate_cost` predicts, beside what a build then takes.

python -m benchmarks.cost                     # all cases of benchmarks.machine: some minutes, and 24 GB
python -m benchmarks.cost --only iris xor-200
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from typing import Any

import bcart
from bcart.cost import CostEstimate, predict_cost
from benchmarks.clock import seconds_of
from benchmarks.data import why_absent
from benchmarks.machine.cases import Case, all_cases
from benchmarks.machine.tables import cells_of
from benchmarks.record import describe_machine, is_whole, markdown, replace_section

HEAD = [
    "case", "boxes", "predicted", "ratio", "ratio at worst depth", "MB", "predicted", "ratio",
    "seconds", "predicted", "ratio", "probe s",
]  # fmt: skip
LARGE = {"xor-2000": "22GB", "bins-50": "22GB", "features-8": "22GB"}  # so that all trees fit
DEEPEST = {"bins-50": 4}  # more than 22 GB are needed for deeper trees
TOO_SMALL = "xor-1000-default"  # has the trees of xor-1000, in memory that cannot hold them
FOLDED = ["breast-cancer-3", "breast-wisconsin-4", "german-credit-4", "kr-vs-kp-4"]  # once more, in so little memory
LITTLE = "22MB"
MEMORY_BESIDES = 1_500_000_000  # bytes for the system, Python and what is not counted
WORTH_RATING = 1.0  # seconds: shorter builds have no time that could be missed by a factor


def main() -> None:
    """Predict, build, and print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(all_cases()))
    parser.add_argument("--memory", default="4GB")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
    lines, is_kept = [HEAD], is_whole(parser)
    whole = [(name, given.memory) for name in all_cases() if name != TOO_SMALL] + [(name, LITTLE) for name in FOLDED]
    asked = [(name, given.memory) for name in given.only] if given.only else whole
    for name, memory in asked:
        line = compare(all_cases()[name], memory)
        if isinstance(line, str):
            print(line, file=sys.stderr)
            is_kept = False
        else:
            print(*line, flush=True)
            lines.append(line)
    if is_kept:
        replace_section("cost", f"Measured on {describe_machine()}.\n\n{markdown(lines)}")


def memory_for(case: Case, memory: str) -> str:
    """Return what the build of a case may take."""
    return case.memory or LARGE.get(case.name, memory)


def has_memory(limits: bcart.Limits) -> bool:
    """Tell whether the machine could give so much."""
    given = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return limits.n_bytes + MEMORY_BESIDES <= given


def compare(case: Case, memory: str) -> list[str] | str:
    """Return the line of a case, or why there is none."""
    limits = bcart.Limits(memory_for(case, memory), n_jobs=2)
    if case.file and not case.has_data:
        return why_absent(case.file)
    if not has_memory(limits):
        return f"{case.name} is left out: the machine has less than {memory_for(case, memory)}"
    cells, _, _ = cells_of(case)
    family = bcart.Family(case.max_depth or DEEPEST.get(case.name))
    found: list[Any] = []
    probe = seconds_of(lambda: found.append(predict_cost(cells, family, limits)))
    seconds = seconds_of(lambda: found.append(build_and_sweep(cells, family, limits)))
    cost, graph = found
    if graph.core.ending.name not in ("COMPLETE", "MAX_DEPTH"):
        return f"{case.name} is left out: its trees do not fit into {memory_for(case, memory)}"
    said = " (folded)" if graph.is_folded else f" to depth {family.max_depth}" if case.name in DEEPEST else ""
    return [case.name + said, *line_of(graph, cost, seconds, probe)]


def build_and_sweep(cells: bcart.Cells, family: bcart.Family, limits: bcart.Limits) -> bcart.Graph:
    """Do what is predicted."""
    graph = bcart.build_graph(cells, family, limits)
    bcart.Posterior(graph, n_jobs=limits.n_jobs).log_score  # noqa: B018 - a sweep
    return graph


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
