"""Tables from OpenML, through scikit-learn: quickly, or not at all."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import fetch_openml

from bcart.errors import InvalidDataError
from bcart.parse import FloatArray

SECONDS_TO_ANSWER = 10.0  # for one answer of the server
SECONDS_FOR_ALL = 20.0  # for a table, looking up names included, which no socket's limit covers


def fetch_table(data_id: int, seconds: float = SECONDS_FOR_ALL) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Return numbers and labels of a table; `InvalidDataError` if it does not come or is no table of numbers."""
    found: list[Any] = []
    thread = threading.Thread(target=_fetch, args=(data_id, found), daemon=True)
    with _sockets_give_up(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns before it tries again
        thread.start()
        thread.join(seconds)
    if not found:
        raise InvalidDataError(f"OpenML did not send its table {data_id} within {seconds:g} s")
    if isinstance(found[0], Exception):
        raise InvalidDataError(f"OpenML did not send its table {data_id} ({_in_short(found[0])})")
    return _decode(found[0])


def _fetch(data_id: int, found: list[Any]) -> None:
    try:
        found.append(fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff", n_retries=1))
    except Exception as error:  # whatever goes wrong out there is a reason to go on without
        found.append(error)


@contextmanager
def _sockets_give_up() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_TO_ANSWER)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _in_short(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")


def _decode(bunch: Any) -> tuple[FloatArray, npt.NDArray[np.str_]]:
    """Turn columns of category numbers back into the numbers that their categories are."""
    numbers = np.array(bunch.data, dtype=np.float64)
    for column, name in enumerate(bunch.feature_names):
        categories = (bunch.categories or {}).get(name)
        if categories is not None:
            numbers[:, column] = _values_of(name, categories)[numbers[:, column].astype(int)]
    if bunch.target is None:  # whoever sent it in did not say which column it is
        return numbers[:, :-1], numbers[:, -1].astype(str)
    return numbers, np.asarray(bunch.target).astype(str)


def _values_of(name: str, categories: list[str]) -> FloatArray:
    try:
        return np.array(categories, dtype=np.float64)
    except ValueError:
        raise InvalidDataError(f"its column {name!r} holds labels such as {categories[0]!r}, not numbers") from None
