"""The numbers of the paper, as they are printed in its three tables.

Sullivan, Tiwari, Thrun and Piech (2023), "Bayesian Decision Trees via Tractable Priors and Probabilistic Context-Free
Grammars", arXiv:2302.07407. Its captions call what follows the ± sign a 95 % confidence interval over five random
trials. The numbers themselves say that it is 1.96 standard deviations over the ten folds of one cross-validation: see
`as_ten_folds`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Model = Literal["CART", "random forest", "best tree", "ensemble"]
Measure = Literal["accuracy", "nodes"]
MODELS: tuple[Model, ...] = ("CART", "random forest", "best tree", "ensemble")
ROUNDING = {"accuracy": 0.0005, "nodes": 0.05}  # half of the last digit that the paper prints of a mean
NORMAL_95 = 1.96


@dataclass(frozen=True)
class Quoted:
    """A number of the paper: a mean, and what follows its ± sign."""

    mean: float
    half_width: float

    def place(self, value: float, rounding: float = 0.0) -> int:
        """Return -1, 0 or 1 for a value below, within or above the interval, which the paper has rounded.

        Examples
        --------
        >>> Quoted(7.0, 0.0).place(6.6, rounding=0.05), Quoted(5.6, 3.2).place(8.8, rounding=0.05)
        (-1, 0)
        """
        distance = value - self.mean
        if abs(distance) <= self.half_width + rounding * (1 + 1e-9):
            return 0
        return 1 if distance > 0 else -1


def _column(**numbers: tuple[float, float]) -> Mapping[str, Quoted]:
    return MappingProxyType({name: Quoted(*number) for name, number in numbers.items()})


PAPER: Mapping[tuple[Measure, Model], Mapping[str, Quoted]] = MappingProxyType(
    {
        ("accuracy", "CART"): _column(
            iris=(0.967, 0.069),
            caesarian=(0.525, 0.193),
            haberman=(0.706, 0.219),
            vertebral=(0.713, 0.167),
            xor=(0.718, 0.217),
        ),
        ("accuracy", "best tree"): _column(
            iris=(0.967, 0.092),
            caesarian=(0.562, 0.311),
            haberman=(0.719, 0.166),
            vertebral=(0.716, 0.215),
            xor=(1.0, 0.0),
        ),
        ("accuracy", "random forest"): _column(
            iris=(0.96, 0.091),
            caesarian=(0.55, 0.263),
            haberman=(0.703, 0.197),
            vertebral=(0.726, 0.191),
            xor=(0.78, 0.121),
        ),
        ("accuracy", "ensemble"): _column(
            iris=(0.967, 0.092),
            caesarian=(0.562, 0.289),
            haberman=(0.716, 0.205),
            vertebral=(0.732, 0.211),
            xor=(1.0, 0.0),
        ),
        ("nodes", "CART"): _column(
            iris=(19.6, 4.153),
            caesarian=(70.2, 2.024),
            haberman=(161.0, 17.335),
            vertebral=(106.2, 8.097),
            xor=(392.2, 103.503),
        ),
        ("nodes", "best tree"): _column(
            iris=(7.0, 0.0),
            caesarian=(3.2, 2.225),
            haberman=(5.6, 3.227),
            vertebral=(15.6, 4.545),
            xor=(31.0, 0.0),
        ),
    }
)


def quoted(measure: str, model: str, dataset: str) -> Quoted | None:
    """Return the paper's number, None where it has none.

    Examples
    --------
    >>> quoted("nodes", "best tree", "vertebral")
    Quoted(mean=15.6, half_width=4.545)
    """
    return next((column.get(dataset) for key, column in PAPER.items() if key == (measure, model)), None)


def as_ten_folds(number: Quoted) -> tuple[int, float] | None:
    """Return the sum and the sum of squares of ten tree sizes that have this mean and 1.96 of their deviations.

    Trees have odd numbers of nodes. Ten of them sum up to an even number, and their squares to one that leaves 2 when
    divided by 8. None if no ten trees give the printed digits.

    Examples
    --------
    >>> as_ten_folds(quoted("nodes", "best tree", "caesarian"))  # sizes 1, seven times 3, and 5 twice
    (32, 114)
    >>> as_ten_folds(Quoted(3.2, 2.0)) is None
    True
    """
    total = round(10 * number.mean)
    if total % 2 or abs(total / 10 - number.mean) > 1e-9:
        return None
    ends = max(0.0, number.half_width - 0.0005), number.half_width + 0.0005
    low, high = (9 * (end / NORMAL_95) ** 2 + total**2 / 10 for end in ends)
    nearest = 8 * round(((low + high) / 2 - 2) / 8) + 2
    return (total, nearest) if low <= nearest <= high else None
