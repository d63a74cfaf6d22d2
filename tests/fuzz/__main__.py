"""Asks random models everything, for some seconds: see `make fuzz`."""

from __future__ import annotations

import argparse
import collections
import secrets
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path.insert(0, str(Path(__file__).parent))
from cases import Case, cases
from checks import check

CASES_A_ROUND = 50


def run_round(number: int, ended: collections.Counter[str]) -> Case | None:
    """Check some cases and return the simplest one that fails, if any does."""
    failing: list[Case] = []

    @seed(number)
    @settings(
        max_examples=CASES_A_ROUND, database=None, deadline=None, derandomize=False, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(cases())
    def try_one(case: Case) -> None:
        if len(failing) == 1:
            print(f"FUZZ_SEED={number} fails; looking for a simpler case", file=sys.stderr, flush=True)
        failing.append(case)
        ended[check(case)] += 1
        failing.pop()

    try:
        try_one()
    except Exception as error:
        print(f"{type(error).__name__}: {error}\n", file=sys.stderr)
        return failing[-1]
    return None


def main() -> int:
    """Run rounds until the time is over, or something fails."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=120)
    options.add_argument("--seed", type=int, default=None, help="of the first round; by default a new one")
    chosen = options.parse_args()
    first = secrets.randbelow(10**9) if chosen.seed is None else chosen.seed
    print(f"FUZZ_SEED={first}", flush=True)
    ended: collections.Counter[str] = collections.Counter()
    until = time.monotonic() + chosen.seconds
    number = first
    while number == first or time.monotonic() < until:
        failing = run_round(number, ended)
        if failing is not None:
            print(f"`make fuzz FUZZ_SEED={number}` finds it again. In tests/fuzz, this does:\n", file=sys.stderr)
            print(f"from math import inf, nan\n\nfrom cases import Case, Column\nfrom checks import check\n\ncheck(\n"
                  f"    {failing!r}\n)", file=sys.stderr)  # fmt: skip
            return 1
        number += 1
    print(f"{ended.total()} cases: " + ", ".join(f"{n} {how}" for how, n in ended.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
