"""How a command ends: with an exit code, and at most one sentence of what went wrong."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import typer

from bcart.cli.app import app
from bcart.cli.screen import as_options, printable
from bcart.errors import BcartError, InternalError, MemoryBudgetError, TimeBudgetError

OK, BUG, USAGE, BUDGET, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of the process, and return its exit code."""
    try:
        code = app(arguments, standalone_mode=False, prog_name="bcart")
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer has caught it
            raise KeyboardInterrupt
        return code if isinstance(code, int) else OK
    except BaseException as error:
        if os.environ.get("BCART_DEBUG"):
            traceback.print_exc()
        return _explain(error)


def prepare() -> None:
    """Set up a process that runs a command and ends."""
    signal.signal(signal.SIGTERM, _terminate)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still shows the others


def _terminate(*_: Any) -> NoReturn:
    """End as after Ctrl-C, so that temporary files are removed."""
    raise SystemExit(TERMINATED)


def _explain(error: BaseException) -> int:
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        _close_output()
        return OK  # whoever read the output has had enough
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else BUG
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return _say("interrupted", INTERRUPTED)
    if isinstance(error, (MemoryBudgetError, TimeBudgetError)):
        return _say(str(error), BUDGET)
    if isinstance(error, MemoryError):
        return _say("the system has no more memory to give; use fewer columns, or lower --max-bins", BUDGET)
    if isinstance(error, BcartError) and not isinstance(error, InternalError):
        return _say(str(error), USAGE)
    if isinstance(error, OSError):
        about = f"{error.filename}: " if error.filename else ""
        return _say(f"{about}{error.strerror or error}", USAGE)
    if hasattr(error, "format_message"):  # whatever typer says of wrong usage
        return _say(f"{error.format_message()} (bcart --help lists commands and options)", USAGE)
    return _say(
        f"this should not have happened: {type(error).__name__}: {error}; please report it, with what "
        "BCART_DEBUG=1 shows",
        BUG,
    )


def _say(message: str, code: int) -> int:
    sys.stderr.write(f"bcart: {printable(as_options(message))}\n")
    return code


def _close_output() -> None:
    """Keep Python from complaining that it cannot write what nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
