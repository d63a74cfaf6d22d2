"""How much memory, time and how many threads a computation may use."""

from __future__ import annotations

import math
import os
import re
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from numbers import Integral

from bcart.errors import InvalidModelError
from bcart.memory import within_memory
from bcart.parse import as_number

DEFAULT_MAX_MEMORY = "1GB"  # with two cores, about five seconds of listing boxes

_MOST_THREADS = 1024
_A_YEAR = 365.0 * 24 * 3600
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


@within_memory()
@dataclass(frozen=True)
class Limits:
    """Limits that hold.

    Parameters
    ----------
    max_memory : int or str
        Bytes that a graph and its answers may take, as a number or like ``"2GB"``: while it is built, in sweeps,
        samples and predictions. What is returned comes on top.
    time_limit : float or None
        Seconds that a fit may take. Of what is left when the rows have become cells, 70 % are for listing boxes, the
        rest is for what has to follow.
    n_jobs : int or None
        Threads. None means all cores this process may use, or fewer if ``OMP_NUM_THREADS`` says so (as it does within
        joblib's worker processes), and a single one if not called from the main thread: whoever calls from several
        threads has shared out the cores already. Negative numbers count from the number of cores, -1 being all.

    Examples
    --------
    >>> Limits(max_memory="2GB", n_jobs=1)
    Limits(max_memory=2000000000, time_limit=None, n_jobs=1)
    """

    max_memory: int | str = DEFAULT_MAX_MEMORY
    time_limit: float | None = None
    n_jobs: int | None = None
    seconds_spent: float = field(default=0.0, repr=False, compare=False)
    bytes_held: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_memory", parse_bytes(self.max_memory))
        if self.time_limit is not None and self.time_limit != math.inf:
            as_number(self.time_limit, "time_limit", "a positive number of seconds, or None", above=0)
        is_whole = isinstance(self.n_jobs, Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and (not is_whole or self.n_jobs == 0):
            raise InvalidModelError(f"n_jobs={self.n_jobs!r} must be None or -1 for all cores, or a number of threads")

    @property
    def n_bytes(self) -> int:
        """The memory limit in bytes, without what is held of it already."""
        return max(0, int(self.max_memory) - self.bytes_held)

    @property
    def seconds(self) -> float | None:
        """The time limit as the core takes it."""
        if self.time_limit is None or self.time_limit > _A_YEAR:
            return None
        return max(0.0, float(self.time_limit) - self.seconds_spent)

    def after(self, since: float) -> Limits:
        """Return the limits for what is left of the time, which runs since then (of the monotonic clock)."""
        return replace(self, seconds_spent=self.seconds_spent + time.monotonic() - since)

    def beside(self, n_bytes: int) -> Limits:
        """Return the limits for what is made beside so many bytes that count, too, and are held as long as it is."""
        return replace(self, bytes_held=self.bytes_held + n_bytes)

    @property
    def n_workers(self) -> int:
        """The number of threads that `n_jobs` stands for here and now."""
        n_cores = _n_usable_cores()
        if self.n_jobs is None and threading.current_thread() is not threading.main_thread():
            return 1
        if self.n_jobs is None:
            return min(n_cores, _positive_int(os.environ.get("OMP_NUM_THREADS")) or n_cores)
        return min(int(self.n_jobs), _MOST_THREADS) if self.n_jobs > 0 else max(1, n_cores + 1 + int(self.n_jobs))


def parse_bytes(amount: int | str) -> int:
    """Turn a number of bytes, or text like ``"500MB"``, into a number of bytes.

    Examples
    --------
    >>> parse_bytes("0.5 GB")
    500000000
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*(?:[eE]\+?\d+)?)\s*([a-zA-Z]*)\s*", str(amount))
    if isinstance(amount, bool) or match is None or match[2].upper() not in _UNITS:
        raise InvalidModelError(
            f"max_memory={amount!r} is not a number of bytes; write for example 2_000_000_000 or '2GB'"
        )
    return int(min(float(match[1]) * _UNITS[match[2].upper()], sys.maxsize))


def format_bytes(n_bytes: int) -> str:
    """Write a number of bytes for a person.

    Examples
    --------
    >>> format_bytes(1_234_567_890)
    '1.2 GB'
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


def format_count(log_n: float) -> str:
    """Write a number, given by its logarithm, for a person.

    Examples
    --------
    >>> format_count(math.log(1234)), format_count(100.0)
    ('1,234', '10^43.4')
    """
    return f"{round(math.exp(log_n)):,}" if log_n < math.log(1e6) else f"10^{log_n / math.log(10):.1f}"


def _n_usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _positive_int(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() and int(text) > 0 else None
