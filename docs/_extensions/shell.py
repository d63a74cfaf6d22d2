"""A directive that runs the commands of a page when the page is built, and shows what they print.

The commands of a page run one after the other in a folder of their own. One that fails stops the build. Lines that
begin with ``$ `` are commands; the option ``:head:`` shows only the first lines of what comes out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives

_FOLDERS: dict[str, tempfile.TemporaryDirectory[str]] = {}


class Shell(Directive):
    """``.. shell::`` and commands below it."""

    has_content = True
    option_spec = {"head": directives.nonnegative_int}  # noqa: RUF012  (docutils' own way)

    def run(self) -> list[nodes.Node]:
        """Run the commands and return a block with them and their output."""
        page = self.state.document.settings.env.docname
        folder = _FOLDERS.setdefault(page, tempfile.TemporaryDirectory())
        shown = []
        for line in self.content:
            printed = _run(line.removeprefix("$ "), folder.name)
            shown += [line, *self._cut(printed)]
        text = "\n".join(shown)
        return [nodes.literal_block(text, text, language="console")]

    def _cut(self, lines: list[str]) -> list[str]:
        most = self.options.get("head", len(lines))
        return lines if len(lines) <= most else [*lines[:most], "..."]


def _run(command: str, folder: str) -> list[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode:
        raise RuntimeError(f"$ {command}\n{done.stdout}\nexited with {done.returncode}")
    return [line.rstrip() for line in done.stdout.replace(folder, ".").splitlines()]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("shell", Shell)
    return {"parallel_read_safe": False}
