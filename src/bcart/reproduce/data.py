"""The paper's datasets: shipped, made, read from a folder, or fetched; each compared with what it should be."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_iris

from bcart.datasets import load_haberman, make_hidden_xor
from bcart.errors import InvalidDataError, InvalidModelError
from bcart.parse import FloatArray
from bcart.reproduce.binning import BINNINGS, Binning
from bcart.reproduce.fetch import fetch_table

Labels = npt.NDArray[np.generic]
Numbered = npt.NDArray[np.int64]
Table = tuple[FloatArray, Labels]


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset as the experiments take it.

    Parameters
    ----------
    name, title : str
        For files, and for people.
    of_paper : str
        The name of the paper's dataset that it is compared with.
    samples : sequence of (X, y)
        The rows of the first trial, the second, ...; real data have the same rows in every trial, so there is one.
    max_bins : int
    binnings : tuple of str
        See `bcart.reproduce.binning`.
    """

    name: str
    title: str
    of_paper: str
    samples: Sequence[tuple[FloatArray, Numbered]]
    max_bins: int
    binnings: tuple[Binning, ...] = BINNINGS

    def rows(self, trial: int) -> tuple[FloatArray, Numbered]:
        """Return the rows of a trial."""
        return self.samples[trial % len(self.samples)]

    def has_ours(self, binning: Binning) -> bool:
        """Tell whether our trees take part: raw numbers are for CART and random forest, unless there is no other way.

        Examples
        --------
        >>> Problem("coins", "Coins", "xor", (), 10, ("none",)).has_ours("none")
        True
        """
        return binning != "none" or self.binnings == ("none",)


@dataclass(frozen=True)
class Expected:
    """What is known of a table: its shape, how often each class occurs, and the range of each feature."""

    title: str
    openml: int
    n_rows: int
    class_counts: tuple[tuple[int, ...], ...]  # each in ascending order
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    def check(self, table: Table, origin: str) -> None:
        """Raise `InvalidDataError` if this is another table."""
        X, labels = table
        counts = tuple(sorted(Counter(labels.tolist()).values()))
        shape, expected = X.shape, (self.n_rows, len(self.lowest))
        if shape != expected or counts not in self.class_counts:
            said = " or ".join(map(str, self.class_counts))
            raise InvalidDataError(
                f"{origin} is refused: it has {shape[0]} rows, {shape[-1]} features and class counts {counts}, "
                f"expected {expected[0]} rows, {expected[1]} features and {said}"
            )
        low, high = X.min(axis=0), X.max(axis=0)
        if not (np.allclose(low, self.lowest, atol=0.01) and np.allclose(high, self.highest, atol=0.01)):
            raise InvalidDataError(
                f"{origin} is refused: its features reach from {low.round(2).tolist()} to {high.round(2).tolist()}, "
                f"expected {list(self.lowest)} to {list(self.highest)}"
            )


VERTEBRAL = Expected(
    title="Vertebral Column",
    openml=1523,
    n_rows=310,
    class_counts=((60, 100, 150), (100, 210)),
    lowest=(26.15, -6.55, 14.0, 13.37, 70.08, -11.06),
    highest=(129.83, 49.43, 125.74, 121.43, 163.07, 418.54),
)
CAESARIAN = Expected(
    title="Caesarian Section",
    openml=42901,
    n_rows=80,
    class_counts=((34, 46),),
    lowest=(17, 1, 0, 0, 0),
    highest=(40, 4, 2, 2, 1),
)
N_NORMAL, N_HERNIA, N_SLIPPED = 100, 60, 150  # rows of Vertebral Column
NAMES = ("iris", "caesarian", "haberman", "vertebral", "xor")


def load_problems(
    names: Sequence[str] | None, data: str | os.PathLike[str] | None, n_xor_rows: int, n_trials: int
) -> tuple[list[Problem], list[str]]:
    """Return the datasets that can be had, and a line for each that cannot.

    Parameters
    ----------
    names : sequence of str or None
        Of `NAMES`; None for all.
    data : path or None
        A folder with ``caesarian.csv`` and ``vertebral.csv``, or with a folder ``paper`` that has them; None for what
        the environment variable ``BCART_DATA`` says. The last column is the class; the first line names the columns.
    n_xor_rows, n_trials : int
        Hidden XOR has new rows in each trial.
    """
    folder = data if data is not None else os.environ.get("BCART_DATA")
    makers: dict[str, Callable[[], list[Problem]]] = {
        "iris": _iris,
        "caesarian": lambda: _caesarian(_read_or_fetch("caesarian", CAESARIAN, folder)),
        "haberman": _haberman,
        "vertebral": lambda: _vertebral(_read_or_fetch("vertebral", VERTEBRAL, folder)),
        "xor": lambda: [_hidden_xor(n_xor_rows, n_trials)],
    }
    problems: list[Problem] = []
    left_out: list[str] = []
    for name in _known(names):
        try:
            problems += makers[name]()
        except InvalidDataError as error:
            left_out.append(str(error))
    return problems, left_out


def _known(names: Sequence[str] | None) -> list[str]:
    asked = list(NAMES if names is None else names)
    unknown = [name for name in asked if name not in NAMES]
    if unknown or not asked:
        raise InvalidModelError(f"datasets={asked} must be some of {', '.join(NAMES)}")
    return [name for name in NAMES if name in asked]


def _iris() -> list[Problem]:
    iris = load_iris()
    return [Problem("iris", "Iris", "iris", ((iris.data, _numbered(iris.target)),), 10)]


def _haberman() -> list[Problem]:
    """Return the table with its classes in the order of the original: survived, died.

    The order matters to CART: where the classes of a leaf are equally frequent, the first is predicted.
    """
    haberman = load_haberman()
    y = (haberman.target == "died").astype(np.int64)
    return [Problem("haberman", "Haberman", "haberman", ((haberman.data, y),), 10)]


def _caesarian(table: Table) -> list[Problem]:
    X, labels = table
    return [Problem("caesarian", "Caesarian", "caesarian", ((X, _numbered(labels)),), 10)]


def _vertebral(table: Table) -> list[Problem]:
    """Return the table with two classes, as the paper describes it, and with three, as its numbers look.

    Classes are in the order of their names: abnormal, normal; and hernia, normal, slipped vertebra.
    """
    X, labels = table
    is_normal = labels == _label_that_occurs(labels, N_NORMAL)
    two = Problem("vertebral", "Vertebral", "vertebral", ((X, is_normal.astype(np.int64)),), 5)
    kinds = _three_kinds(labels, is_normal)
    if kinds is None:
        return [two]
    title = "Vertebral, 3 classes"
    return [two, Problem("vertebral3", title, "vertebral", ((X, kinds),), 5, ("none", "uniform", "edges"))]


def _three_kinds(labels: Labels, is_normal: npt.NDArray[np.bool_]) -> Numbered | None:
    """Return hernia, normal, slipped vertebra as 0, 1, 2; where two of them are one label, the order of rows tells.

    The files with two and with three classes hold the same rows in the same order: hernia, slipped, normal.
    """
    if len(np.unique(labels)) == 3:
        return np.where(is_normal, 1, np.where(labels == _label_that_occurs(labels, N_HERNIA), 0, 2))
    if is_normal[: N_HERNIA + N_SLIPPED].any():
        return None
    return np.repeat(np.array([0, 2, 1]), [N_HERNIA, N_SLIPPED, N_NORMAL])


def _label_that_occurs(labels: Labels, n_times: int) -> np.generic:
    values, counts = np.unique(labels, return_counts=True)
    found: np.generic = values[counts == n_times][0]
    return found


def _hidden_xor(n_rows: int, n_trials: int) -> Problem:
    tables = [make_hidden_xor(n_rows, random_state=trial) for trial in range(n_trials)]
    samples = tuple((table.data, _numbered(table.target)) for table in tables)
    return Problem("xor", "Hidden XOR", "xor", samples, 10, ("none",))


def _numbered(labels: Labels) -> Numbered:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _read_or_fetch(name: str, expected: Expected, folder: str | os.PathLike[str] | None) -> Table:
    """Return a table from the folder, or else from OpenML."""
    path = _find(name, folder)
    try:
        if path is not None:
            table, origin = _read(path), str(path)
        else:
            table, origin = fetch_table(expected.openml), f"OpenML's table {expected.openml}"
        expected.check(table, origin)
    except InvalidDataError as error:
        raise InvalidDataError(
            f"{expected.title} is left out: {error}. To have it, put {name}.csv (from the UCI repository; a line of "
            "names, then numbers and the class in the last column) into a folder, and name the folder with --data or "
            "BCART_DATA"
        ) from None
    return table


def _find(name: str, folder: str | os.PathLike[str] | None) -> Path | None:
    if folder is None:
        return None
    places = [Path(folder) / f"{name}.csv", Path(folder) / "paper" / f"{name}.csv"]
    return next((place for place in places if place.is_file()), None)


def _read(path: Path) -> Table:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            _, *lines = [line for line in csv.reader(file) if line]
        return np.array([line[:-1] for line in lines], dtype=np.float64), np.array([line[-1] for line in lines])
    except (OSError, ValueError) as error:
        raise InvalidDataError(f"{path} cannot be read ({error})") from None
