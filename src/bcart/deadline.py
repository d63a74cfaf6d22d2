"""The time by which rows have to be read: loops over them in Python end when it has come, as those in the core do."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_ROWS_PER_STEP = 2**16


class DeadlinePassed(TimeoutError):  # noqa: N818 - as in the core
    """The rows are not all read, and the time is over."""


class _Deadline(threading.local):
    at = math.inf  # of the monotonic clock


_deadline = _Deadline()


@contextmanager
def ending_in(seconds: float | None) -> Iterator[None]:
    """Let `steps` of this thread end in so many seconds.

    Examples
    --------
    >>> with ending_in(0.0):
    ...     list(steps(100_000))
    Traceback (most recent call last):
    bcart.deadline.DeadlinePassed
    """
    _deadline.at = math.inf if seconds is None else time.monotonic() + seconds
    try:
        yield
    finally:
        _deadline.at = math.inf


def steps(n_rows: int) -> Iterator[slice]:
    """Yield slices of the rows, one after the other, while there is time; the first takes none.

    Examples
    --------
    >>> list(steps(100_000))
    [slice(0, 65536, None), slice(65536, 100000, None)]
    """
    for start in range(0, n_rows, _ROWS_PER_STEP):
        if start > 0 and time.monotonic() > _deadline.at:
            raise DeadlinePassed
        yield slice(start, min(start + _ROWS_PER_STEP, n_rows))
