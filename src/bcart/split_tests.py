"""What splits ask, as the core writes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.grid import CodeArray


class Test(NamedTuple):
    """What a split asks: whether a code lies between `first` and `lower`; `upper` is the next that occurs."""

    feature: int
    form: int
    lower: int
    upper: int

    @property
    def first(self) -> int:
        """The least code that goes left."""
        return self.lower if self.form == _core.Form.EQUALS else int(self.form == _core.Form.MISSING_RIGHT)

    def is_left(self, codes: CodeArray) -> npt.NDArray[np.bool_]:
        """Tell which codes go left."""
        return (codes >= self.first) & (codes <= self.lower)


class Tests(NamedTuple):
    """All tests by their numbers, one array entry a test."""

    feature: npt.NDArray[np.uint32]
    form: npt.NDArray[np.uint32]
    lower: npt.NDArray[np.uint32]
    upper: npt.NDArray[np.uint32]

    def of(self, number: int) -> Test:
        """Return the test of a number."""
        return Test(*(int(column[number]) for column in self))
