"""Trees as plain data: dicts, lists, text and numbers that JSON has, and back.

The record of a tree has these entries:

format, version
    ``"bcart.tree"`` and 1. A reader refuses versions that are newer than it.
features
    One ``{"name": ..., "labels": [...]}`` a feature; ``labels`` is null for a numeric one.
classes, classes_dtype
    The labels of the classes and the type of their array (``"str"``, ``"int64"``, ...); both null for regression.
log_probability
    Log posterior probability of the tree.
leaf
    ``{"family": ..., ...}`` with the parameters of the leaf model, or null.
root
    A node: ``{"n_rows": ..., "statistics": [...], "predictive": [...], "std": ...}``. One that is no leaf has
    ``"test"``, and in ``"left"`` and ``"right"`` the nodes that a row goes to if the answer is yes, or no.

A test is ``{"feature": 0, "kind": "below", "threshold": 4.5}``, ``{"feature": 1, "kind": "label", "label": 2}`` or
``{"feature": 1, "kind": "missing"}``, with features and labels by their places; ``"missing_left"`` and
``"saw_missing"`` tell whether missing values go left, and whether the data or the kind of question said so. A number
that is not known is null, an infinite one the text ``"inf"`` or ``"-inf"``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.errors import FormatError, InvalidModelError
from bcart.export.nodes import fold, question_of
from bcart.leaves import leaf_from_dict, leaf_to_dict
from bcart.memory import within_memory
from bcart.tables import Labels
from bcart.tree import NO_CHILD, Tree

FORMAT = "bcart.tree"
VERSION = 1

_NUMBERS = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)} - {"float8"}
_DTYPES = {"bool", "str", "object"} | _NUMBERS
_ROUNDING = 1e-6  # by which the log of a probability may exceed that of 1
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


@within_memory()
def write_dict(tree: Tree) -> dict[str, Any]:
    """Return the record of a tree."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "features": [
            {"name": name, "labels": None if labels is None else [plain_label(label) for label in labels]}
            for name, labels in zip(tree.feature_names, tree.categories, strict=True)
        ],
        **classes_to_dict(tree.classes),
        "log_probability": _number(tree.log_probability),
        "leaf": None if tree.leaf is None else leaf_to_dict(tree.leaf),
        "root": fold(tree, lambda node: _write_node(tree, node), lambda node, *both: _write_split(tree, node, *both)),
    }


@within_memory()
def write_json(tree: Tree, indent: int | None = None) -> str:
    """Return the record of a tree as JSON."""
    try:
        return json.dumps(write_dict(tree), indent=indent, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise InvalidModelError(f"a tree of depth {tree.depth} is nested too deeply for JSON; use to_dict") from None


@within_memory()
def read_json(text: str | bytes) -> Tree:
    """Return the tree that was written as JSON; `FormatError` if it is not one."""
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this is not the JSON of a tree: {error}") from None
    return read_dict(record)


@within_memory()
def read_dict(record: Any) -> Tree:
    """Return the tree of a record; `FormatError` if it is not one."""
    if not isinstance(record, Mapping) or record.get("format") != FORMAT:
        raise FormatError(f'this is not the record of a tree: it does not say "format": {FORMAT!r}')
    if record.get("version") != VERSION:
        raise FormatError(
            f"the record of the tree has version {record.get('version')!r}, this bcart reads {VERSION} only"
        )
    try:
        return _read_tree(record)
    except FormatError:
        raise
    except KeyError as error:
        raise FormatError(f"the record of the tree is damaged: it has no {error}") from None
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FormatError(f"the record of the tree is damaged: {error}") from None


def plain_label(label: Any) -> Any:
    """Return a label as text, truth value or finite number."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise InvalidModelError(
        f"the label {label!r} of type {type(label).__name__} cannot be written; use text, numbers or truth values"
    )


def classes_to_dict(classes: npt.NDArray[Any] | None) -> dict[str, Any]:
    """Return the labels of the classes and the type of their array."""
    if classes is None:
        return {"classes": None, "classes_dtype": None}
    dtype = {"U": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    if dtype not in _DTYPES:
        raise InvalidModelError(f"classes of type {dtype} cannot be written; use text, numbers or truth values")
    return {"classes": [plain_label(label) for label in classes.tolist()], "classes_dtype": dtype}


def classes_from_dict(record: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    """Return the classes of a record."""
    labels, dtype = record["classes"], record["classes_dtype"]
    if labels is None and dtype is None:
        return None
    if dtype not in _DTYPES:
        raise FormatError(f"the classes have the type {dtype!r}, which is not known")
    classes = np.array(_labels(labels), dtype=np.dtype(dtype))
    if [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
        raise FormatError(f"the classes {labels!r} are not all of type {dtype}")
    return classes


def _write_node(tree: Tree, node: int) -> dict[str, Any]:
    return {
        "n_rows": _number(tree.n_rows[node]),
        "statistics": [_number(value) for value in tree.statistics[node]],
        "predictive": [_number(value) for value in tree.predictive[node]],
        "std": _number(tree.std[node]),
    }


def _write_split(tree: Tree, node: int, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    asked = question_of(tree, node)
    test: dict[str, Any] = {"feature": asked.feature, "kind": asked.kind}
    if asked.kind != "missing":
        test |= {"threshold": asked.threshold} if asked.kind == "below" else {"label": asked.label}
    test |= {"missing_left": asked.missing_left, "saw_missing": asked.saw_missing}
    return {"test": test, **_write_node(tree, node), "left": left, "right": right}


def _read_tree(record: Mapping[str, Any]) -> Tree:
    nodes, right = _in_preorder(record["root"])
    tests = [_read_test(node["test"]) if "test" in node else {} for node in nodes]
    names = [feature["name"] for feature in record["features"]]
    if not all(isinstance(name, str) for name in names):
        raise FormatError("the names of the features are not all text")
    arrays: dict[str, Any] = {
        "feature": [test.get("feature", NO_CHILD) for test in tests],
        "threshold": [test.get("threshold", np.nan) for test in tests],
        "left": [place + 1 if test else NO_CHILD for place, test in enumerate(tests)],
        "right": right,
        "category": [test.get("label", NO_CHILD) for test in tests],
        "missing_left": [test.get("missing_left", False) for test in tests],
        "saw_missing": [test.get("saw_missing", False) for test in tests],
        **{name: [_floats(node[name]) for node in nodes] for name in ("statistics", "predictive")},
        **{name: [_float(node[name]) for node in nodes] for name in ("n_rows", "std")},
    }
    return Tree(
        **arrays,
        feature_names=tuple(names),
        classes=classes_from_dict(record),
        categories=tuple(_read_labels(feature["labels"]) for feature in record["features"]),
        log_probability=_log_probability(record["log_probability"]),
        leaf=None if record["leaf"] is None else leaf_from_dict(record["leaf"]),
    )


def _in_preorder(root: Any) -> tuple[list[Any], list[int]]:
    """Return the nodes, each before what is left of it, and that before what is right; and the right children."""
    nodes: list[Any] = []
    right: list[int] = []
    waiting = [(root, NO_CHILD)]
    seen = set()
    while waiting:
        node, parent = waiting.pop()
        if not isinstance(node, Mapping) or id(node) in seen:
            raise FormatError("the nodes of the tree are not nested records")
        seen.add(id(node))
        if parent != NO_CHILD:
            right[parent] = len(nodes)
        if "test" in node:
            waiting += [(node["right"], len(nodes)), (node["left"], NO_CHILD)]
        nodes.append(node)
        right.append(NO_CHILD)
    return nodes, right


def _read_test(record: Mapping[str, Any]) -> dict[str, Any]:
    kind = record["kind"]
    if kind == "below":
        about: dict[str, Any] = {"threshold": _float(record["threshold"])}
    elif kind == "label":
        about = {"label": _place(record["label"])}
    elif kind == "missing":
        about = {"threshold": -np.inf}
    else:
        raise FormatError(f"a test of the tree asks whether a value is {kind!r}, which is not known")
    where = {name: _truth(record[name]) for name in ("missing_left", "saw_missing")}
    return {"feature": _place(record["feature"]), **about, **where}


def _read_labels(labels: Any) -> Labels | None:
    return None if labels is None else tuple(_labels(labels))


def _labels(labels: Any) -> list[Any]:
    if not isinstance(labels, list):
        raise FormatError(f"{labels!r} stands where a list of labels is expected")
    return [plain_label(label) for label in labels]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _number(value: float) -> float | str | None:
    number = float(value)
    return number if math.isfinite(number) else None if math.isnan(number) else str(number)


def _float(value: Any) -> float:
    if isinstance(value, str) and value in _INFINITE:
        return _INFINITE[value]
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise FormatError(f"{value!r} stands where a number is expected")
    return math.nan if value is None else float(value)


def _log_probability(value: Any) -> float:
    log_probability = _float(value)
    if log_probability > _ROUNDING:
        raise FormatError(f"log_probability={value!r} is that of no tree; it must not be positive")
    return log_probability


def _floats(values: Any) -> list[float]:
    if not isinstance(values, list):
        raise FormatError(f"{values!r} stands where a list of numbers is expected")
    return [_float(value) for value in values]


def _place(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FormatError(f"{value!r} stands where the place of a feature or label is expected")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise FormatError(f"{value!r} stands where true or false is expected")
    return value
