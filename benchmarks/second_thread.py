"""What a second thread is worth to a build, beside a second process: that shares nothing but the machine.

Each case is built by a process with one thread alone, by two such processes at the same time, and by a process with two
threads, in turn. All keep the memory of the builds before. What two processes lose to each other no thread can win:
caches and memory are the machine's. Of some rounds the median counts.

python -m benchmarks.second_thread [--cases xor-200 xor-500 ...] [--rounds 3]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

from benchmarks.machine.cases import all_cases
from benchmarks.readme import markdown

CASES = ["xor-200", "xor-500", "xor-1000", "bins-20", "rows-1000", "breast-wisconsin-4"]
MEMORY = "8GB"
HEAD = [
    "case", "one thread s", "two processes s", "two threads s",
    "second process is worth", "second thread is worth", "ratio",
]  # fmt: skip


def main() -> None:
    """Measure each case and print a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", nargs="+", choices=list(all_cases()), default=CASES)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--build", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.build:
        build_when_told(given.build[0], int(given.build[1]))
        return
    print(markdown([HEAD, *(compare(case, given.rounds) for case in given.cases)]))


def compare(case: str, n_rounds: int) -> list[str]:
    """Return the line of a case."""
    one, other, both = (start(case, n_threads) for n_threads in (1, 1, 2))
    rounds = [(together(one), together(one, other), together(both)) for _ in range(n_rounds)]
    for builder in (one, other, both):
        builder.communicate()
    alone, pair, threads = (median(seconds) for seconds in zip(*rounds, strict=True))
    worth = 2 * alone / pair, alone / threads
    ratios = [f"{ratio:.2f}" for ratio in (*worth, worth[1] / worth[0])]
    return [case, *(f"{seconds:.3g}" for seconds in (alone, pair, threads)), *ratios]


def start(case: str, n_threads: int) -> subprocess.Popen[str]:
    """Return a process that has built the case before, and waits to do it again."""
    command = [sys.executable, "-m", "benchmarks.second_thread", "--build", case, str(n_threads)]
    builder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    wait_for(builder)
    return builder


def together(*builders: subprocess.Popen[str]) -> float:
    """Return the seconds until all have built once."""
    begin = time.perf_counter()
    for builder in builders:
        assert builder.stdin is not None
        builder.stdin.write("build\n")
        builder.stdin.flush()
    for builder in builders:
        wait_for(builder)
    return time.perf_counter() - begin


def wait_for(builder: subprocess.Popen[str]) -> None:
    """Return when it has said that it is done."""
    assert builder.stdout is not None
    if not builder.stdout.readline():
        raise RuntimeError("a build has failed")


def build_when_told(name: str, n_threads: int) -> None:
    """Build twice, so that there is memory to keep, and then once for each line that comes."""
    import bcart
    from bcart import _core
    from benchmarks.machine.tables import cells_of

    case = all_cases()[name]
    cells, _, _ = cells_of(case)
    _core.keep_released_memory(True)
    limits = bcart.Limits(MEMORY, n_jobs=n_threads)

    def build() -> None:
        bcart.build_graph(cells, bcart.Family(case.max_depth), limits)

    build()
    build()
    print("ready", flush=True)
    for _ in sys.stdin:
        build()
        print("done", flush=True)


if __name__ == "__main__":
    main()
