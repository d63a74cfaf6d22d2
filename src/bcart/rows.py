"""Rows and the posterior: their way through all trees, through the best one, or through random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.graph import Graph
from bcart.leaves import LeafModel
from bcart.leaves.model import Moments
from bcart.mixtures import Mixtures
from bcart.parse import FloatArray
from bcart.routing import Routing

Predictor = Literal["ensemble", "map"]

_LEAVES_AT_ONCE = 2_000_000  # of the mixtures that are held in memory


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows in the original units, before a posterior.

    Parameters
    ----------
    positions : array of shape (n_rows, n_features)
        Where each row lies between the thresholds, see `Routing`.
    graph, leaf, routing
        Those of the posterior.
    grammar : callable
        Returns the native grammar: that of all trees, or with "map" of the most probable one.
    n_workers : int
    """

    positions: npt.NDArray[np.uint32]
    graph: Graph
    leaf: LeafModel
    routing: Routing
    grammar: Callable[[Predictor], _core.Grammar]
    n_workers: int

    def __len__(self) -> int:
        return len(self.positions)

    def moments(self, predictor: Predictor) -> tuple[Moments, FloatArray]:
        """Return mean, variance within leaves and noise for each row and output, and the variance between trees."""
        distinct, which = np.unique(self.positions, axis=0, return_inverse=True)
        queries, which = self._queries(distinct), which.ravel()
        if as_predictor(predictor) == "map":
            leaves = queries.walk_best(self.grammar("map"), self.n_workers)
            parts = self.leaf.moments(self.graph.core.statistics[leaves])
            between = np.zeros_like(parts.mean)
        else:
            flat = queries.respond(self.grammar("ensemble"), self.leaf.core, self.n_workers)
            mean, between, within, noise = (np.asarray(part).reshape(-1, self.leaf.n_outputs) for part in flat)
            parts = Moments(mean + self.leaf.offset, within, noise)
        return Moments(*(part[which] for part in parts)), between[which]

    def mixtures(self, predictor: Predictor) -> Iterator[tuple[npt.NDArray[np.intp], Mixtures]]:
        """Yield some rows after the other, with the mixture of leaves for each of them."""
        grammar = self.grammar(as_predictor(predictor))
        for rows in self._in_parts(predictor):
            queries = self._queries(self.positions[rows])
            if predictor == "map":
                boxes = np.asarray(queries.walk_best(grammar, self.n_workers))
                ends, weights = np.arange(1, len(rows) + 1), np.ones(len(rows))
            else:
                ends, boxes, weights = map(np.asarray, queries.mixtures(grammar, self.n_workers))
            statistics = self.graph.core.statistics[boxes]
            yield rows, Mixtures(ends.astype(np.intp), statistics, weights, self.leaf).without_negligible()

    def walk_randomly(self, n: int, seed: int) -> tuple[npt.NDArray[np.uint32], FloatArray]:
        """Return the leaf that each row reaches in each of n random trees, and as many uniform random numbers."""
        boxes, uniforms = self._queries(self.positions).walk_randomly(self.grammar("ensemble"), seed, n, self.n_workers)
        return np.asarray(boxes), np.asarray(uniforms)

    def _in_parts(self, predictor: Predictor) -> Iterator[npt.NDArray[np.intp]]:
        n_leaves = 1 if predictor == "map" else min(_LEAVES_AT_ONCE, self.graph.n_boxes)
        n_at_once = max(1, _LEAVES_AT_ONCE // n_leaves)
        for begin in range(0, len(self), n_at_once):
            yield np.arange(begin, min(begin + n_at_once, len(self)))

    def _queries(self, positions: npt.NDArray[np.uint32]) -> _core.Queries:
        weights = None
        if self.routing.has_missing(positions):
            weights = np.ascontiguousarray(self.leaf.n_rows(self.graph.core.statistics))
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
        try:
            return given.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidDataError(f"y must be numbers: {error}") from None
    places = {label: place for place, label in enumerate(classes.tolist())}
    unknown = next((label for label in given.tolist() if label not in places), None)
    if unknown is not None:
        raise InvalidDataError(f"y contains {unknown!r}, which is none of the classes {list(places)}")
    return np.array([places[label] for label in given.tolist()], dtype=np.float64)
