"""Values of an object that are computed when they are first asked for."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:
    from collections.abc import Callable
    from typing import Any, Generic, TypeVar, overload

    T = TypeVar("T")

    class cached_property(Generic[T]):  # noqa: N801
        """As functools has it from Python 3.12 on: without a lock.

        The lock of older ones is shared by all objects of a class, so that their threads wait for each other; and a
        process that is forked while another thread holds it waits for ever.

        Examples
        --------
        >>> class Square:
        ...     @cached_property
        ...     def area(self):
        ...         print("computed")
        ...         return 4
        >>> square = Square()
        >>> square.area + square.area
        computed
        8
        """

        def __init__(self, compute: Callable[[Any], T]) -> None:
            self.func = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> cached_property[T]: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> T: ...
        def __get__(self, instance: object | None, owner: type | None = None) -> cached_property[T] | T:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))  # type: ignore[no-any-return]
