"""Where words go: reports to stdout, progress and warnings to stderr."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from bcart.graph import Progress as Build
from bcart.limits import format_bytes

_SHOW_AFTER = 10.0  # seconds, where there is no terminal
_NAMES = (
    "log_phi|max_bins|max_depth|min_samples_leaf|min_samples_split|split_alpha|split_beta|max_memory|time_limit|n_jobs"
)
_QUOTED = re.compile(r"\b(task|binning|prior)='([a-z-]+)'")
_PARAMETER = re.compile(rf"\b(?P<name>{_NAMES}|(?:task|binning|prior|alpha|level|datasets)(?==))(?P<is>=)?")
_OTHER_NAMES = {"n_jobs": "jobs", "datasets": "dataset"}


def report() -> Console:
    """Return the console for reports; where there is no terminal, it writes plain text."""
    return Console(file=sys.stdout, highlight=False, emoji=False, markup=False)


def aside() -> Console:
    """Return the console for progress and warnings."""
    return Console(file=sys.stderr, highlight=False, emoji=False, markup=False)


def printable(text: str) -> str:
    """Return text in which nothing can move the cursor or change a terminal; names in files may try.

    Examples
    --------
    >>> printable("red\\x1b[31m\\n")
    'red\\\\x1b[31m\\\\n'
    """
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


def as_options(message: str) -> str:
    """Spell parameters in a message as a shell does.

    Examples
    --------
    >>> as_options("max_bins=1 must be larger; raise max_memory, or take it for numbers (task='regress')")
    '--max-bins 1 must be larger; raise --max-memory, or take it for numbers (--task regress)'
    >>> as_options("leave it out (datasets=...), run fewer at once (n_jobs=1), or ask for less (quick=True)")
    'leave it out (--dataset ...), run fewer at once (--jobs 1), or ask for less (--quick)'
    """

    def spell(match: re.Match[str]) -> str:
        return f"--{_OTHER_NAMES.get(match['name'], match['name']).replace('_', '-')}" + (" " if match["is"] else "")

    return _PARAMETER.sub(spell, _QUOTED.sub(r"\1=\2", message.replace("quick=True", "--quick")))


def warn(message: str) -> None:
    """Write a sentence that has to be seen, but ends nothing."""
    aside().print(Text.assemble(("note: ", "bold yellow"), printable(as_options(message))), soft_wrap=True)


def in_words(seconds: float) -> str:
    """Write a time for a person.

    Examples
    --------
    >>> in_words(0.26), in_words(100), in_words(7200)
    ('0.3 s', '2 min', '2.0 h')
    """
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is going on, if somebody is watching."""
    with aside().status(what):
        yield


class BuildProgress:
    """Shows how far the list of boxes is, if somebody is watching."""

    def __init__(self) -> None:
        self._status = aside().status("listing boxes")

    def __call__(self, progress: Build) -> None:
        """Show the depth, the boxes and the bytes reached."""
        share = progress.n_expanded / max(1, progress.layer_size)
        self._status.update(
            f"listing boxes: depth {progress.depth + 1} {share:.0%}, {progress.n_boxes:,} boxes, "
            f"{format_bytes(progress.n_bytes)}"
        )

    def __enter__(self) -> BuildProgress:
        self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()


@contextmanager
def steps(what: str) -> Iterator[Callable[[float, float], None]]:
    """Give a function to be told how many steps of all are done.

    On a terminal it shows a bar and the remaining time; elsewhere it writes a line now and then, if it takes long.
    """
    console = aside()
    if not console.is_terminal:
        yield _Lines(what, console)
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %")
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda n_done, n_all: progress.update(task, completed=n_done, total=n_all)


class _Lines:
    """Writes a line for each tenth of some work that takes long."""

    def __init__(self, what: str, console: Console) -> None:
        self._what, self._console = what, console
        self._start, self._tenths = time.monotonic(), 0

    def __call__(self, n_done: float, n_all: float) -> None:
        seconds, tenths = time.monotonic() - self._start, int(10 * n_done / n_all)
        if tenths > self._tenths and seconds > _SHOW_AFTER and n_done < n_all:
            left = in_words(seconds * (n_all - n_done) / n_done)
            self._console.print(f"{self._what}: {n_done / n_all:.0%}, about {left} left", soft_wrap=True)
        self._tenths = tenths
