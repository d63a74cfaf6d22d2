"""``bcart plot``."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from bcart.cli.models import list_again
from bcart.cli.options import Jobs, Level, Memory, ModelFile
from bcart.cli.screen import aside, working
from bcart.errors import InvalidModelError
from bcart.storage import SavedModel, load_model
from bcart.writing import check_place, replacing

_ENDINGS = (".png", ".svg", ".pdf")


class PictureKind(str, Enum):
    """What can be drawn."""

    TREE = "tree"
    POSTERIOR = "posterior"
    PREDICTIVE = "predictive"


def plot(
    model: ModelFile,
    kind: Annotated[
        PictureKind, typer.Option(metavar="NAME", help="tree, posterior or predictive.")
    ] = PictureKind.TREE,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", "-f", metavar="COLUMN", help="Of predictive: one feature, or two by repeating."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="A .png, .svg or .pdf file; by default beside the model."),
    ] = None,
    level: Level = 0.95,
    max_memory: Memory = None,
    jobs: Jobs = None,
) -> None:
    """Draw the most probable tree, the posterior, or what is predicted along one or two features."""
    path = output or model.with_name(f"{model.stem}-{kind.value}.png")
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidModelError(f"{path.name!r} is no name of a picture; let it end in one of {', '.join(_ENDINGS)}")
    check_place(path)
    figure = _draw(load_model(model), kind, feature or [], level, max_memory, jobs)
    with replacing(path) as new:
        figure.savefig(new, dpi=200, bbox_inches="tight")
    aside().print(f"picture in {path}", soft_wrap=True)


def _draw(
    saved: SavedModel, kind: PictureKind, features: list[str], level: float, max_memory: str | None, jobs: int | None
) -> Any:
    os.environ.setdefault("MPLBACKEND", "agg")  # which needs no display
    try:
        from bcart import plotting
    except ImportError as error:
        raise InvalidModelError(str(error)) from None
    if kind is PictureKind.TREE:
        return plotting.plot_tree(saved.tree, level=level).figure
    if kind is PictureKind.PREDICTIVE and not 1 <= len(features) <= 2:
        listed = ", ".join(saved.grid.feature_names)
        raise InvalidModelError(f"name the feature to follow, or two, by --feature; there are {listed}")
    posterior = list_again(saved, max_memory, jobs)
    with working("drawing"):
        if kind is PictureKind.POSTERIOR:
            return plotting.plot_posterior(posterior)[0].figure
        axes = plotting.plot_predictive(posterior, features if len(features) == 2 else features[0], level=level)
    return axes.figure if hasattr(axes, "figure") else axes[0].figure
