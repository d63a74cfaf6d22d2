"""``bcart show``."""

from __future__ import annotations

from bcart.cli.models import describe
from bcart.cli.options import ModelFile
from bcart.cli.screen import report
from bcart.storage import load_model


def show(model: ModelFile) -> None:
    """Show what is in a model file: data, most probable tree, scores.

    Everything shown was computed when the model was fitted, so this takes no time.
    """
    describe(load_model(model), report())
