"""What a run found: numbers, tables, files."""

from __future__ import annotations

import math
import os
import platform
import textwrap
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

from bcart.cached import cached_property
from bcart.reproduce import figures, saving, tables
from bcart.reproduce.data import Problem
from bcart.reproduce.experiment import LOG_PHI, Result
from bcart.reproduce.intervals import Interval, summarize
from bcart.reproduce.scoring import LEAST_PROBABILITY, N_BINS

WIDTH = 120
PACKAGES = ("bcart", "scikit-learn", "numpy", "scipy")


@dataclass(frozen=True)
class Settings:
    """What was run; of the folds that a trial is cut into, the first `n_folds_run`."""

    n_trials: int
    n_folds: int
    n_folds_run: int
    n_xor_rows: int
    n_jobs: int = 1
    seconds: float = float("nan")

    def describe(self) -> str:
        """Say what was run, for a person."""
        versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
        at_once = "one fold" if self.n_jobs == 1 else f"{self.n_jobs} folds"
        some = "" if self.n_folds_run == self.n_folds else f", of which only the first {self.n_folds_run} were run"
        return (
            f"{self.n_trials} trials of {self.n_folds}-fold cross-validation{some}; stratified and shuffled. The "
            "number of the trial (0, 1, ...) is the seed of the folds, of CART and of the random forest. Hidden XOR "
            f"has {self.n_xor_rows:,} rows, others in each trial. log_phi = {LOG_PHI:g}; the full posterior in every "
            f"fold. With {at_once} at a time, all took {self.seconds / 60:.1f} minutes on a machine "
            f"({platform.machine()}) with {os.cpu_count()} cores; Python {platform.python_version()}, {versions}."
        )


HOW_TO_READ = f"""\
- *bins* is how numbers become the few values of the paper. none: raw numbers (CART and random forest only). uniform:
  bins of equal width, of the rows to learn from. quantile: bins of equal weight. edges: as many equally spaced edges as
  values, over all rows, the largest number alone in the last bin; of all readings of the paper this fits its numbers
  best. CART and random forest see the same bins as our trees. The features of Hidden XOR have two values, so bins make
  no difference and it is run once.
- *ours* is the mean over trials ± the half width of Student's 95 % interval of that mean; in brackets 1.96 standard
  deviations over the folds, which is what the paper's ± turns out to be. ▲ ▼: our mean lies above or below the
  paper's interval.
- Log-loss is in nats, with probabilities lifted to {LEAST_PROBABILITY:g} first. The Brier score is summed over classes
  (0 to 2). The expected calibration error is that of the predicted class, over all rows of a trial, in {N_BINS} bins of
  equal mass.
- Best tree and ensemble share one fit. What each has to sweep for its predictions counts as predicting."""


@dataclass(frozen=True, eq=False)
class Report:
    """What a run found.

    Parameters
    ----------
    problems : tuple of Problem
        The datasets that were run.
    results : tuple of Result
        One for each dataset, binning, model, trial and fold.
    notes : tuple of str
        What was left out, and why.
    settings : Settings
    """

    problems: tuple[Problem, ...]
    results: tuple[Result, ...]
    notes: tuple[str, ...]
    settings: Settings

    @cached_property
    def _groups(self) -> Mapping[tuple[str, str, str], list[Result]]:
        groups: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
        for result in self.results:
            groups[result.dataset, result.binning, result.model].append(result)
        return groups

    def interval(self, dataset: str, binning: str, model: str, measure: str) -> Interval | None:
        """Return what the trials say about a measure; None if the model was not run so, or has no such number."""
        found = self._groups.get((dataset, binning, model))
        if not found or math.isnan(getattr(found[0], measure, 0.0)):
            return None
        return summarize(found, measure)

    def tables(self) -> str:
        """Return the paper's three tables with our numbers, and the scores that it does not have, as Markdown."""
        parts = [f"## {title}\n\n{tables.as_markdown(lines)}" for _, title, lines in tables.all_tables(self)]
        return "\n\n".join(parts)

    def text(self) -> str:
        """Return all there is to say, as Markdown."""
        notes = "".join("\n\n" + textwrap.fill(f"{note}.", WIDTH) for note in self.notes)
        said = self._settings_text()
        return (
            f"# The paper's experiments\n\n{said}{notes}\n\n{self.tables()}\n\n## How to read this\n\n{HOW_TO_READ}\n"
        )

    def _settings_text(self) -> str:
        return textwrap.fill(self.settings.describe(), WIDTH)

    def save(self, output: str | os.PathLike[str]) -> None:
        """Write ``report.md``, CSV files and figures into a folder: all of them, or none if something goes wrong.

        ``folds.csv`` has one row for each dataset, binning, model, trial and fold, ``trials.csv`` one for each trial.
        """
        files = {"report.md": self.text().encode(), "settings.txt": f"{self._settings_text()}\n".encode()}
        files |= {f"{name}.csv": tables.as_csv(lines) for name, _, lines in tables.all_tables(self)}
        files |= {"folds.csv": tables.as_csv(tables.fold_lines(self.results))}
        files |= {"trials.csv": tables.as_csv(tables.trial_lines(self.results))}
        saving.write_folder(output, files | figures.draw_all(self))
