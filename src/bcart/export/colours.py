"""Colours of classes and of numbers."""

from __future__ import annotations

_CLASSES = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#76b7b2",
    "#edc948",
    "#b07aa1",
    "#ff9da7",
    "#9c755f",
    "#8a8a8a",
)


def colour_of_class(place: int) -> str:
    """Return the colour of a class; after ten they come again."""
    return _CLASSES[place % len(_CLASSES)]


def tint(colour: str, strength: float) -> str:
    """Mix a colour into white: 0 is white, 1 the colour itself."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (part - 255) * strength):02x}" for part in parts)
