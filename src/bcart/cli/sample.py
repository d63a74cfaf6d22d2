"""``bcart sample``."""

from __future__ import annotations

from typing import Annotated

import typer

from bcart.cli.models import list_again
from bcart.cli.options import Jobs, Memory, ModelFile
from bcart.cli.report import print_tree
from bcart.cli.screen import report
from bcart.storage import load_model


def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("--number", "-n", min=0, metavar="N", help="How many trees.")] = 5,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Another number gives other trees.")] = 0,
    max_memory: Memory = None,
    jobs: Jobs = None,
) -> None:
    """Draw independent trees from the posterior."""
    console = report()
    for tree in list_again(load_model(model), max_memory, jobs).sample(n, random_state=seed):
        print_tree(tree, console)
