"""The colours of all pictures: few, told apart by everyone, the same for the same class wherever it is drawn."""

from __future__ import annotations

from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

INK = "#1f2933"
QUIET = "#66727f"
LINE = "#a9b4c0"
FAINT = "#e4e8ec"
PAPER = "#ffffff"
BOX = "#f3f5f7"

# Okabe and Ito's, which people with any kind of colour vision tell apart, without yellow, which is lost on white.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def colour_of(place: int) -> str:
    """Return the colour of a class by its place among the classes, or of the n-th thing that is compared."""
    return PALETTE[place % len(PALETTE)]


def lighter(colour: str, share: float) -> str:
    """Mix a colour with a share of white."""
    return _mix(colour, share, 1.0)


def darker(colour: str, share: float) -> str:
    """Mix a colour with a share of black."""
    return _mix(colour, share, 0.0)


def _mix(colour: str, share: float, other: float) -> str:
    red, green, blue = (part * (1 - share) + other * share for part in to_rgb(colour))
    return to_hex((red, green, blue))


def ramp(colour: str) -> LinearSegmentedColormap:
    """Return the colours from nearly white to a dark shade of a colour."""
    return LinearSegmentedColormap.from_list(
        "bcart", [lighter(colour, 0.95), lighter(colour, 0.3), darker(colour, 0.35)]
    )
