"""How long bcart takes and how much memory, beside what the machine's memory can do, measured in the same run.

Every case runs in a process of its own, within a limit of time; one that fails or is cut short is a row that says so.
A run of all cases, with all their data, puts its tables into benchmarks/README.md and results/machine.md; any other
run leaves page and results as they are.

python -m benchmarks.machine                         # all cases, one and two threads, from the root of the repository
python -m benchmarks.machine --only iris xor-500     # some of them
python -m benchmarks.machine --list                  # their names
python -m benchmarks.machine --report                # only the tables of the page, from the results that are there
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import why_absent
from benchmarks.machine.cases import all_cases
from benchmarks.machine.limit import limit_of
from benchmarks.machine.report import Row, beside, finish, plain_head, plain_line, short_table, table
from benchmarks.record import RESULTS, describe_machine, is_whole, read_rows, replace_section, write_rows

ROOT = Path(__file__).parents[2]
AFTER, BEFORE, PAGE = (RESULTS / name for name in ("machine.csv", "machine-before.csv", "machine.md"))
TABLE_BYTES_A_BOX = 40  # between 32 and 48, as the table of boxes grows by half
LONG_BUILD = 0.1  # seconds; in shorter ones new memory does not count
MOST_STREAMED = 1000  # megabytes; beyond, nothing changes
CASE_SECONDS = 120.0


def main() -> None:
    """Measure, write the results down and print them."""
    parser = command_line()
    given = parser.parse_args()
    if given.list:
        print(*all_cases(), sep="\n")
    elif given.report:
        write_page()
    else:
        is_kept = is_whole(parser) and has_all_data()
        run(given, AFTER if is_kept else given.out)
        if is_kept:
            write_page()


def has_all_data() -> bool:
    """Tell whether every case can be measured, and say so if not."""
    missing = {case.file: None for case in all_cases().values() if case.file and not case.has_data}
    for name in missing:
        print(why_absent(name), file=sys.stderr)
    if missing:
        print(f"{AFTER.name} and the page stay as they are", file=sys.stderr)
    return not missing


def command_line() -> argparse.ArgumentParser:
    """Return what can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(all_cases()), help="these cases alone")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", default="4GB", help="max_memory of each build, where a case has none of its own")
    parser.add_argument("--out", type=Path, help="a file for the results of some cases alone")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--report", action="store_true", help="tables of the page from the results that are there")
    return parser


def run(given: argparse.Namespace, out: Path | None) -> None:
    """Measure case by case; results are written after each."""
    rows: list[Row] = []
    print(plain_head())
    for name in given.only or all_cases():
        for n_threads in given.threads:
            rows.append(one_row(name, n_threads, given.memory))
            print(plain_line(rows[-1]), flush=True)
            if out:
                write_rows(out, rows)


def write_page() -> None:
    """Put the tables of the last run, and of the engine before beside it, where they are read."""
    rows = read_rows(AFTER)
    made_on = f"Measured on {rows[0]['machine']}.{describe_load(rows)}"
    replace_section("machine", f"{made_on}\n\n{short_table(rows)}")
    PAGE.write_text(
        f"# All that `make bench` has measured\n\n[The page of benchmarks](../README.md#time-and-memory) says what the "
        f"columns are. {made_on}\n\n{table(rows)}\n"
    )
    replace_section("before", beside(read_rows(BEFORE), rows))


def one_row(name: str, n_threads: int, memory: str) -> Row:
    """Measure a case, and the machine with tables of its size."""
    facts: Row = {"case": name, "threads": n_threads, "machine": describe_machine(), "load": os.getloadavg()[0]}
    if not all_cases()[name].has_data:
        return {**facts, "status": "no data: set BCART_DATA"}
    facts |= in_own_process(name, str(n_threads), memory)
    if facts.get("build", 0.0) > LONG_BUILD:
        facts["again"] = in_own_process(name, str(n_threads), memory, "again").get("again")
    if "boxes" in facts:
        facts |= machine_limit(facts, n_threads)
    return finish(facts)


def in_own_process(*words: str) -> Row:
    """Return what a process finds within a limit of time, its peak of memory, and how it ended."""
    command = [sys.executable, "-m", "benchmarks.machine.measure", *words]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=ROOT)
        status, peak, is_late = wait_for(process, time.monotonic() + CASE_SECONDS)
        out.seek(0)
        errors.seek(0)
        facts: Row = {}
        for line in out.read().splitlines():
            facts |= json.loads(line)
        last_words = errors.read().strip().splitlines()[-1:]
    how = f"over {CASE_SECONDS:.0f} s" if is_late else "ok" if status == 0 else f"failed: {' '.join(last_words)}"
    return {**facts, "peak": peak, "status": how}


def wait_for(process: subprocess.Popen[bytes], deadline: float) -> tuple[int, int, bool]:
    """Return the exit status of a process, its peak of resident bytes, and whether it had to be stopped."""
    is_late = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_maxrss * 1024, is_late
        if time.monotonic() > deadline and not is_late:
            process.kill()
            is_late = True
        time.sleep(0.02)


def machine_limit(facts: Row, n_threads: int) -> dict[str, float]:
    """Measure random reads from a table as large as that of the boxes, and reading bytes like the graph's in order."""
    n_bytes = int(facts["split_bytes"]) + int(facts["box_bytes"])
    table_size = int(facts["boxes"] * TABLE_BYTES_A_BOX / 1e6) + 1
    limit = limit_of(table_size, min(MOST_STREAMED, int(n_bytes / 1e6) + 1), n_threads)
    found_facts = {"read_ns": limit["read_ns"], "stream_gb": 64 / limit["stream_ns"]}
    return found_facts | ({"pass_ns": limit["pass_ns"]} if limit["pass_ns"] else {})


def describe_load(rows: list[Row]) -> str:
    """Say in how many rows others used the machine, too."""
    n_cores = len(os.sched_getaffinity(0))
    busy = [row for row in rows if float(row["load"]) > n_cores]
    return f" In {len(busy)} of {len(rows)} rows the load was above {n_cores}: times are too long." if busy else ""


if __name__ == "__main__":
    main()
