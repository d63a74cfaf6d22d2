"""The list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from bcart.cli.export import export
from bcart.cli.fit import fit
from bcart.cli.plot import plot
from bcart.cli.predict import predict
from bcart.cli.reproduce import reproduce
from bcart.cli.sample import sample
from bcart.cli.show import show


def _flow(text: str) -> str:
    """Return text whose paragraphs are one line each, as long as the terminal is wide."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    name="bcart",
    help="Exact Bayesian decision trees: the posterior over all trees of a table.",
    epilog="Begin with: bcart fit FILE --target COLUMN -o model.bcart",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit, show, predict, sample, export, plot, reproduce):
    app.command(help=_flow(command.__doc__ or ""))(command)


def _show_version(is_asked_for: bool) -> None:
    if is_asked_for:
        from bcart import __version__

        typer.echo(f"bcart {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
