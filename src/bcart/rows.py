"""Rows and the posterior: their way through all trees, through the best one, or through random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.answers import Paths
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.graph import Graph
from bcart.leaves import LeafModel, central_interval
from bcart.leaves.model import BYTES_AT_ONCE, Moments
from bcart.mixtures import Mixtures
from bcart.parse import FloatArray, as_column, as_floats, refusing
from bcart.routing import Positions, Routing

Predictor = Literal["ensemble", "map"]

_FEWEST_ROWS = 1 << 14  # that are answered at a time
_SHARE_OF_ROWS = 2  # of the memory, one part is for those that differ,
_SHARE_OF_NEW_ROWS = 4  # and one for those that are looked at
_PRECISION = 1e-10  # of the probability beyond either end of an interval
_ROWS_AT_FIRST = 16  # until it is known how many leaves they end in
_MOST_LEAVES = 2_000_000  # that are held in memory
_BOXES_A_LEAF = 4  # of so many boxes of a graph, a row is expected to meet one at most
_TARGETS_AT_ONCE = 1 << 16
_SHARE_OF_PIECES = 16  # of the memory, one part may be taken for leaves that are looked at together,
_FEWEST_BYTES = 1 << 18  # but not less than this
_BYTES_A_WALK = 64  # besides the statistics of its leaf
_SHARE_OF_WALKS = 4  # of the memory, one part is for walks that are made together, and one for those before them
_LEAST_ROOM = 1 << 20  # for walks, however little is left


Walks = tuple[slice, tuple[npt.NDArray[np.int64], FloatArray], FloatArray]  # which; boxes, statistics; random numbers


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
    room : callable
        Returns how many bytes predictions may take; asked when the grammar is there.
    """

    positions: Positions
    graph: Graph
    leaf: LeafModel
    routing: Routing
    grammar_for: Callable[[Predictor], _core.Grammar]
    box_weights: Callable[[], FloatArray]
    n_workers: int
    room: Callable[[], int]

    def __len__(self) -> int:
        return len(self.positions)

    def distinct(self) -> tuple[Rows, npt.NDArray[np.intp]]:
        """Return the rows that some tree can tell apart, and which of them each row is."""
        groups, distinct = _core.group_rows(self.positions, self.n_workers)
        positions = distinct.reshape(-1, self.positions.shape[1])
        return replace(self, positions=positions), groups.group_of.astype(np.intp)

    def with_room_beside(self) -> Rows:
        """Return the same rows, which leave less room to predictions."""
        n_bytes = len(self) * bytes_a_row(self.positions.shape[1], self.leaf.n_outputs)
        return replace(self, room=lambda: max(0, self.room() - n_bytes))

    def moments(self, predictor: Predictor) -> tuple[Moments, FloatArray]:
        """Return mean, variance within leaves and noise for each row and output, and the variance between trees."""
        queries, grammar = self._queries(self.positions), self.grammar_for(as_predictor(predictor))
        if predictor == "map":
            moments = self.leaf.moments(self._as_rows(queries.walk_best(grammar, self.room(), self.n_workers)))
            return moments, np.zeros_like(moments.mean)
        flat = queries.respond(grammar, self.leaf.core, self.room(), self.n_workers)
        mean, between, within, noise = (np.asarray(part).reshape(-1, self.leaf.n_outputs) for part in flat)
        return Moments(mean + self.leaf.offset, within, noise), between

    def uncertainty(self, predictor: Predictor, tail: float | None) -> list[FloatArray]:
        """Return mean, bounds of the credible interval, and the variances between trees, within leaves and of noise."""
        (mean, within, noise), between = self.moments(predictor)
        low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
        if tail is not None:
            for some, mixtures in self.mixtures(predictor, _PRECISION * tail):
                low[some], high[some] = mixtures.output_interval(tail)
        return [mean, low, high, between, within, noise]

    def interval(self, predictor: Predictor, tail: float) -> FloatArray:
        """Return the bounds that the next target of each row lies beyond with probability `tail`, on either side."""
        bounds = np.empty((len(self), 2))
        for some, mixtures in self.mixtures(predictor, _PRECISION * tail):
            bounds[some] = np.column_stack(central_interval(mixtures.target_quantile, tail))
        return bounds

    def log_density(self, predictor: Predictor, targets: FloatArray, which: npt.NDArray[np.intp]) -> FloatArray:
        """Return the log probability, or density, of targets, of which each belongs to one of the rows."""
        result = np.empty(len(targets))
        order = np.lexsort((targets, which))
        ends = np.cumsum(np.bincount(which, minlength=len(self)))
        n_done = 0
        for some, mixtures in self.mixtures(predictor):
            end = int(ends[some.stop - 1])
            for start in range(n_done, end, _TARGETS_AT_ONCE):
                asked = order[start : min(start + _TARGETS_AT_ONCE, end)]
                result[asked] = mixtures.log_density(targets[asked], which[asked] - some.start)
            n_done = end
        return result

    def mixtures(self, predictor: Predictor, may_lose: float = 0.0) -> Iterator[tuple[slice, Mixtures]]:
        """Yield some rows after the other, with the mixture of leaves for each of them.

        Leaves that have less probability than `may_lose` together may be left out.
        """
        grammar = self.grammar_for(as_predictor(predictor))
        n_leaves = self._leaves_at_once
        begin, n_at_once = 0, min(_ROWS_AT_FIRST, max(1, _BOXES_A_LEAF * n_leaves // self.graph.n_boxes))
        while begin < len(self):
            rows = slice(begin, min(begin + n_at_once, len(self)))
            mixtures, n_met = self._mixtures(rows, grammar, predictor, may_lose / 2)
            yield rows, mixtures
            begin, n_at_once = rows.stop, max(1, n_leaves * (rows.stop - begin) // n_met)

    def _mixtures(
        self, rows: slice, grammar: _core.Grammar, predictor: Predictor, may_lose: float
    ) -> tuple[Mixtures, int]:
        """Return the mixtures of some rows without improbable leaves, and how many leaves there were with them."""
        queries = self._queries(self.positions[rows])
        if predictor == "map":
            n = rows.stop - rows.start
            ends_of_walks = queries.walk_best(grammar, self.room(), self.n_workers)
            parts: list[Any] = [np.arange(1, n + 1), ends_of_walks, np.ones(n)]
        else:
            parts = list(queries.mixtures(grammar, may_lose, self.room() // 2, self.n_workers))
        ends, statistics, weights = (np.asarray(part) for part in parts)
        mixtures = Mixtures(ends.astype(np.intp), self._as_rows(statistics), weights, self.leaf, self._bytes_at_once)
        return mixtures.without(may_lose), len(weights)

    @property
    def _leaves_at_once(self) -> int:
        return min(_MOST_LEAVES, self.room() // (2 * bytes_a_leaf(self.leaf.n_statistics)))

    @property
    def _bytes_at_once(self) -> int:
        """Return what may be taken for leaves that are looked at together."""
        return min(BYTES_AT_ONCE, max(_FEWEST_BYTES, self.room() // _SHARE_OF_PIECES))

    def paths(self, n: int, seed: int, classes: npt.NDArray[Any] | None) -> Paths:
        """Follow each row through n random trees."""
        size, width = len(self) * n, self.leaf.n_statistics
        boxes, statistics = np.empty(size, np.int64), np.empty((size, width))
        y: npt.NDArray[Any] = np.empty(size, np.float64 if classes is None else classes.dtype)
        for part, ends_of_walks, uniforms in self._walk_randomly(n, seed):
            boxes[part], statistics[part] = ends_of_walks
            targets = self._draw(uniforms, statistics[part])
            y[part] = targets if classes is None else classes[targets.astype(np.intp)]
        shape = len(self), n
        return Paths(boxes.reshape(shape), statistics.reshape(*shape, width), y.reshape(shape))

    def _walk_randomly(self, n: int, seed: int) -> Iterator[Walks]:
        """Yield the leaf of each row in each of n random trees, and uniform random numbers, as there is room."""
        queries, grammar = self._queries(self.positions), self.grammar_for("ensemble")
        room, n_walks = self.room(), len(self) * n
        n_bytes_each = 8 * self.leaf.n_statistics + _BYTES_A_WALK
        n_at_once = min(n_walks, max(room // _SHARE_OF_WALKS, _LEAST_ROOM) // n_bytes_each)
        rest = max(0, room - 2 * n_at_once * n_bytes_each)
        for begin in range(0, n_walks, max(1, n_at_once)):
            end = min(begin + n_at_once, n_walks)
            boxes, statistics, uniforms = queries.walk_randomly(grammar, seed, n, rest, self.n_workers, begin, end)
            ends_of_walks = self.graph.numbers(np.asarray(boxes)), self._as_rows(statistics)
            yield slice(begin, end), ends_of_walks, np.asarray(uniforms)

    def _draw(self, uniforms: FloatArray, statistics: FloatArray) -> FloatArray:
        """Return a random target of each leaf."""

        def find(some: slice) -> FloatArray:
            return self.leaf.target_quantile(uniforms[some], statistics[some])

        return self.leaf.in_pieces(find, len(uniforms), self._bytes_at_once)

    def _as_rows(self, statistics: Any) -> FloatArray:
        return np.asarray(statistics).reshape(-1, self.leaf.n_statistics)

    def _queries(self, positions: Positions) -> _core.Queries:
        weights = self.box_weights() if self.routing.has_missing(positions) else None
        return self.routing.queries(np.ascontiguousarray(positions, dtype=np.uint32), weights)


SomeRows = tuple[slice, Rows, npt.NDArray[np.intp]]  # which they are, those that differ, and which of these each is


def differing_rows(rows_of: Callable[[slice], Rows], n_rows: int, n_with_room: int) -> Iterator[SomeRows]:
    """Yield consecutive rows, as many at a time as there is room for all that differ among them."""
    begin, known, seen = 0, None, list[_Look]()
    n_at_once = max(_FEWEST_ROWS, n_with_room // _SHARE_OF_NEW_ROWS)
    for start in range(0, max(1, n_rows), n_at_once):
        new, which = rows_of(slice(start, start + n_at_once)).distinct()
        places = np.arange(len(new))
        if known is not None and len(known) + len(new) > max(_FEWEST_ROWS, n_with_room // _SHARE_OF_ROWS):
            yield slice(begin, start), known.with_room_beside(), _joined(seen)
            begin, known, seen = start, None, []
        if known is None:
            known = new
        else:
            both, place_of = replace(known, positions=np.concatenate([known.positions, new.positions])).distinct()
            seen = [_Look(look.which, place_of[look.places]) for look in seen]
            known, places = both, place_of[len(known) :]
        seen.append(_Look(which, places))
    if known is not None:
        yield slice(begin, n_rows), known.with_room_beside(), _joined(seen)


class _Look(NamedTuple):
    """Rows that were looked at together: which of those that differ among them each is, and where these are now."""

    which: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]


def _joined(looks: list[_Look]) -> npt.NDArray[np.intp]:
    return np.concatenate([look.places[look.which] for look in looks]) if len(looks) > 1 else looks[0].which


def bytes_a_row(n_features: int, n_outputs: int, is_plain: bool = True) -> int:
    """Return what a row takes until it is answered: positions, the same as queries, its place in a group, moments.

    Of a table that is not plain, its numbers come before that.
    """
    return (8 if is_plain else 16) * n_features + 32 * n_outputs + 96


def bytes_a_leaf(n_statistics: int) -> int:
    """Return what a leaf of a mixture takes while it is gathered and asked, with one of the mixtures before it."""
    return 32 * n_statistics + 150


def as_predictor(predictor: Predictor) -> Predictor:
    """Return the name of a predictor, or raise if there is none of that name."""
    if predictor not in ("ensemble", "map"):
        raise InvalidModelError(f"predictor={predictor!r} must be 'ensemble' or 'map'")
    return predictor


def as_targets(y: npt.ArrayLike, classes: npt.NDArray[Any] | None, n_rows: int) -> FloatArray:
    """Return targets as leaf models see them: numbers, or the places of labels."""
    given = as_column(y)
    if given.shape != (n_rows,):
        raise InvalidDataError(f"y must have one target for each of {n_rows} rows, got shape {given.shape}")
    if classes is None:
        targets = as_floats(given, "y")
        if not np.isfinite(targets).all():
            row = int(np.flatnonzero(~np.isfinite(targets))[0])
            raise InvalidDataError(f"y contains {targets[row]} (row {row}); leave out rows without a finite target")
        return targets
    places = {label: place for place, label in enumerate(classes.tolist())}
    listed = given.tolist()
    with refusing("y must be labels"):
        found = np.fromiter((places.get(label, -1) for label in listed), np.float64, n_rows)
    if (found < 0).any():
        unknown = listed[int(np.flatnonzero(found < 0)[0])]
        raise InvalidDataError(
            f"y contains {unknown!r}, which is none of the classes {list(places)}; leave out such rows"
        )
    return found
