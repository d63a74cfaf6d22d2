"""The colours of classes: few, told apart by everyone, the same for the same class wherever it is shown."""

from __future__ import annotations

# Okabe and Ito's, which people with any kind of colour vision tell apart, without yellow, which is lost on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f")


def colour_of(place: int) -> str:
    """Return the colour of a class by its place among the classes, or of the n-th thing that is compared."""
    return PALETTE[place % len(PALETTE)]


def lighter(colour: str, share: float) -> str:
    """Mix a colour with a share of white.

    Examples
    --------
    >>> lighter("#0072b2", 0.5)
    '#80b8d8'
    """
    return _mix(colour, share, 255)


def darker(colour: str, share: float) -> str:
    """Mix a colour with a share of black."""
    return _mix(colour, share, 0)


def _mix(colour: str, share: float, other: int) -> str:
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (other - part) * share):02x}" for part in parts)
