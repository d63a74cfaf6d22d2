"""``bcart predict``."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from bcart.cli.models import columns_of, list_again
from bcart.cli.options import Jobs, Level, Memory, ModelFile, PredictorName
from bcart.cli.screen import aside, steps, working
from bcart.files.dialect import MISSING_TEXTS
from bcart.files.predictions import Predictor, load_features, write_predictions
from bcart.files.source import Source
from bcart.limits import Limits
from bcart.storage import load_model
from bcart.writing import check_place


def predict(
    model: ModelFile,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file of any size.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="A .csv or .parquet file; by default CSV to the screen."),
    ] = None,
    predictor: Annotated[
        PredictorName,
        typer.Option(metavar="NAME", help="ensemble: all trees; map: the most probable one, which is quicker."),
    ] = PredictorName.ENSEMBLE,
    level: Level = 0.95,
    only_predictions: Annotated[
        bool, typer.Option("--only-predictions", help="Leave out the columns of the file.")
    ] = False,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Another text for missing values, as NA and ? are.")
    ] = None,
    max_memory: Memory = None,
    jobs: Jobs = None,
) -> None:
    """Predict the rows of a file, and say how sure that is.

    Classes get a probability each, with its credible interval; numbers an interval of the mean and one of the target.
    """
    if output is not None:
        check_place(output)
    saved = load_model(model)
    grid, limits = saved.grid, Limits(saved.limits.max_memory if max_memory is None else max_memory, n_jobs=jobs)
    with Source(file, limits, [*MISSING_TEXTS, *(missing or ())]) as source, tempfile.TemporaryDirectory() as folder:
        with working(f"reading {file.name}"):
            features = load_features(source, grid.feature_names, grid.categories, columns_of(saved))
        if predictor is PredictorName.MAP:
            who = Predictor.of_tree(saved.tree, level)
        else:
            who = Predictor.of_posterior(list_again(saved, max_memory, jobs), level)
        path = output or Path(folder, "predictions.csv")
        with steps("predicting") as progress:
            keep = not only_predictions
            write_predictions(source, features, who, path, keep_columns=keep, on_progress=progress)
        if output is None:
            with path.open("rb") as text:
                shutil.copyfileobj(text, sys.stdout.buffer)
        else:
            aside().print(f"{source.n_rows:,} predictions in {output}", soft_wrap=True)
