"""The steps of `bcart fit` behind the reading of a file, with what a person wants to see of them."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from bcart.cells import Cells
from bcart.cli.notes import Notes, note_overview, note_scores
from bcart.cli.report import print_cost, print_posterior, print_top, print_tree
from bcart.cli.screen import BuildProgress, in_words, steps, warn, working
from bcart.cost import predict_cost
from bcart.errors import DepthLimitedWarning, MemoryBudgetError, TimeBudgetError
from bcart.estimators import BayesianTreeClassifier, BayesianTreeRegressor
from bcart.estimators.comparison import Estimator, compare_with_cart
from bcart.files.columns import Choice
from bcart.files.source import Source
from bcart.files.targets import Task
from bcart.files.training import Sample, TrainingFile, read_training_file
from bcart.graph import crossed_limit, list_graph, tell_depth
from bcart.grid import Binning, Grid
from bcart.leaves import LeafModel
from bcart.limits import Limits
from bcart.listing import Family
from bcart.overview import look_over
from bcart.posterior import Posterior
from bcart.priors import TreePrior, choose_prior
from bcart.storage import summarise
from bcart.tables import as_rows

_N_SAMPLES = 1000  # trees; a tenth where each takes long
_ROWS_TIMED = 16
_SECONDS_FOR_SCORES = 60.0  # that cross-validation may take without being asked for
_FEWEST_ROWS = 100
_MOST_LINES = 60  # of a tree


@dataclass(frozen=True)
class Settings:
    """What was said of the model and its limits, under the names that the estimators have for it."""

    log_phi: float
    alpha: float
    max_bins: int
    binning: Binning
    max_depth: int | None
    min_samples_leaf: float
    min_samples_split: float
    prior: Any
    split_alpha: float
    split_beta: float
    limits: Limits

    @property
    def family(self) -> Family:
        """Which trees are looked at."""
        return Family(self.max_depth, self.min_samples_leaf, self.min_samples_split)

    @property
    def tree_prior(self) -> TreePrior:
        """The prior over trees."""
        return choose_prior(self.prior, self.log_phi, self.split_alpha, self.split_beta)

    def estimator(self, task: str) -> Estimator:
        """Return the estimator that would do the same with a table in memory."""
        names = [name for name in self.__dataclass_fields__ if name not in ("alpha", "limits")]
        common = {name: getattr(self, name) for name in names}
        common |= {name: getattr(self.limits, name) for name in ("max_memory", "time_limit", "n_jobs")}
        if task == "classify":
            return BayesianTreeClassifier(alpha=self.alpha, **common)
        return BayesianTreeRegressor(leaf="normal" if task == "regress" else "poisson", **common)


@dataclass(frozen=True, eq=False)
class Grouped:
    """What is left of a file once it is read."""

    grid: Grid
    cells: Cells
    leaf: LeafModel
    classes: Any
    sample: Sample


def read(
    source: Source, target: str, weight: str | None, task: Task | None, choice: Choice, max_bins: int
) -> TrainingFile:
    """Find out what the columns of a file are."""
    with working(f"reading {source.path.name}"):
        return read_training_file(source, target, weight=weight, task=task, choice=choice, max_bins=max_bins)


def group(training: TrainingFile, settings: Settings, n_sampled: int, seed: int) -> Grouped:
    """Make cells of the rows of a file, and keep some of the rows."""
    with working("grouping rows into cells"):
        grid, leaf = training.grid(settings.binning), training.target.leaf(settings.alpha)
        cells = training.cells(grid, leaf)
        return Grouped(grid, cells, leaf, training.target.classes, training.sample(n_sampled, seed))


def list_trees(data: Grouped, settings: Settings, console: Console) -> tuple[Posterior, float]:
    """Estimate what the work will take, do it, and return the posterior and the seconds that it took."""
    with working("estimating the cost"):
        cost = predict_cost(data.cells, settings.family, settings.limits)
    print_cost(cost, settings.limits.n_bytes, console)
    prior, start = settings.tree_prior, time.monotonic()
    with BuildProgress() as progress:
        graph = list_graph(data.cells, settings.family, settings.limits, progress)
    if crossed_limit(graph) is not None:
        warn(tell_depth(graph, cost))
    posterior = Posterior(graph, data.leaf, prior, data.grid, data.classes, settings.limits.n_jobs)
    with working("adding up all trees"):
        posterior.map_tree()
    return posterior, time.monotonic() - start


def show_posterior(posterior: Posterior, seed: int, console: Console) -> Notes:
    """Print the most probable tree and what samples say of all trees; return what samples say."""
    with working("drawing trees"):
        n_samples = _N_SAMPLES // 10 if posterior.graph.is_folded else _N_SAMPLES
        overview, summary = look_over(posterior, n_samples, random_state=seed), summarise(posterior)
    notes = note_overview(overview)
    print_posterior(summary, notes, console)
    print_tree(overview.top[0], console, "Best tree", _MOST_LINES)
    print_top(notes, console)
    return notes


@dataclass(frozen=True)
class Validation:
    """How to cross-validate: `is_asked_for` does it however long it takes."""

    n_folds: int
    seed: int
    is_asked_for: bool

    def run(self, sample: Sample, n_known: int, estimator: Estimator, speed: Speed) -> Notes | None:
        """Return scores; None if they take too long or too much. Of `n_known` rows there may be a sample only."""
        try:
            return self._run(sample, n_known, estimator, speed)
        except (MemoryBudgetError, TimeBudgetError) as error:
            warn(f"scores are left out: {error}")
            return None

    def _run(self, sample: Sample, n_known: int, estimator: Estimator, speed: Speed) -> Notes | None:
        if len(sample.y) < n_known:
            with working("trying a fit to a sample of the rows"):
                speed = Speed.of_estimator(estimator, sample)
        n_tested, for_fits = len(sample.y), self.n_folds * speed.a_fit
        expected = for_fits + speed.a_row * n_tested
        if not self.is_asked_for and expected > _SECONDS_FOR_SCORES:
            n_tested = int((_SECONDS_FOR_SCORES - for_fits) / speed.a_row)
            if n_tested < _FEWEST_ROWS:
                warn(f"scores are left out, they would take about {in_words(expected)}; --cv asks for them")
                return None
        with steps("cross-validating") as progress:
            parts = sample.columns, sample.is_nominal, sample.y, sample.weights
            scores, n_folds = compare_with_cart(estimator, *parts, self.n_folds, self.seed, n_tested, progress)
        return note_scores(scores, n_folds, len(sample.y), n_known, n_tested)


@dataclass(frozen=True)
class Speed:
    """Seconds that a fit takes, and the prediction of a row by all trees."""

    a_fit: float
    a_row: float

    @classmethod
    def of_posterior(cls, seconds: float, posterior: Posterior, sample: Sample) -> Speed:
        """Predict a few rows; to fit took so many seconds."""
        rows = as_rows(sample.columns)[:_ROWS_TIMED]
        posterior.expected_output(rows[:1])
        start = time.monotonic()
        posterior.expected_output(rows)
        return cls(seconds, (time.monotonic() - start) / len(rows))

    @classmethod
    def of_estimator(cls, estimator: Estimator, sample: Sample) -> Speed:
        """Fit to a sample and predict a few of its rows."""
        nominal = [place for place, is_nominal in enumerate(sample.is_nominal) if is_nominal]
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DepthLimitedWarning)
            model = type(estimator)(**{**estimator.get_params(), "categorical_features": nominal})
            model.fit(as_rows(sample.columns), sample.y, sample.weights)
        return cls.of_posterior(time.monotonic() - start, model.posterior_, sample)
