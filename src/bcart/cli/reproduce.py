"""``bcart reproduce``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bcart.cli.screen import aside, steps
from bcart.reproduce import DEFAULT_OUTPUT, NAMES, run


def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="A look within a minute: fewer trials, folds, rows.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report, CSV files and figures.")
    ] = Path(DEFAULT_OUTPUT),
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="BCART_DATA", help="Folder with caesarian.csv and vertebral.csv."),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"One of {', '.join(NAMES)}; can be repeated.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, metavar="N", help="Instead of 5.")] = None,
    folds: Annotated[int | None, typer.Option(min=2, metavar="N", help="Instead of 10.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", metavar="N", help="Folds that run at once; by default one a core.")
    ] = None,
) -> None:
    """Rerun the experiments of the paper, and print its numbers beside ours."""
    with steps("running the paper's experiments") as progress:
        report = run(quick, data, output, jobs, lambda done, total, what: progress(done, total), trials, dataset, folds)
    sys.stdout.write(f"{report.text()}\n")
    aside().print(f"tables, results and figures are in {output}", soft_wrap=True)
