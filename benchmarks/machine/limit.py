"""What the machine's memory can do, found by the program `machine_limit`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "build" / "bench" / "machine_limit"


def limit_of(table_size: int, streamed: int, n_threads: int) -> dict[str, float]:
    """Return the nanoseconds of reading at random from a table, and in order, of so many megabytes."""
    if not PROGRAM.exists():
        raise SystemExit(f"{PROGRAM} does not exist; `make machine_limit` builds it")
    sizes = map(str, (table_size, streamed, n_threads))
    found = subprocess.run([PROGRAM, *sizes], check=True, capture_output=True, text=True)
    return json.loads(found.stdout)  # type: ignore[no-any-return]


def pass_ns() -> float:
    """Return the nanoseconds until a word that one processor writes is seen by another."""
    return limit_of(1, 1, n_threads=2)["pass_ns"]
