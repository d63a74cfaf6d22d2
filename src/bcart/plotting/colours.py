"""What is not a class in a picture, and colours for numbers."""

from __future__ import annotations

from matplotlib.colors import LinearSegmentedColormap

from bcart.colours import darker, lighter

INK = "#1f2933"
QUIET = "#66727f"
LINE = "#a9b4c0"
FAINT = "#e4e8ec"
PAPER = "#ffffff"
BOX = "#f3f5f7"

MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def ramp(colour: str) -> LinearSegmentedColormap:
    """Return the colours from nearly white to a dark shade of a colour."""
    return LinearSegmentedColormap.from_list(
        "bcart", [lighter(colour, 0.95), lighter(colour, 0.3), darker(colour, 0.35)]
    )
