"""Leaf models as plain data, for exports and files, and back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from bcart.errors import FormatError, InvalidModelError
from bcart.leaves.model import LeafModel

_ROOT: Any = LeafModel  # of all families


def leaf_to_dict(leaf: LeafModel) -> dict[str, Any]:
    """Return the family and the parameters of a leaf model, in words that JSON has.

    A model of a class that only borrows the name of its family, as a subclass of `NormalLeaf` does, names its class,
    too.

    Examples
    --------
    >>> from bcart import PoissonLeaf
    >>> leaf_to_dict(PoissonLeaf(shape=2.0, rate=0.5))
    {'family': 'poisson', 'shape': 2.0, 'rate': 0.5}
    """
    kind = type(leaf)
    if not is_dataclass(leaf):
        raise InvalidModelError(
            f"{kind.__name__} cannot be written; make it a dataclass whose fields are its parameters"
        )
    record: dict[str, Any] = {"family": leaf.family}
    if kind is not _classes_of(leaf.family)[0]:
        record["class"] = kind.__name__
    for field in fields(leaf):
        record[field.name] = _plain(getattr(leaf, field.name), f"{field.name} of {kind.__name__}")
    return record


def leaf_from_dict(record: Any) -> LeafModel:
    """Return the leaf model that was written as `record`; `FormatError` if it is not one.

    A family of your own is known as soon as its class is imported.

    Examples
    --------
    >>> leaf_from_dict({"family": "dirichlet", "alpha": [1.0, 0.5]})
    DirichletLeaf(alpha=(1.0, 0.5))
    """
    if not isinstance(record, Mapping):
        raise FormatError(f"a leaf model is written as its family and parameters, not as {record!r}")
    kind = _find_class(record.get("family"), record.get("class"))
    parameters = {name: value for name, value in record.items() if name not in ("family", "class")}
    try:
        leaf = kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()})
        is_same = all(leaf_to_dict(leaf)[name] == value for name, value in parameters.items())
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{record!r} is no {kind.__name__}: {error}") from None
    if not is_same:
        raise FormatError(f"{record!r} is no {kind.__name__}, which would be written as {leaf_to_dict(leaf)!r}")
    return leaf


def _find_class(family: object, name: object) -> type[LeafModel]:
    """Return the class of a family that came first, or of those with a name the one that came last."""
    found = [kind for kind in _classes_of(family) if name in (None, kind.__name__)]
    if not found:
        of_class = "" if name is None else f" of class {name!r}"
        raise FormatError(
            f"no leaf model of the family {family!r}{of_class} is known; if it is one of your own, import it first"
        )
    return found[0] if name is None else found[-1]


def _classes_of(family: object) -> list[type[LeafModel]]:
    """Return the classes of a family, in the order in which they were made."""
    return [kind for kind in _subclasses(_ROOT) if is_dataclass(kind) and getattr(kind, "family", None) == family]


def _subclasses(kind: type[LeafModel]) -> Iterator[type[LeafModel]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(each, name) for each in value]
    if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidModelError(
        f"{name} is {value!r}, which cannot be written; use finite numbers, text, or tuples of them"
    )
