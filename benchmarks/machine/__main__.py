"""How long bcart takes and how much memory, beside what the machine's memory can do, measured in the same run.

Every case runs in a process of its own, within a limit of time; one that fails or is cut short is a row that says so.
A run of all cases puts its table into benchmarks/README.md, beside the earlier run in results/machine-before.csv;
without the data that some of them read, page and results stay as they are.

python -m benchmarks.machine                         # all cases, one and two threads, from the root of the repository
python -m benchmarks.machine --only iris xor-500     # some of them
python -m benchmarks.machine --list                  # their names
python -m benchmarks.machine --report                # only the tables of the page, from the results that are there
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machine.cases import all_cases, data_folder
from benchmarks.machine.report import CSV_COLUMNS, Row, beside, finish, table
from benchmarks.readme import replace_section

ROOT = Path(__file__).parents[2]
MACHINE_LIMIT = ROOT / "build" / "bench" / "machine_limit"
AFTER, BEFORE = (ROOT / "benchmarks" / "results" / name for name in ("machine.csv", "machine-before.csv"))
TABLE_BYTES_A_BOX = 40  # between 32 and 48, as the table of boxes grows by half
LONG_BUILD = 0.1  # seconds; in shorter ones new memory does not count
MOST_STREAMED = 1000  # megabytes; beyond, nothing changes


def main() -> None:
    """Measure, write the results down and print them."""
    given = arguments()
    if given.list:
        print(*all_cases(), sep="\n")
    elif given.report:
        write_page()
    else:
        is_kept = not given.only and has_all_data()
        rows = run(given, given.out or (AFTER if is_kept else None))
        if given.markdown:
            print(describe_machine(), table(rows, is_markdown=True), sep="\n\n")
        if given.beside:
            print(beside(read_rows(given.beside), rows))
        if is_kept:
            write_page()


def has_all_data() -> bool:
    """Tell whether every case can be measured, and say so if not."""
    missing = [name for name, case in all_cases().items() if not case.has_data]
    if missing:
        said = f"{len(missing)} cases have no data in {data_folder()} (set BCART_DATA)"
        print(f"{said}: {AFTER.name} and the page stay as they are", file=sys.stderr)
    return not missing


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=list(all_cases()), help="these cases alone")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--memory", default="4GB", help="max_memory of each build (but 8GB for xor-1000)")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of time for a case")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown when all is done")
    parser.add_argument("--out", type=Path, help=f"where results go: {AFTER.name}, or nowhere for some cases alone")
    parser.add_argument("--beside", type=Path, metavar="CSV", help="print an earlier run beside this one")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--report", action="store_true", help="tables of the page from the results that are there")
    return parser.parse_args()


def run(given: argparse.Namespace, out: Path | None) -> list[Row]:
    """Measure case by case; results are written after each."""
    rows: list[Row] = []
    for name in given.only or all_cases():
        for n_threads in given.threads:
            rows.append(one_row(name, n_threads, given))
            if out:
                write_rows(out, rows)
            if not given.markdown:
                print(table(rows[-1:], is_markdown=False, has_head=len(rows) == 1), flush=True)
    return rows


def write_page() -> None:
    """Put the tables of the last run, and of the one before beside it, into the page."""
    runs = {path: read_rows(path) for path in (BEFORE, AFTER) if path.exists()}
    path, rows = list(runs.items())[-1]
    parts = [f"`results/{path.name}`, {describe_machine()}{describe_load(rows)}", table(rows, is_markdown=True)]
    if len(runs) == 2:
        parts += ["Before and after, and how many times as fast (or small):", beside(*runs.values())]
    replace_section("machine", "\n\n".join(parts))


def one_row(name: str, n_threads: int, given: argparse.Namespace) -> Row:
    """Measure a case, and the machine with tables of its size."""
    facts: Row = {"case": name, "threads": n_threads, "load": os.getloadavg()[0]}
    if not all_cases()[name].has_data:
        return finish({**facts, "status": "no data: set BCART_DATA"})
    facts |= in_own_process(given.seconds, name, str(n_threads), given.memory)
    if facts.get("build", 0.0) > LONG_BUILD:
        facts["again"] = in_own_process(given.seconds, name, str(n_threads), given.memory, "again").get("again")
    if "boxes" in facts:
        facts |= machine_limit(facts, n_threads)
    return finish(facts)


def in_own_process(seconds: float, *words: str) -> Row:
    """Return what a process finds within a limit of time, its peak of memory, and how it ended."""
    command = [sys.executable, "-m", "benchmarks.machine.measure", *words]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, cwd=ROOT)
        status, peak, is_late = wait_for(process, time.monotonic() + seconds)
        out.seek(0)
        errors.seek(0)
        facts: Row = {}
        for line in out.read().splitlines():
            facts |= json.loads(line)
        last_words = errors.read().strip().splitlines()[-1:]
    facts["peak"] = peak
    facts["status"] = f"over {seconds:.0f} s" if is_late else "ok" if status == 0 else f"failed: {' '.join(last_words)}"
    return facts


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
    limit = run_machine_limit(table_size, min(MOST_STREAMED, int(n_bytes / 1e6) + 1), n_threads)
    found_facts = {"read_ns": limit["read_ns"], "stream_gb": 64 / limit["stream_ns"]}
    return found_facts | ({"pass_ns": limit["pass_ns"]} if limit["pass_ns"] else {})


def run_machine_limit(table_size: int, streamed: int, n_threads: int) -> dict[str, float]:
    """Return what the machine can do with a table and bytes of so many megabytes."""
    if not MACHINE_LIMIT.exists():
        raise SystemExit(f"{MACHINE_LIMIT} does not exist; `make bench` builds it")
    sizes = map(str, (table_size, streamed, n_threads))
    found = subprocess.run([MACHINE_LIMIT, *sizes], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def describe_load(rows: list[Row]) -> str:
    """Say in how many rows others used the machine, too."""
    n_cores = len(os.sched_getaffinity(0))
    busy = [row for row in rows if not row.get("load") or float(row["load"]) > n_cores + 0.5]
    reason = f"(load above its {n_cores} cores, or not recorded)"
    return f" In {len(busy)} of {len(rows)} rows the machine was busy {reason}: times are too long." if busy else ""


def describe_machine() -> str:
    """Return a line about where this was measured."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{len(os.sched_getaffinity(0))} cores of {model}, Python {platform.python_version()}."


def read_rows(path: Path) -> list[Row]:
    """Read the results of a run."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: list[Row]) -> None:
    """Write the results of a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
