"""Where values come in: they leave as arrays and numbers that the rest of the library can trust."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.deadline import steps
from bcart.errors import BcartError, InvalidDataError, InvalidModelError
from bcart.memory import Room, within_memory

FloatArray = npt.NDArray[np.float64]
RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None

MAX_WEIGHT = 1e30  # beyond, the tenth power of a count overflows
_MAX_LEVEL = 1 - 1e-9  # of intervals


@contextmanager
def refusing(what: str, error: type[BcartError] = InvalidDataError, remedy: str = "") -> Iterator[None]:
    """Say what is wrong where numpy cannot make an array of what was given."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as reason:
        raise error(f"{what}: {reason}{remedy}") from None


def as_floats(values: npt.ArrayLike, name: str, *, copy: bool = True) -> FloatArray:
    """Return a contiguous array of floats, a new one unless `copy` is false."""
    with refusing(f"{name} must be numbers", remedy="; encode text as numbers first"):
        return np.array(values, dtype=np.float64, order="C") if copy else np.asarray(values, np.float64, order="C")


def as_exact(values: Any, name: str, dtype: type) -> npt.NDArray[Any]:
    """Return a new contiguous array of a type that holds the same numbers."""
    with refusing(f"{name} must be numbers", InvalidModelError), np.errstate(invalid="ignore"):
        given = np.asarray(values)
        array: npt.NDArray[Any] = np.array(given, dtype=dtype, order="C")
    if given.dtype.kind in "US" or (array.dtype.kind in "ib" and (array != given).any()):
        raise InvalidModelError(f"{name} must be numbers that {array.dtype} holds exactly")
    return array


def as_column(y: Any, name: str = "y") -> npt.NDArray[Any]:
    """Return targets as an array of whatever they are."""
    with refusing(f"{name} must have one value for each row"):
        return np.asarray(y)


def plain_labels(y: Any) -> Any:
    """Return labels that are objects of one type as an array of that type, which scikit-learn knows how to read."""
    labels = as_column(y) if y is not None else np.empty(0)
    if labels.dtype.kind != "O" or labels.ndim != 1:
        return y
    types, parts = set[type](), []
    for rows in steps(len(labels)):
        types.update(map(type, labels[rows]))
        parts.append(np.array(labels[rows].tolist()) if len(types) == 1 else labels[rows])
        if parts[-1].ndim != 1 or parts[-1].dtype.kind not in "biufUS":
            return y
    has_one_kind = len({part.dtype.kind for part in parts}) == 1
    return np.concatenate(parts) if has_one_kind else y


def as_tuple(values: Any, name: str) -> tuple[Any, ...]:
    """Return a sequence, which text is not one of, as a tuple."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidModelError(f"{name}={values!r} must be a sequence")
    return tuple(values)


def as_classes(labels: Any) -> npt.NDArray[Any]:
    """Return a copy of the labels of classes that cannot be changed."""
    with refusing("classes must be labels", InvalidModelError):
        array = np.array(labels)
    if array.ndim != 1:
        raise InvalidModelError(f"classes must be labels, one behind the other, got shape {array.shape}")
    array.flags.writeable = False
    return array


@within_memory()
class Unchangeable:
    """A value whose arrays cannot be changed, as a copy or out of a pickle neither.

    What a dataclass has computed besides its fields is left out of pickles.
    """

    def __reduce__(self) -> tuple[Callable[..., object], tuple[type, Room], dict[str, Any]]:
        state = self.__getstate__()
        room = Room.to_pickle(sum(array.nbytes for array in _arrays_in(state)))
        return _new, (type(self), room), state

    def __getstate__(self) -> dict[str, Any]:
        fields = getattr(self, "__dataclass_fields__", self.__dict__)
        return {name: value for name, value in vars(self).copy().items() if name in fields}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for array in _arrays_in(state):
            array.flags.writeable = False
        self.__dict__.update(state)


def _arrays_in(state: dict[str, Any]) -> Iterator[npt.NDArray[Any]]:
    for value in state.values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, np.ndarray):
                yield part


@within_memory()
def _new(kind: type, room: Room) -> object:
    """Return an object without its state, for which there is room."""
    return object.__new__(kind)


def as_weights(sample_weight: npt.ArrayLike | None, n_rows: int) -> FloatArray:
    """Return one finite, non-negative weight a row, 1 by default."""
    if sample_weight is None:
        return np.broadcast_to(np.float64(1), n_rows)  # which takes no memory
    is_read = isinstance(sample_weight, np.ndarray) and sample_weight.dtype == np.float64 and is_shared(sample_weight)
    weights = np.asarray(sample_weight) if is_read else as_floats(sample_weight, "sample_weight", copy=False)
    if weights.shape != (n_rows,):
        raise InvalidDataError(f"sample_weight has shape {weights.shape}, expected ({n_rows},): one weight a row")
    different = weights[:1] if is_shared(weights) else weights
    if not (different.min(initial=0.0) >= 0 and different.max(initial=0.0) <= MAX_WEIGHT):  # NaN is neither
        row = int(np.flatnonzero(~((different >= 0) & (different <= MAX_WEIGHT)))[0])
        raise InvalidDataError(
            f"sample_weight contains {weights[row]} (row {row}); "
            f"weights must be finite, at most {MAX_WEIGHT:g} and not negative, zero drops a row"
        )
    return weights


def is_shared(values: npt.NDArray[Any]) -> bool:
    """Tell whether one number stands for all."""
    return values.strides == (0,)


def present_rows(weights: FloatArray) -> npt.NDArray[np.bool_] | None:
    """Tell which rows have a positive weight, one at least; None if all have."""
    if len(weights) == 0:
        raise InvalidDataError("there are no rows; at least one is needed")
    present = (weights[:1] if is_shared(weights) else weights) > 0
    if not present.any():
        raise InvalidDataError(
            "there are no rows with a positive weight: sample_weight is zero for all, at least one must be positive"
        )
    return None if present.all() else present


def as_number(value: object, name: str, meaning: str, above: float = -np.inf) -> float:
    """Return a finite number greater than `above`."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    except OverflowError:
        number = np.inf
    if not above < number < np.inf:
        raise InvalidModelError(f"{name}={value!r} must be {meaning}")
    return number


def as_whole(value: object, name: str, meaning: str, least: int, most: float = np.inf) -> int:
    """Return a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise InvalidModelError(f"{name}={value!r} must be {meaning}")
    return int(value)


def as_seed(random_state: RandomState) -> int:
    """Return 64 bits that belong to a seed, or the next of a generator."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(np.random.SeedSequence(int(random_state)).generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**64, dtype=np.uint64))
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    raise InvalidModelError(
        f"random_state={random_state!r} must be an int >= 0, a numpy Generator, a RandomState or None"
    )


def name_features(n_features: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the given names as text, or ``x0, x1, ...``."""
    return tuple(f"x{i}" for i in range(n_features)) if names is None else tuple(str(name) for name in names)


def as_tail(level: float) -> float:
    """Return the probability on either side of a central interval."""
    meaning = f"a probability between 0 and {_MAX_LEVEL}"
    number = as_number(level, "level", meaning, above=0)
    if number > _MAX_LEVEL:
        raise InvalidModelError(f"level={level!r} must be {meaning}")
    return (1 - number) / 2
