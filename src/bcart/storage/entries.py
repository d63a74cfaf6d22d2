"""The parts of a posterior as plain entries of a header and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import FormatError, InvalidModelError
from bcart.export.plain import plain_label
from bcart.grid import Grid
from bcart.leaves import LeafModel
from bcart.priors import TreePrior
from bcart.storage.container import Arrays
from bcart.tree import Tree

_TREE_ARRAYS = ("feature", "threshold", "left", "right", "statistics", "category", "missing_left", "saw_missing")


def prior_to_entry(prior: TreePrior) -> dict[str, Any]:
    """Return the name of a prior and its parameters."""
    if not is_dataclass(prior):
        raise InvalidModelError(f"{type(prior).__name__} is no dataclass, so its parameters cannot be stored")
    return {"name": prior.name, **asdict(prior)}


def prior_from_entry(entry: Mapping[str, Any]) -> TreePrior:
    """Return the prior of an entry; its name has to be one that is known here."""
    known = {kind.name: kind for kind in TreePrior.__subclasses__() if is_dataclass(kind)}
    parameters = dict(entry)
    name = parameters.pop("name")
    if name not in known:
        raise FormatError(f"no prior of the name {name!r} is known; if it is one of your own, import it first")
    return known[name](**parameters)


def grid_to_entry(grid: Grid) -> tuple[list[dict[str, Any]], Arrays]:
    """Return what the header says of each feature, and the bounds of all bins, one feature behind the other."""
    parts = grid.feature_names, grid.lowest, grid.categories, grid.has_missing
    features = [
        {
            "name": name,
            "n_bins": len(lowest),
            "labels": None if labels is None else [*map(plain_label, labels)],
            "has_missing": bool(missing),
        }
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
