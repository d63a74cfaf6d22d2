"""Model files, as commands need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from bcart.cli import report
from bcart.cli.screen import BuildProgress
from bcart.limits import Limits
from bcart.posterior import Posterior
from bcart.storage import SavedModel


def list_again(model: SavedModel, max_memory: str | None, n_jobs: int | None) -> Posterior:
    """Return the posterior of a model, showing how far its boxes are listed."""
    limits = Limits(model.limits.max_memory if max_memory is None else max_memory, n_jobs=n_jobs)
    with BuildProgress() as progress:
        return model.posterior(limits, progress)


def columns_of(model: SavedModel) -> Any:
    """Return what a model says of the columns of its file; None if it says nothing."""
    data = model.about.get("data")
    return data.get("columns") if isinstance(data, dict) else None


def describe(model: SavedModel, console: Console) -> None:
    """Print a report on a model; what others than this command have saved may know less of itself."""
    about = model.about
    _if_said(lambda: report.print_data(about["data"], console))
    _if_said(lambda: report.print_posterior(model.summary, about["overview"], console))
    report.print_tree(model.tree, console, "Best tree")
    _if_said(lambda: report.print_top(about["overview"], console))
    _if_said(lambda: report.print_scores(about["scores"], console))


def _if_said(part: Callable[[], Any]) -> None:
    try:
        part()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return
