"""``bcart export``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from typing import Annotated

import typer

from bcart.cli.options import Level, ModelFile, Output
from bcart.export import write_html
from bcart.storage import load_model
from bcart.tree import Tree
from bcart.writing import replacing


class Language(str, Enum):
    """What a tree can be written in."""

    TEXT = "text"
    JSON = "json"
    DOT = "dot"
    HTML = "html"
    SQL = "sql"
    C = "c"


_WRITERS: dict[Language, Callable[[Tree, float], str]] = {
    Language.TEXT: lambda tree, level: tree.to_text(level),
    Language.JSON: lambda tree, level: tree.to_json(indent=2),
    Language.DOT: lambda tree, level: tree.to_dot(level),
    Language.HTML: lambda tree, level: f"<!DOCTYPE html>\n<meta charset='utf-8'>\n{write_html(tree, level)}",
    Language.SQL: lambda tree, level: tree.to_sql(),
    Language.C: lambda tree, level: tree.to_c(),
}


def export(
    model: ModelFile,
    to: Annotated[Language, typer.Option(metavar="NAME", help="text, json, dot, html, sql or c.", show_default=False)],
    output: Output = None,
    level: Level = 0.95,
) -> None:
    """Write the most probable tree in another language.

    text: rules with probabilities and intervals; json: all of the tree; dot: for Graphviz; html: a page;
    sql: a CASE expression; c: a C99 function without dependencies.
    """
    text = _WRITERS[to](load_model(model).tree, level)
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as new:
        new.write_text(text, encoding="utf-8")
