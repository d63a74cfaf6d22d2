"""The parts of a posterior as plain entries of a header and arrays, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import FormatError, InvalidModelError
from bcart.grid import Grid
from bcart.leaves import LeafModel
from bcart.priors import TreePrior
from bcart.storage.container import Arrays
from bcart.tree import Tree

_TREE_ARRAYS = ("feature", "threshold", "left", "right", "statistics", "category", "missing_left", "saw_missing")


def leaf_to_entry(leaf: LeafModel) -> dict[str, Any]:
    """Return the family of a leaf model and its parameters."""
    return {"family": leaf.family, **_parameters(leaf)}


def leaf_from_entry(entry: Mapping[str, Any]) -> LeafModel:
    """Return the leaf model of an entry; its family has to be one that is known here."""
    return _choose(LeafModel, "family", entry)  # type: ignore[no-any-return]


def prior_to_entry(prior: TreePrior) -> dict[str, Any]:
    """Return the name of a prior and its parameters."""
    return {"name": prior.name, **_parameters(prior)}


def prior_from_entry(entry: Mapping[str, Any]) -> TreePrior:
    """Return the prior of an entry; its name has to be one that is known here."""
    return _choose(TreePrior, "name", entry)  # type: ignore[no-any-return]


def _parameters(part: Any) -> dict[str, Any]:
    try:
        return asdict(part)
    except TypeError:
        raise InvalidModelError(f"{type(part).__name__} is no dataclass, so its parameters cannot be stored") from None


def _choose(root: type, key: str, entry: Mapping[str, Any]) -> Any:
    """Return an object of the class under `root` that an entry names, with the parameters of the entry."""
    parameters = dict(entry)
    name = parameters.pop(key)
    known = {getattr(kind, key): kind for kind in _kinds_of(root) if hasattr(kind, key)}
    if name not in known:
        listed = ", ".join(sorted(known))
        raise FormatError(f"its {root.__name__} is {name!r}; known here are {listed}: import what defines it first")
    return known[name](**parameters)


def _kinds_of(root: type) -> Iterable[type]:
    kinds: list[type] = root.__subclasses__()
    for kind in kinds:
        yield kind
        yield from _kinds_of(kind)


def grid_to_entry(grid: Grid) -> tuple[list[dict[str, Any]], Arrays]:
    """Return what the header says of each feature, and the bounds of all bins, one feature behind the other."""
    parts = grid.feature_names, grid.lowest, grid.categories, grid.has_missing
    features = [
        {"name": name, "n_bins": len(lowest), "labels": _plain_labels(labels), "has_missing": bool(missing)}
        for name, lowest, labels, missing in zip(*parts, strict=True)
    ]
    return features, {"lowest": np.concatenate(grid.lowest), "highest": np.concatenate(grid.highest)}


def grid_from_entry(features: list[dict[str, Any]], arrays: Arrays) -> Grid:
    """Return the grid of an entry."""
    ends = np.cumsum([feature["n_bins"] for feature in features])
    if len(ends) == 0 or ends[-1] != len(arrays["lowest"]):
        raise FormatError("the bins of its features are not as many as those of its arrays")
    return Grid(
        tuple(np.split(arrays["lowest"], ends[:-1])),
        tuple(np.split(arrays["highest"], ends[:-1])),
        tuple(str(feature["name"]) for feature in features),
        tuple(None if feature["labels"] is None else tuple(feature["labels"]) for feature in features),
        tuple(bool(feature["has_missing"]) for feature in features),
    )


def cells_to_arrays(cells: Cells) -> Arrays:
    """Return the arrays of cells."""
    return {"codes": cells.codes, "statistics": cells.statistics, "weights": cells.weights}


def cells_from_arrays(arrays: Arrays, grid: Grid) -> Cells:
    """Return the cells of some arrays on a grid."""
    return Cells(arrays["codes"], arrays["statistics"], arrays["weights"], grid.kinds)


def classes_to_entry(classes: npt.NDArray[Any] | None) -> list[Any] | None:
    """Return class labels as they are written in JSON; they have to be of one kind."""
    if classes is None:
        return None
    if classes.dtype.kind not in "biufU" and len({type(label) for label in classes.tolist()}) != 1:
        raise InvalidModelError("class labels of several types cannot be stored; make all of them text or numbers")
    return _plain_labels(tuple(classes.tolist()))


def classes_from_entry(entry: list[Any] | None) -> npt.NDArray[Any] | None:
    """Return the class labels of an entry."""
    if entry is not None and len({type(label) for label in entry}) != 1:
        raise FormatError("its classes are not of one kind")
    return None if entry is None else np.array(entry)


def tree_to_arrays(tree: Tree) -> Arrays:
    """Return the arrays of a tree, but for those that follow from the leaf model."""
    return {f"tree.{name}": getattr(tree, name) for name in _TREE_ARRAYS}


def tree_from_arrays(
    arrays: Arrays, grid: Grid, leaf: LeafModel, classes: npt.NDArray[Any] | None, log_probability: float
) -> Tree:
    """Return the tree of some arrays."""
    given: dict[str, Any] = {name: arrays[f"tree.{name}"] for name in _TREE_ARRAYS}
    statistics = given["statistics"]
    if classes is None:
        given["std"] = leaf.predictive_std(statistics)[:, 0]
    return Tree(
        **given,
        predictive=leaf.predictive(statistics),
        feature_names=grid.feature_names,
        classes=classes,
        categories=grid.categories,
        n_rows=leaf.n_rows(statistics),
        log_probability=log_probability,
        leaf=leaf,
    )


def _plain_labels(labels: tuple[Any, ...] | None) -> list[Any] | None:
    """Return labels without the types of numpy."""
    if labels is None:
        return None
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    for label in plain:
        if not isinstance(label, (str, int, float)):
            raise InvalidModelError(
                f"the label {label!r} cannot be stored; labels must be text, numbers or truth values"
            )
    return plain
