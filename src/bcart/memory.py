"""Where the system gives no memory, the error is bcart's, whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import isgeneratorfunction
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from bcart.errors import MemoryBudgetError

Guarded = TypeVar("Guarded", bound=Callable[..., Any])


class within_memory:  # noqa: N801
    """Turn the MemoryError of numpy or of Python itself into ours: within a block, a function, or a class.

    Of a class, all that can be asked for is guarded: its methods and properties, but for those whose names begin with
    an underscore, which are called by the others.

    Examples
    --------
    >>> import numpy as np
    >>> with within_memory():
    ...     np.zeros(10**16)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    bcart.errors.MemoryBudgetError: the system has no more memory to give (Unable to allocate ...
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, MemoryError) or isinstance(error, MemoryBudgetError):
            return
        said = f" ({error})" if str(error) else ""
        raise MemoryBudgetError(
            f"the system has no more memory to give{said}; use fewer features or rows, or ask for fewer rows at once"
        ) from None

    def __call__(self, guarded: Guarded) -> Guarded:
        """Return a function or a class that does this itself."""
        if not isinstance(guarded, type):
            return _guarded(guarded)  # type: ignore[no-any-return]
        for name, member in list(vars(guarded).items()):
            if not name.startswith("_") or name.endswith("_"):
                new = _guarded(member)
                if new is not member:
                    setattr(guarded, name, new)
        return guarded


def _guarded(member: Any) -> Any:
    """Return a function, or what a class keeps it in, that raises our MemoryError; anything else as it is."""
    if isinstance(member, (classmethod, staticmethod)):
        return type(member)(_guarded(member.__func__))
    if isinstance(member, property):
        return property(_guarded(member.fget), member.fset, member.fdel)
    if isinstance(member, FunctionType):
        return _guarded_generator(member) if isgeneratorfunction(member) else _guarded_function(member)
    if hasattr(member, "func") and hasattr(member, "attrname"):  # a cached property
        member.func = _guarded(member.func)
    return member


def _guarded_function(function: FunctionType) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        with within_memory():
            return function(*args, **named)

    return call


def _guarded_generator(function: FunctionType) -> Callable[..., Any]:
    @wraps(function)
    def generate(*args: Any, **named: Any) -> Any:
        with within_memory():
            yield from function(*args, **named)

    return generate


@within_memory()
@dataclass(frozen=True)
class Room:
    """So many bytes, which the system would have given when this was made.

    In a pickle it stands before the arrays that need them, and is made anew when the pickle is loaded: where there is
    no room, that ends with our error, before pickle itself asks for memory.
    """

    n_bytes: int

    @classmethod
    def to_pickle(cls, n_bytes: int) -> Room:
        """Return what pickle takes for arrays of so many bytes: copies of them, and a pickle, which grows by halves."""
        return cls(5 * n_bytes // 2)

    def __post_init__(self) -> None:
        try:
            np.empty(self.n_bytes, np.uint8)
        except MemoryError:
            raise MemoryBudgetError(
                f"the system does not give the {self.n_bytes:,} bytes that it takes to pickle this, or to load it; use "
                "a larger machine, or save_model, whose files list boxes again within max_memory"
            ) from None

    def __reduce__(self) -> tuple[type[Room], tuple[int]]:
        return Room, (self.n_bytes,)
