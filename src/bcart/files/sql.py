"""Pieces of SQL: names and values that cannot break out of it, searches among cuts, and sums that are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BITS = 126  # of a sum in a signed number of 128 bits, with one to spare
_LARGEST_EXPONENT = 1000  # of a power of two that is far from the end of what a float can hold


def identifier(name: str) -> str:
    """Write a name so that it is nothing but a name.

    Examples
    --------
    >>> identifier('a"; DROP TABLE b')
    '"a""; DROP TABLE b"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Write a value: text, a truth value, or a number to its last bit.

    Examples
    --------
    >>> literal("it's"), literal(0.1), literal(True)
    ("'it''s'", "'0.1'::DOUBLE", 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"'{value}'::HUGEINT"
    if isinstance(value, float):
        return f"'{value!r}'::DOUBLE"
    quoted = ["'" + part.replace("'", "''") + "'" for part in str(value).split("\0")]
    return quoted[0] if len(quoted) == 1 else "(" + " || chr(0) || ".join(quoted) + ")"


def any_of(values: Sequence[Any]) -> str:
    """Write a list of values, as it stands behind IN."""
    return "(" + ", ".join(map(literal, values)) + ")"


def count_cuts(x: str, cuts: Sequence[Any], first: int = 0) -> str:
    """Write how many of some ascending cuts are not above `x`, plus `first`, by halving them.

    Examples
    --------
    >>> count_cuts("x", [True])
    'CASE WHEN x < true THEN 0 ELSE 1 END'
    """
    if not cuts:
        return str(first)
    middle = len(cuts) // 2
    below = count_cuts(x, cuts[:middle], first)
    above = count_cuts(x, cuts[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {x} < {literal(cuts[middle])} THEN {below} ELSE {above} END"


@dataclass(frozen=True)
class FixedPoint:
    """Sums whose last bit does not depend on the order, which several threads would make by chance.

    Numbers are taken as whole multiples of a power of two, and added as whole numbers of 128 bits. The power is as
    small as the largest number and how many there are allow: numbers down to 2**-50 of the largest keep all their bits.

    Examples
    --------
    >>> FixedPoint.of(largest=1.0, n=4)
    FixedPoint(exponent=122)
    """

    exponent: int

    @classmethod
    def of(cls, largest: float, n: int) -> FixedPoint:
        """Return the finest that can hold the sum of `n` numbers none of which is above `largest`."""
        exponent = _BITS - n.bit_length() - math.frexp(largest)[1]
        return cls(max(-_LARGEST_EXPONENT, min(exponent, _LARGEST_EXPONENT)))

    def sum(self, x: str) -> str:
        """Write the sum of `x`."""
        unit = literal(math.ldexp(1.0, self.exponent))
        return f"CAST(sum(CAST(({x}) * {unit} AS HUGEINT)) AS DOUBLE) / {unit}"
