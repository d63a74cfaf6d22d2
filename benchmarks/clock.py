"""Seconds by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best_seconds(work: Callable[[], object], n_repeats: int = 3) -> float:
    """Return how long it takes when nothing comes in between."""
    return min(seconds_of(work) for _ in range(n_repeats))
