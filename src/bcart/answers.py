"""What the posterior says of rows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.memory import within_memory
from bcart.parse import FloatArray


@within_memory()
@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How sure the posterior is of its outputs: the probabilities of classes, or the mean of the target.

    All are arrays of shape (n_rows, n_outputs), with one output a class, or a single one for regression. The variance
    of the next target around its prediction has three parts; the first two make up ``std ** 2``, and more data would
    remove them.

    Attributes
    ----------
    mean : array
        The expected output, which is the prediction.
    low, high : array
        The bounds of its central credible interval, NaN if none was asked for.
    between_trees : array
        Variance because trees disagree.
    within_leaf : array
        Expected variance because leaves have seen few rows.
    noise : array
        Expected variance of the target around the true output, which no data would remove.

    Examples
    --------
    >>> import bcart
    >>> cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[9, 0], [8, 1], [0, 9]])
    >>> sure = bcart.Posterior(bcart.build_graph(cells)).uncertainty([[0], [2]])
    >>> sure.mean.round(3).tolist()
    [[0.901, 0.099], [0.091, 0.909]]
    >>> sure.low[:, 1].round(3).tolist(), sure.high[:, 1].round(3).tolist()
    ([0.011, 0.69], [0.265, 0.997])
    """

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    between_trees: FloatArray
    within_leaf: FloatArray
    noise: FloatArray

    @property
    def std(self) -> FloatArray:
        """Posterior standard deviation of the output."""
        return np.asarray(np.sqrt(self.between_trees + self.within_leaf))

    @property
    def predictive_std(self) -> FloatArray:
        """Standard deviation of the next target itself."""
        return np.asarray(np.sqrt(self.between_trees + self.within_leaf + self.noise))


@within_memory()
@dataclass(frozen=True, eq=False)
class Paths:
    """Random ways of rows through random trees, by `Posterior.sample_paths`.

    Attributes
    ----------
    boxes : array of shape (n_rows, n)
        The leaf that each row reaches, as a box of the graph; -1 if it is in the fold, where boxes have no numbers.
    statistics : array of shape (n_rows, n, n_statistics)
        Its statistics.
    y : array of shape (n_rows, n)
        A target drawn from it.

    Examples
    --------
    >>> import bcart
    >>> cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[9, 0], [8, 1], [0, 9]])
    >>> paths = bcart.Posterior(bcart.build_graph(cells)).sample_paths([[0], [2]], n=3, random_state=0)
    >>> paths.y
    array([[0, 0, 0],
           [1, 1, 1]])
    >>> paths.statistics[0].tolist()
    [[17.0, 1.0], [17.0, 1.0], [17.0, 1.0]]
    """

    boxes: npt.NDArray[np.int64]
    statistics: FloatArray
    y: npt.NDArray[Any]
