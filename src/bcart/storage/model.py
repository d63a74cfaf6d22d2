"""A posterior in a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart.cells import Cells
from bcart.errors import BcartError, FormatError, InvalidModelError
from bcart.export.plain import classes_from_dict, classes_to_dict
from bcart.graph import Progress, list_again
from bcart.grid import Grid
from bcart.leaves import LeafModel, leaf_from_dict, leaf_to_dict
from bcart.limits import Limits
from bcart.listing import Family
from bcart.memory import within_memory
from bcart.parts import check_parts
from bcart.posterior import Posterior
from bcart.priors import TreePrior
from bcart.storage import entries
from bcart.storage.container import Arrays, pack, unpack
from bcart.tree import Tree
from bcart.writing import replacing

_SAME_SCORE = 1e-9  # relative: sums may be rounded in another way on another machine
_WRONG = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)


@within_memory()
@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a model file holds: all that defines a posterior, its most probable tree, and some of its numbers.

    The boxes are not in the file. `posterior` lists them again, which takes as long as it did at first, and compares
    the score; what is here is there at once.

    Attributes
    ----------
    cells, grid, family, leaf, prior, classes
        Those of the posterior. The depth of the family is the one that was reached.
    tree : Tree
        The most probable tree.
    summary : dict
        Numbers of the posterior: n_boxes, n_splits, log_score, log_evidence, log_n_trees (None for a
        folded graph), max_depth, is_folded.
    about : dict
        What whoever saved the model had to say of it.
    limits : Limits
        The memory that the posterior was allowed.

    Examples
    --------
    >>> import tempfile, pathlib, bcart
    >>> model = bcart.BayesianTreeRegressor().fit([[1.0], [2.0], [8.0], [9.0]], [1.0, 1.1, 4.0, 4.1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     bcart.save_model(model, pathlib.Path(folder, "model.bcart"))
    ...     saved = bcart.load_model(pathlib.Path(folder, "model.bcart"))
    >>> saved.summary["n_boxes"], saved.tree.n_leaves, saved.posterior().log_evidence == model.posterior_.log_evidence
    (10, 2, True)
    """

    cells: Cells
    grid: Grid
    family: Family
    leaf: LeafModel
    prior: TreePrior
    classes: npt.NDArray[Any] | None
    tree: Tree
    summary: Mapping[str, Any]
    about: Mapping[str, Any]
    limits: Limits

    def posterior(
        self, limits: Limits | None = None, on_progress: Callable[[Progress], object] | None = None
    ) -> Posterior:
        """List the boxes again, and return the posterior; `on_progress` as in `build_graph`.

        Raises
        ------
        MemoryBudgetError, TimeBudgetError
            If the limits end the search for boxes above the depth of the model.
        FormatError
            If the score is not the one that the file tells.
        """
        limits = limits or self.limits
        graph = list_again(self.cells, self.family, limits, self.summary["is_folded"], on_progress)
        posterior = Posterior(graph, self.leaf, self.prior, self.grid, self.classes, limits.n_jobs)
        if not np.isclose(posterior.log_score, self.summary["log_score"], rtol=_SAME_SCORE, atol=_SAME_SCORE):
            raise FormatError(
                f"the model's score is {posterior.log_score!r}, but its file says {self.summary['log_score']!r}: "
                "the file is damaged; fit anew"
            )
        return posterior


@within_memory()
def save_model(model: Any, path: str | os.PathLike[str], about: Mapping[str, Any] | None = None) -> None:
    """Write a posterior to a file, in a documented format without pickle; the file is there whole or not at all.

    Parameters
    ----------
    model : Posterior or fitted estimator
    path : path of the file, by custom ending in ``.bcart``
    about : mapping, optional
        Anything to be kept beside the model, as far as JSON can say it: the name of the target, where data came from.

    Examples
    --------
    >>> import tempfile, pathlib, bcart
    >>> model = bcart.BayesianTreeClassifier().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bcart")
    ...     bcart.save_model(model, path, about={"target": "kind"})
    ...     saved = bcart.load_model(path)
    >>> saved.about["target"], saved.tree == model.tree_
    ('kind', True)
    >>> saved.posterior().predict_proba([[1.5]]).round(3).tolist() == model.predict_proba([[1.5]]).round(3).tolist()
    True
    """
    posterior = getattr(model, "posterior_", model)
    if not isinstance(posterior, Posterior):
        raise InvalidModelError(f"a Posterior or a fitted estimator can be saved, not {type(model).__name__}")
    content = pack(*_describe(posterior, dict(about or {})))
    with replacing(path) as new:
        new.write_bytes(content)


@within_memory()
def annotate_model(path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
    """Write a model file anew with something else said of the model; nothing of the posterior is computed again.

    Examples
    --------
    >>> import tempfile, pathlib, bcart
    >>> model = bcart.BayesianTreeClassifier().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bcart")
    ...     bcart.save_model(model, path, about={"target": "kind"})
    ...     annotate_model(path, {"target": "sort"})
    ...     bcart.load_model(path).about["target"]
    'sort'
    """
    with _naming(path):
        header, arrays = _read(path)
    with replacing(path) as new:
        new.write_bytes(pack({**header, "about": dict(about)}, arrays))


@within_memory()
def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file. Nothing in it is executed, and all of it is checked.

    Raises
    ------
    FormatError
        If the file is damaged, cut short, newer than this bcart, or not one of ours.
    OSError
        If there is no such file, or it may not be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bcart")
    ...     _ = path.write_text("import os")
    ...     try:
    ...         load_model(path)
    ...     except FormatError as error:
    ...         print(str(error).removeprefix(folder))
    /model.bcart cannot be read as a model: it does not begin like a model of bcart
    """
    with _naming(path):
        return _restore(*_read(path))


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FormatError("it is no ordinary file")
    return unpack(Path(path).read_bytes())


def _describe(posterior: Posterior, about: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a posterior's file."""
    graph, tree = posterior.graph, posterior.map_tree()
    features, bounds = entries.grid_to_entry(posterior.grid)
    header = {
        "bcart": version("bcart"),
        "family": asdict(replace(graph.family, max_depth=posterior.max_depth)),
        "leaf": leaf_to_dict(posterior.leaf),
        "prior": entries.prior_to_entry(posterior.prior),
        "features": features,
        **classes_to_dict(posterior.classes),
        "max_memory": int(graph.limits.max_memory),
        "summary": summarise(posterior),
        "log_probability": tree.log_probability,
        "about": about,
    }
    return header, {**bounds, **entries.cells_to_arrays(graph.cells), **entries.tree_to_arrays(tree)}


def summarise(posterior: Posterior) -> dict[str, Any]:
    """Return the numbers of a posterior, as `SavedModel.summary` has them."""
    return {
        "n_boxes": posterior.n_boxes,
        "n_splits": posterior.n_splits,
        "n_cells": posterior.graph.cells.n_cells,
        "max_depth": posterior.max_depth,
        "is_folded": posterior.graph.is_folded,
        "log_score": posterior.log_score,
        "log_evidence": posterior.log_evidence,
        "log_n_trees": None if posterior.graph.is_folded else posterior.log_n_trees,  # to count these takes long
    }


def _restore(header: dict[str, Any], arrays: Arrays) -> SavedModel:
    try:
        leaf, prior = leaf_from_dict(header["leaf"]), entries.prior_from_entry(header["prior"])
        grid = entries.grid_from_entry(header["features"], arrays)
        classes, cells = classes_from_dict(header), entries.cells_from_arrays(arrays, grid)
        check_parts(cells, grid, leaf, classes)
        tree = entries.tree_from_arrays(arrays, grid, leaf, classes, min(0.0, float(header["log_probability"])))
        family, limits = Family(**header["family"]), Limits(header["max_memory"])
        summary, about = _checked_summary(header["summary"]), dict(header["about"])
        return SavedModel(cells, grid, family, leaf, prior, classes, tree, summary, about, limits)
    except (FormatError, MemoryError):
        raise
    except (BcartError, *_WRONG) as error:
        said = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise FormatError(f"its parts do not fit together ({said}); it is damaged or was not made by bcart") from None


def _checked_summary(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a posterior with the types they have to have."""
    depth = summary["max_depth"]
    whole = {name: int(summary[name]) for name in ("n_boxes", "n_splits", "n_cells")}
    logs = {name: float(summary[name]) for name in ("log_score", "log_evidence")}
    log_n_trees = summary["log_n_trees"]
    return {
        **whole,
        **logs,
        "log_n_trees": None if log_n_trees is None else float(log_n_trees),
        "max_depth": None if depth is None else int(depth),
        "is_folded": bool(summary["is_folded"]),
    }


@contextmanager
def _naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Put the name of the file before what is wrong with it."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)} cannot be read as a model: {error}") from None
