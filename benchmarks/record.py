"""Where findings go: rows into files under results/, tables into pages."""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path

README = Path(__file__).parent / "README.md"
RESULTS = Path(__file__).parent / "results"


def is_whole(parser: argparse.ArgumentParser) -> bool:
    """Tell whether the command line asks for the whole as it is published: any other run only prints."""
    return parser.parse_args() == parser.parse_args([])


def replace_section(name: str, text: str, path: Path = README) -> None:
    """Write `text` between the lines ``<!-- name: begin -->`` and ``<!-- name: end -->`` of a page."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    page = path.read_text()
    if begin not in page or end not in page:
        raise ValueError(f"{path.name} has no lines {begin.strip()} and {end}")
    inside = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    path.write_text(inside.sub(lambda _: f"{begin}{text.strip()}\n{end}", page, count=1))


def markdown(lines: list[list[str]]) -> str:
    """Return lines, the first of which is the head, as a table."""
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a file; what was not measured is absent."""
    with path.open(newline="") as file:
        return [{name: text for name, text in row.items() if text} for row in csv.DictReader(file)]


def write_rows(path: Path, rows: Sequence[dict[str, object]]) -> None:
    """Write rows, of which each has some of the columns; numbers are rounded."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def describe_machine() -> str:
    """Say where this is running."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    giga = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"{len(os.sched_getaffinity(0))} cores of {model}, {giga:.0f} GiB, Python {platform.python_version()}"
