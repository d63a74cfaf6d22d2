"""The exact posterior over trees: one graph of boxes, and short passes over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.errors import InternalError, InvalidDataError, InvalidModelError
from bcart.graph import Graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf, LeafModel
from bcart.limits import Limits
from bcart.parse import FloatArray, as_whole
from bcart.priors import LeafCountPrior, TreePrior
from bcart.tree import NO_CHILD, Tree

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


class Posterior:
    """Every exact answer about the trees of a graph, under a prior and a leaf model.

    Parameters
    ----------
    graph : Graph
        The family of trees, see `build_graph`.
    leaf : DirichletLeaf, optional
        By default one pseudo-count for each class.
    prior : LeafCountPrior, optional
    grid : Grid, optional
        Gives thresholds in the original units; by default those of the codes.
    classes : sequence, optional
        Labels of the classes, by default 0, 1, ...
    n_jobs : int or None
        Threads for sweeps and samples, as in `Limits`.

    Examples
    --------
    >>> import bcart
    >>> cells = bcart.Cells(codes=[[0], [1], [2]], statistics=[[9, 0], [8, 1], [0, 9]])
    >>> posterior = bcart.Posterior(bcart.build_graph(cells))
    >>> print(posterior.map_tree())
    Tree with 2 leaves, depth 1, posterior probability 0.906
    x0 < 1.5
    ├─ yes: 0  p=0.900  (0: 17, 1: 1)
    └─ no:  1  p=0.909  (0: 0, 1: 9)
    >>> posterior.with_prior(log_phi=20.0).map_tree().n_leaves
    1
    """

    def __init__(
        self,
        graph: Graph,
        leaf: LeafModel | None = None,
        prior: TreePrior | None = None,
        grid: Grid | None = None,
        classes: Sequence[Any] | npt.NDArray[np.generic] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        n_classes = graph.cells.statistics.shape[1]
        self.graph = graph
        self.leaf: LeafModel = leaf or DirichletLeaf.for_classes(1.0, n_classes)
        self.prior: TreePrior = prior or LeafCountPrior()
        self.grid = grid or Grid.of_codes(graph.cells.n_bins)
        self.classes = np.arange(n_classes) if classes is None else np.asarray(classes)
        self.n_jobs = n_jobs
        if self.leaf.n_statistics != n_classes or len(self.classes) != n_classes:
            raise InvalidModelError(
                f"the cells have {n_classes} classes, but alpha has {self.leaf.n_statistics} values and classes "
                f"{len(self.classes)}"
            )
        if len(self.grid.n_bins) != len(graph.cells.n_bins) or (self.grid.n_bins < np.array(graph.cells.n_bins)).any():
            raise InvalidModelError(f"the grid has bins {self.grid.n_bins}, but the cells need {graph.cells.n_bins}")

    # -- numbers ------------------------------------------------------------------------------------------------------

    @property
    def max_depth(self) -> int | None:
        """Depth up to which all trees are accounted for; None if all are. It may be set though no tree is deeper."""
        return self.graph.max_depth

    @property
    def n_boxes(self) -> int:
        """Number of distinct boxes, those of a single cell included."""
        return self.graph.n_boxes

    @property
    def n_splits(self) -> int:
        """Number of splits of all boxes together."""
        return self.graph.n_splits

    @property
    def log_score(self) -> float:
        """Log of Q(root): the sum over all trees of likelihood times unnormalised prior."""
        score = float(self._sums.root)
        if np.isnan(score):
            raise InternalError("the score is not a number; please report the data and the parameters")
        return score

    @cached_property
    def log_prior_mass(self) -> float:
        """Log of Z, the sum of the unnormalised prior over all trees."""
        return float(_core.sweep_log_sum(self.graph.core, None, self.prior.log_split, self._n_workers).root)

    @property
    def log_evidence(self) -> float:
        """Log probability of the targets given the features; comparable across priors, bins and features."""
        return self.log_score - self.log_prior_mass

    @cached_property
    def log_n_trees(self) -> float:
        """Log of the number of trees."""
        return float(_core.sweep_log_sum(self.graph.core, None, 0.0, self._n_workers).root)

    # -- trees --------------------------------------------------------------------------------------------------------

    def map_tree(self) -> Tree:
        """Return the most probable tree; of equals the one that stops first, then splits on the first feature."""
        maxima = _core.sweep_maximum(self.graph.core, self._log_leaf, self.prior.log_split, self._n_workers)
        return next(self._trees(_core.derive_best(self.graph.core, self._log_leaf, maxima, self.prior.log_split)))

    def sample(self, n: int, random_state: RandomState = None) -> list[Tree]:
        """Draw independent trees from the posterior.

        Parameters
        ----------
        n : int
        random_state : int, numpy Generator or RandomState, or None
            The same number gives the same trees in every run and for any number of threads; the first trees are the
            same whatever `n`. Equal trees may be one object.
        """
        n = as_whole(n, "n", "a whole number of trees, zero or more", least=0)
        derivations = _core.derive_samples(
            self.graph.core,
            self._log_leaf,
            self._sums,
            self.prior.log_split,
            _seed(random_state),
            n,
            self._n_workers,
        )
        return list(self._trees(derivations))

    def log_probability(self, tree: Tree) -> float:
        """Return the log posterior probability of a tree, -inf if it is not one of the family.

        Any tree counts whose tests part the training data as some tree of the family does.
        """
        if len(tree.feature_names) != len(self.grid.feature_names):
            raise InvalidDataError(
                f"the tree has {len(tree.feature_names)} features, the posterior {len(self.grid.feature_names)}"
            )
        log_weight = 0.0
        waiting = [(0, 0, np.arange(self.graph.cells.n_cells), 0)]
        while waiting:
            node, box, cells, depth = waiting.pop()
            feature = tree.feature[node]
            if feature < 0:
                log_weight += float(self._log_leaf[box])
                continue
            is_left = self.grid.is_below(feature, self.graph.cells.codes[cells, feature], tree.threshold[node])
            if is_left is None or depth == self.max_depth:
                return -np.inf
            children = self.graph.find_split(box, cells, is_left)
            if children is None:
                return -np.inf
            log_weight += self.prior.log_split
            waiting.append((tree.left[node], children[0], cells[is_left], depth + 1))
            waiting.append((tree.right[node], children[1], cells[~is_left], depth + 1))
        return log_weight - self.log_score

    def rule_probabilities(self, box: int = 0, splits_left: int | None = None) -> tuple[float, FloatArray]:
        """Return the probabilities of a box's grammar rules: to stop, and to make each of its splits; they sum to 1.

        Parameters
        ----------
        box : int
            Number of the box; 0 is the root.
        splits_left : int, optional
            How much depth is left below the box, if `max_depth` limits it; by default as much as there can be.
        """
        level = self._level(box, splits_left)
        total = self._sums.level(level)[box]
        stop = float(np.exp(self._log_leaf[box] - total))
        if self.max_depth is not None and level == 0:
            return stop, np.empty(0)
        splits = slice(self.graph.splits_of(box).start, self.graph.splits_of(box).stop)
        below = self._sums.level(level if self.max_depth is None else level - 1)
        left, right = self.graph.core.left[splits], self.graph.core.right[splits]
        return stop, np.exp(below[left] + below[right] + self.prior.log_split - total)

    # -- variations ---------------------------------------------------------------------------------------------------

    def with_prior(self, log_phi: float) -> Posterior:
        """Return the posterior under another prior, over the same graph."""
        other = self._with(prior=LeafCountPrior(log_phi))
        other.__dict__["_log_leaf"] = self._log_leaf
        return other

    def with_leaf(self, alpha: float | Sequence[float]) -> Posterior:
        """Return the posterior under another leaf model, over the same graph."""
        return self._with(leaf=DirichletLeaf.for_classes(alpha, len(self.classes)))

    # -- within -------------------------------------------------------------------------------------------------------

    @property
    def _n_workers(self) -> int:
        return Limits(n_jobs=self.n_jobs).n_workers

    @cached_property
    def _log_leaf(self) -> FloatArray:
        return self.leaf.log_marginal(self.graph.core.statistics, self._n_workers)

    @cached_property
    def _sums(self) -> _core.Values:
        return _core.sweep_log_sum(self.graph.core, self._log_leaf, self.prior.log_split, self._n_workers)

    def _with(self, **changes: Any) -> Posterior:
        return Posterior(**{**self.__getstate__(), **changes})

    def _level(self, box: int, splits_left: int | None) -> int:
        if not 0 <= box < self.n_boxes:
            raise InvalidModelError(f"box={box} is not one of the {self.n_boxes:,} boxes")
        if self.max_depth is None:
            return 0
        highest = max(level for level in range(self.max_depth + 1) if box < len(self._sums.level(level)))
        if splits_left is not None and not 0 <= splits_left <= highest:
            raise InvalidModelError(f"splits_left={splits_left} must lie between 0 and {highest} for this box")
        return highest if splits_left is None else splits_left

    def _trees(self, derivations: _core.Derivations) -> Iterator[Tree]:
        """Build the derived trees; equal ones once."""
        made: dict[bytes, Tree] = {}
        ends = derivations.tree_ends
        begin = 0
        for end, log_weight in zip(ends, derivations.log_weight, strict=True):
            nodes, begin = slice(begin, int(end)), int(end)
            key = derivations.box[nodes].tobytes() + derivations.feature[nodes].tobytes()
            if key not in made:
                made[key] = self._tree(derivations, nodes, float(log_weight) - self.log_score)
            yield made[key]

    def _tree(self, derivations: _core.Derivations, nodes: slice, log_probability: float) -> Tree:
        feature, right = derivations.feature[nodes], derivations.right[nodes]
        statistics = self.graph.core.statistics[derivations.box[nodes]]
        return Tree(
            feature=feature,
            threshold=self.grid.thresholds(feature, derivations.lower[nodes], derivations.upper[nodes]),
            left=np.where(feature < 0, NO_CHILD, np.arange(1, len(feature) + 1)),
            right=right,
            statistics=statistics,
            predictive=self.leaf.predictive(statistics),
            feature_names=self.grid.feature_names,
            classes=self.classes,
            log_probability=log_probability,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what defines the posterior; sweeps are cheap to repeat."""
        return {name: getattr(self, name) for name in ("graph", "leaf", "prior", "grid", "classes", "n_jobs")}

    def __repr__(self) -> str:
        depth = "" if self.max_depth is None else f" up to depth {self.max_depth}"
        n_features = len(self.grid.feature_names)
        features = "1 feature" if n_features == 1 else f"{n_features} features"
        return (
            f"<Posterior over all {_count(self.log_n_trees)} trees{depth} on {features} "
            f"({self.graph.cells.n_cells:,} cells, {self.n_boxes:,} boxes, {self.n_splits:,} splits): "
            f"log evidence {self.log_evidence:.4f}, {self.prior}, {self.leaf}>"
        )


def _seed(random_state: RandomState) -> int:
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


def _count(log_n: float) -> str:
    if log_n < np.log(1e6):
        return f"{round(np.exp(log_n)):,}"
    return f"10^{log_n / np.log(10):.1f}"
