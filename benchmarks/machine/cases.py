"""What is measured: tables with the family of trees that is asked for.

Imports nothing heavy: a process starts with the peak of memory of the one that started it.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import has_table

PAPER = {"caesarian": 10, "haberman": 10, "iris": 10, "vertebral": 5}  # with the bins of the paper's experiments
BINARY = (
    "anneal", "breast-wisconsin", "german-credit", "heart-cleveland", "hepatitis",
    "kr-vs-kp", "lymph", "tic-tac-toe", "vote", "zoo-1",
)  # fmt: skip
XOR_SIZES = (100, 200, 500, 1000, 2000)  # drawn in this order from one generator
XOR_MEMORY = {1000: "8GB"}  # so that all trees fit


@dataclass(frozen=True)
class Case:
    """A table, by what makes it (see `tables.py`) and with which arguments, and how deep its trees may go.

    `memory` is given to the build instead of what ``--memory`` says.
    """

    name: str
    source: tuple[object, ...]
    max_bins: int = 10
    max_depth: int | None = None
    memory: str | None = None

    @property
    def has_data(self) -> bool:
        """Whether the file that it reads is there, if it reads one."""
        return self.file is None or has_table(self.file)

    @property
    def file(self) -> str | None:
        """The name of the table that it reads, if it reads one."""
        return str(self.source[1]) if self.source[0] == "file" else None


def all_cases() -> dict[str, Case]:
    """Return every case by its name."""
    cases = [Case(name, ("file", f"paper/{name}"), bins) for name, bins in PAPER.items()]
    cases += [Case(f"xor-{n}", ("xor", n), memory=XOR_MEMORY.get(n)) for n in XOR_SIZES]
    cases += [Case("xor-1000-default", ("xor", 1000), memory="1GB")]  # what a first fit waits for
    cases += [Case(f"bins-{n}", ("numbers", 500, 3), max_bins=n) for n in (5, 10, 20, 50)]
    cases += [Case(f"features-{n}", ("numbers", 500, n), max_bins=5) for n in (2, 4, 6, 8)]
    cases += [Case(f"rows-{n}", ("numbers", n, 4)) for n in (100, 300, 1000, 3000)]
    cases += [Case(f"{name}-{d}", ("file", f"binary/{name}"), max_depth=d) for name in BINARY for d in (2, 3, 4)]
    cases += [Case("breast-cancer-3", ("breast cancer",), max_depth=3)]  # many numbers: 569 rows of 30
    return {case.name: case for case in cases}
