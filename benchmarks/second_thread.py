"""What a second thread is worth to a build, beside a second process: that shares nothing but the machine.

Each case is built by a process with one thread alone, by two such processes at the same time, and by a process with two
threads, in turn. All keep the memory of the builds before. What two processes lose to each other no thread can win:
caches and memory are the machine's.

The processors of a virtual machine move. Before and after each build with two threads, the time is taken until a word
that one processor writes is seen by the other (``make machine_limit`` builds the program); rounds in which they
were together, apart, or moved meanwhile, have a line each. The median of its rounds counts.

python -m benchmarks.second_thread [--cases xor-200 xor-500 ...] [--seconds 60]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from benchmarks.machine.cases import all_cases
from benchmarks.machine.limit import pass_ns
from benchmarks.record import describe_machine, is_whole, markdown, replace_section

CASES = ["xor-200", "xor-500", "xor-1000", "bins-20", "rows-1000", "breast-wisconsin-4"]
MEMORY = "8GB"
Builder = subprocess.Popen[str]
FEWEST_ROUNDS = 3
LONGEST_PASS = 90  # nanoseconds, between processors that share a cache
HEAD = [
    "case", "processors", "pass ns", "rounds", "one thread s", "two processes s", "two threads s", "ns a split",
    "second process is worth", "second thread is worth",
]  # fmt: skip


class Round(NamedTuple):
    """Seconds of builds, and nanoseconds of passes before and after the last."""

    one: float
    two_processes: float
    two_threads: float
    passes: tuple[float, float]

    @property
    def place(self) -> str:
        """Say where the processors were to each other."""
        are_near = [ns < LONGEST_PASS for ns in self.passes]
        return "together" if all(are_near) else "moved" if any(are_near) else "apart"


def main() -> None:
    """Measure each case and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(all_cases()), default=CASES)
    parser.add_argument("--seconds", type=float, default=60, help="for the rounds of a case")
    parser.add_argument("--build", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.build:
        build_when_told(given.build[0], int(given.build[1]))
        return
    found = markdown([HEAD, *(line for case in given.cases for line in compare(case, given.seconds))])
    print(found)
    if is_whole(parser):
        replace_section("second thread", f"Measured on {describe_machine()}.\n\n{found}")


def compare(case: str, seconds: float) -> Iterator[list[str]]:
    """Yield the lines of a case."""
    builders = [start(case, n_threads) for n_threads in (1, 1, 2)]
    n_splits = {int(said(builder)) for builder in builders}.pop()
    rounds = defaultdict(list)
    begin, n_rounds = time.monotonic(), 0
    while time.monotonic() < begin + seconds or n_rounds < FEWEST_ROUNDS:
        measured = measure(*builders)
        rounds[measured.place].append(measured)
        n_rounds += 1
    for builder in builders:
        builder.communicate()
    for place, some in sorted(rounds.items(), reverse=True):
        alone, pair, threads = (median(each[i] for each in some) for i in range(3))
        passes = median(ns for each in some for ns in each.passes)
        numbers = [f"{number:.3g}" for number in (alone, pair, threads)]
        worth = [f"{ratio:.2f}" for ratio in (2 * alone / pair, alone / threads)]
        yield [case, place, f"{passes:.0f}", str(len(some)), *numbers, f"{threads / n_splits * 1e9:.1f}", *worth]


def measure(one: Builder, other: Builder, both: Builder) -> Round:
    """Build once in each way."""
    alone, pair = together(one), together(one, other)
    before = pass_ns()
    return Round(alone, pair, together(both), (before, pass_ns()))


def start(case: str, n_threads: int) -> Builder:
    """Return a process that builds the case, says how many splits there are, and waits to do it again."""
    command = [sys.executable, "-m", "benchmarks.second_thread", "--build", case, str(n_threads)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def together(*builders: Builder) -> float:
    """Return the seconds until all have built once."""
    begin = time.perf_counter()
    for builder in builders:
        assert builder.stdin is not None
        builder.stdin.write("build\n")
        builder.stdin.flush()
    for builder in builders:
        said(builder)
    return time.perf_counter() - begin


def said(builder: Builder) -> str:
    """Wait for its next line."""
    assert builder.stdout is not None
    line = builder.stdout.readline()
    if not line:
        raise RuntimeError("a build has failed")
    return line


def build_when_told(name: str, n_threads: int) -> None:
    """Build twice, so that there is memory to keep, and then once for each line that comes."""
    import bcart
    from bcart import _core
    from benchmarks.machine.tables import cells_of

    case = all_cases()[name]
    cells, _, _ = cells_of(case)
    _core.keep_released_memory(True)
    limits = bcart.Limits(MEMORY, n_jobs=n_threads)

    def build() -> int:
        return bcart.build_graph(cells, bcart.Family(case.max_depth), limits).core.n_splits

    build()
    print(build(), flush=True)
    for _ in sys.stdin:
        print(build(), flush=True)


if __name__ == "__main__":
    main()
