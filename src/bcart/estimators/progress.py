"""How far a long fit is, for a person to see."""

from __future__ import annotations

import sys
import time

from bcart.graph import Progress
from bcart.limits import format_bytes

_SHOW_AFTER = 0.5  # seconds: a shorter fit needs no progress


class ProgressLine:
    """Keeps one line on stderr up to date, or writes a line for each depth where stderr is no terminal."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last_depth = -1
        self._is_open = False

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        seconds = time.monotonic() - self._start
        is_terminal = sys.stderr.isatty()
        if seconds < _SHOW_AFTER or (not is_terminal and progress.depth == self._last_depth):
            return
        share = progress.n_expanded / max(1, progress.layer_size)
        text = (
            f"bcart: depth {progress.depth + 1} {share:4.0%}, {progress.n_boxes:,} boxes, "
            f"{progress.n_splits:,} splits, {format_bytes(progress.n_bytes)}, {seconds:.1f} s"
        )
        sys.stderr.write(f"\r{text}\033[K" if is_terminal else f"{text}\n")
        sys.stderr.flush()
        self._last_depth, self._is_open = progress.depth, is_terminal

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_open:
            sys.stderr.write("\n")
