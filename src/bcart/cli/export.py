"""``bcart export``."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from bcart.cli.options import ModelFile, Output
from bcart.storage import load_model
from bcart.writing import replacing


class Language(str, Enum):
    """What a tree can be written in."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    HTML = "html"
    SQL = "sql"
    C = "c"


def export(
    model: ModelFile,
    to: Annotated[Language, typer.Option(help="The language to write the tree in.", show_default=False)],
    output: Output = None,
) -> None:
    """Write the most probable tree in another language.

    text: rules with probabilities and intervals; json: all of the tree; dot: for Graphviz; html: a page;
    sql: a CASE expression; c: a C99 function without dependencies.
    """
    tree = load_model(model).tree
    text = getattr(tree, f"to_{to.value}")()
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as new:
        new.write_text(text, encoding="utf-8")
