"""How many boxes a table has: counted by random ranges of codes, without listing any."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.grid import Kind
from bcart.listing import Family
from bcart.reach import ROUNDING, Reach

_MOST_TRIALS = 100_000
_MOST_BYTES = 25 * 10**7  # that all trials together pass: a quarter of a second
_MOST_BYTES_A_TRIAL = 250_000  # so that there are a thousand at least
_BYTES_AT_ONCE = 2**18  # of the cells of trials that are made together
_MOST_BYTES_OF_CODES = 2**23  # that they allow
_MOST_LOOKS = 5000  # at a feature, for as many trials as are made together: each takes a tenth of a millisecond
_FEWEST_HITS, _ENOUGH_HITS = 10, 1000
_ENOUGH_HEAVY, _ENOUGH_BOXES = 3000, 500  # each takes some tenths of a millisecond

Mask = npt.NDArray[np.bool_]
Bits = npt.NDArray[np.uint8]  # eight cells a byte


def most_boxes(cells: Cells) -> float:
    """Return how many ways there are to restrict the codes of all features as boxes do.

    Examples
    --------
    >>> most_boxes(Cells([[0, 1], [1, 2]], [[1.0], [1.0]]))
    18.0
    """
    return math.prod(_n_ranges(kind, n) for kind, n in zip(cells.kinds, cells.n_bins, strict=True))


@dataclass(frozen=True)
class Census:
    """How many boxes there are, and some of them, drawn at random: their layers, cells and splits."""

    n_boxes: float
    layers: npt.NDArray[np.intp]
    cells: npt.NDArray[np.intp]
    splits: npt.NDArray[np.intp]


def estimate_boxes(cells: Cells) -> float | None:
    """Return about how many boxes there are if no leaf is too small.

    None if they are too rare among all ways to be met, or cells and features too many to try often.

    Each box is made by just one way whose ends are all met: the narrowest. Of ways that are drawn at random, the share
    that is narrowest is the share of boxes.

    Examples
    --------
    >>> cells = Cells([[i % 7, i // 7] for i in range(49)], [[1.0]] * 49)
    >>> estimate_boxes(cells), most_boxes(cells)
    (784.0, 784.0)
    """
    n_trials = n_hits = 0
    for ways in _draw_narrowest(cells):
        n_trials, n_hits = n_trials + ways.n_trials, n_hits + len(ways.inside)
        if n_hits >= _ENOUGH_HITS:
            break
    return n_hits / n_trials * most_boxes(cells) if n_hits >= _FEWEST_HITS else None


def take_census(cells: Cells, family: Family) -> Census | None:
    """Return about how many boxes a family without a limit of depth has, and some of them; None as above.

    Boxes are those of narrowest ways that splits lead to, all of whose leaves are heavy enough.
    """
    n_trials, heavy = 0, list[tuple[list[Mask], Bits]]()
    for ways in _draw_narrowest(cells):
        n_trials += ways.n_trials
        inside = np.unpackbits(ways.inside, axis=1, count=cells.n_cells).view(np.bool_)
        is_heavy = inside @ cells.weights >= family.min_samples_leaf * (1 - ROUNDING)
        heavy += [
            ([codes[i].copy() for codes in ways.allowed], ways.inside[i].copy()) for i in np.flatnonzero(is_heavy)
        ]
        if len(heavy) >= _ENOUGH_HEAVY:
            break
    reach, n_tried, boxes = Reach(cells, family), 0, list[tuple[int, int, int]]()
    while n_tried < min(len(heavy), _ENOUGH_HEAVY) and len(boxes) < _ENOUGH_BOXES:
        allowed, bits = heavy[n_tried]
        members = np.unpackbits(bits, count=cells.n_cells).view(np.bool_)
        layer, n_tried = reach.n_splits_to(allowed), n_tried + 1
        if layer is not None:
            boxes.append((layer, int(members.sum()), reach.n_splits_of(members)))
    if len(boxes) < _FEWEST_HITS:
        return None
    share = len(heavy) / n_trials * len(boxes) / n_tried
    return Census(share * most_boxes(cells), *np.array(boxes, dtype=np.intp).T)


def _n_ranges(kind: Kind, n_codes: int) -> float:
    """Return how many ranges of ordered codes there are, each with and without missing values; or sets of labels."""
    if kind == "nominal":
        return 2.0**n_codes - 1
    if kind == "optional":
        return (n_codes - 1.0) * n_codes + 1
    return n_codes * (n_codes + 1.0) / 2


def _members(codes: npt.NDArray[np.uint8], n_codes: int) -> Bits:
    """Return the cells that have each code."""
    return np.packbits(codes == np.arange(n_codes)[:, None], axis=1)


@dataclass(frozen=True)
class _Ways:
    """Ways to restrict the codes of all features that are narrowest, of some that were drawn."""

    n_trials: int
    allowed: list[Mask]  # codes, by feature
    inside: Bits


def _draw_narrowest(cells: Cells) -> Iterator[_Ways]:
    """Draw some ways at a time, as often as is worth it."""
    bytes_a_trial = sum(cells.n_bins) * -(-cells.n_cells // 8)
    members = [_members(codes, n_codes) for codes, n_codes in zip(cells.codes.T, cells.n_bins, strict=True)]
    for_codes = _MOST_BYTES_OF_CODES // (2 * sum(cells.n_bins))
    at_once = max(1, min(_BYTES_AT_ONCE // members[0].shape[1], for_codes, _MOST_TRIALS))
    random, n_trials = np.random.default_rng(0), 0
    most = min(_MOST_TRIALS, _MOST_BYTES / bytes_a_trial, at_once * _MOST_LOOKS / len(members))
    while bytes_a_trial <= _MOST_BYTES_A_TRIAL and n_trials < most:
        yield _narrowest(members, cells.kinds, at_once, random)
        n_trials += at_once


def _narrowest(members: list[Bits], kinds: Sequence[Kind], n: int, random: np.random.Generator) -> _Ways:
    """Draw ways to restrict all features, and keep those by whose ends, all of them, some cell stands."""
    inside = np.full((n, members[0].shape[1]), 255, dtype=np.uint8)
    allowed_of, ends = [], []
    for of_codes, kind in zip(members, kinds, strict=True):
        allowed, needed = _draw(kind, len(of_codes), n, random)
        allowed_of.append(allowed)
        ends.append(needed)
        some = np.zeros_like(inside)
        for is_allowed, bits in zip(allowed.T, of_codes, strict=True):
            some[is_allowed] |= bits
        inside &= some
    is_narrow = np.ones(n, dtype=np.bool_)
    for of_codes, needed in zip(members, ends, strict=True):
        for is_needed, bits in zip(needed.T, of_codes, strict=True):
            asked = np.flatnonzero(is_needed & is_narrow)
            is_narrow[asked] = (inside[asked] & bits).any(axis=1)
    return _Ways(n, [allowed[is_narrow] for allowed in allowed_of], inside[is_narrow])


def _draw(kind: Kind, n_codes: int, n: int, random: np.random.Generator) -> tuple[Mask, Mask]:
    """Draw ranges of codes, all with the same chance: which codes they allow, and which they need to be narrow."""
    if kind == "nominal":
        labels = random.integers(0, 2, (n, n_codes)) > 0
        while (is_empty := ~labels.any(axis=1)).any():
            labels[is_empty] = random.integers(0, 2, (int(is_empty.sum()), n_codes)) > 0
        return labels, labels
    if kind == "optional":
        return _draw_with_missing(n_codes, n, random)
    last = np.sqrt(2.0 * random.integers(0, n_codes * (n_codes + 1) // 2, n) + 0.25) - 0.5
    high = np.floor(last + 1e-9).astype(np.intp)
    low = random.integers(0, high + 1)
    codes = np.arange(n_codes)
    allowed = (low[:, None] <= codes) & (codes <= high[:, None])
    return allowed, (low[:, None] == codes) | (codes == high[:, None])


def _draw_with_missing(n_codes: int, n: int, random: np.random.Generator) -> tuple[Mask, Mask]:
    """The same with code 0 for missing values: a range with or without it, or nothing else."""
    allowed, needed = np.zeros((n, n_codes), dtype=np.bool_), np.zeros((n, n_codes), dtype=np.bool_)
    way = random.integers(0, (n_codes - 1) * n_codes + 1, n)
    has_range, has_missing = way > 0, way % 2 == 0
    if n_codes > 1:
        ranges = _draw("numeric", n_codes - 1, n, random)
        allowed[:, 1:], needed[:, 1:] = (part & has_range[:, None] for part in ranges)
    allowed[:, 0] = needed[:, 0] = has_missing
    return allowed, needed
