"""Rows and the posterior: their way through all trees, through the best one, or through random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.graph import Graph
from bcart.leaves import LeafModel
from bcart.leaves.model import Moments
from bcart.mixtures import LEAVES_AT_ONCE, Mixtures
from bcart.parse import FloatArray, as_floats
from bcart.routing import Routing

Predictor = Literal["ensemble", "map"]

_ROWS_AT_FIRST = 16  # until it is known how many leaves they end in


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows in the original units, before a posterior.

    Parameters
    ----------
    positions : array of shape (n_rows, n_features)
        Where each row lies between the thresholds, see `Routing`.
    graph, leaf, routing
        Those of the posterior.
    grammar_for : callable
        Returns the native grammar: that of all trees, or with "map" of the most probable one.
    box_weights : callable
        Returns the weight of each box.
    n_workers : int
    """

    positions: npt.NDArray[np.uint32]
    graph: Graph
    leaf: LeafModel
    routing: Routing
    grammar_for: Callable[[Predictor], _core.Grammar]
    box_weights: Callable[[], FloatArray]
    n_workers: int

    def __len__(self) -> int:
        return len(self.positions)

    def distinct(self) -> tuple[Rows, npt.NDArray[np.intp]]:
        """Return the rows that some tree can tell apart, and which of them each row is."""
        positions, which = np.unique(self.positions, axis=0, return_inverse=True)
        return replace(self, positions=positions), which.ravel()

    def moments(self, predictor: Predictor) -> tuple[Moments, FloatArray]:
        """Return mean, variance within leaves and noise for each row and output, and the variance between trees."""
        queries, grammar = self._queries(self.positions), self.grammar_for(as_predictor(predictor))
        if predictor == "map":
            leaves = queries.walk_best(grammar, self.n_workers)
            moments = self.leaf.moments(self.graph.core.statistics[leaves])
            return moments, np.zeros_like(moments.mean)
        flat = queries.respond(grammar, self.leaf.core, self.n_workers)
        mean, between, within, noise = (np.asarray(part).reshape(-1, self.leaf.n_outputs) for part in flat)
        return Moments(mean + self.leaf.offset, within, noise), between

    def mixtures(self, predictor: Predictor, may_lose: float = 0.0) -> Iterator[tuple[slice, Mixtures]]:
        """Yield some rows after the other, with the mixture of leaves for each of them.

        Leaves that have less probability than `may_lose` together may be left out.
        """
        grammar = self.grammar_for(as_predictor(predictor))
        begin, n_at_once = 0, _ROWS_AT_FIRST
        while begin < len(self):
            rows = slice(begin, min(begin + n_at_once, len(self)))
            queries = self._queries(self.positions[rows])
            if predictor == "map":
                boxes = np.asarray(queries.walk_best(grammar, self.n_workers))
                parts: list[npt.NDArray[Any]] = [np.arange(1, len(boxes) + 1), boxes, np.ones(len(boxes))]
            else:
                parts = [np.asarray(part) for part in queries.mixtures(grammar, may_lose / 2, self.n_workers)]
            ends, boxes, weights = parts
            statistics = self.graph.core.statistics[boxes]
            yield rows, Mixtures(ends.astype(np.intp), statistics, weights, self.leaf).without(may_lose / 2)
            begin, n_at_once = rows.stop, max(1, LEAVES_AT_ONCE * len(ends) // len(boxes))

    def walk_randomly(self, n: int, seed: int) -> tuple[npt.NDArray[np.uint32], FloatArray]:
        """Return the leaf that each row reaches in each of n random trees, and as many uniform random numbers."""
        boxes, uniforms = self._queries(self.positions).walk_randomly(
            self.grammar_for("ensemble"), seed, n, self.n_workers
        )
        return np.asarray(boxes), np.asarray(uniforms)

    def _queries(self, positions: npt.NDArray[np.uint32]) -> _core.Queries:
        weights = self.box_weights() if self.routing.has_missing(positions) else None
        return self.routing.queries(np.ascontiguousarray(positions), weights)


def as_predictor(predictor: Predictor) -> Predictor:
    """Return the name of a predictor, or raise if there is none of that name."""
    if predictor not in ("ensemble", "map"):
        raise InvalidModelError(f"predictor={predictor!r} must be 'ensemble' or 'map'")
    return predictor


def as_targets(y: npt.ArrayLike, classes: npt.NDArray[Any] | None, n_rows: int) -> FloatArray:
    """Return targets as leaf models see them: numbers, or the places of labels."""
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise InvalidDataError(f"y must have one target for each of {n_rows} rows, got shape {given.shape}")
    if classes is None:
        targets = as_floats(given, "y")
        if not np.isfinite(targets).all():
            row = int(np.flatnonzero(~np.isfinite(targets))[0])
            raise InvalidDataError(f"y contains {targets[row]} (row {row}); leave out rows without a finite target")
        return targets
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = [label for label in given.tolist() if label not in places]
    if unknown:
        raise InvalidDataError(
            f"y contains {unknown[0]!r}, which is none of the classes {list(places)}; leave out such rows"
        )
    return np.array([places[label] for label in given.tolist()], dtype=np.float64)
