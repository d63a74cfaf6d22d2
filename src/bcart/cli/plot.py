"""``bcart plot``."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

import typer

from bcart.cli.models import list_again
from bcart.cli.options import Jobs, Memory, ModelFile, Output
from bcart.cli.screen import aside
from bcart.storage import load_model
from bcart.writing import replacing


class PictureKind(str, Enum):
    """What can be drawn."""

    TREE = "tree"
    POSTERIOR = "posterior"
    PREDICTIVE = "predictive"


def plot(
    model: ModelFile,
    kind: Annotated[PictureKind, typer.Option(help="What to draw.")] = PictureKind.TREE,
    feature: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Of predictive: one feature or two.")
    ] = None,
    output: Output = None,
    max_memory: Memory = None,
    jobs: Jobs = None,
) -> None:
    """Draw the most probable tree, the posterior, or predictions."""
