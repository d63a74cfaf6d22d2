"""Options that several commands have, and how they are spelt."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that bcart fit has written.", show_default=False)
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to write; by default to the screen.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Threads; by default all cores. No result depends on it."),
]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Memory that the work may take, such as 4GB; by default that of the fit."),
]
Level = Annotated[float, typer.Option(metavar="P", help="Probability of the intervals.")]


class PredictorName(str, Enum):
    """Who predicts."""

    ENSEMBLE = "ensemble"
    MAP = "map"
