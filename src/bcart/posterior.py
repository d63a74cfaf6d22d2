"""The exact posterior over trees: one graph of boxes, and short passes over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from bcart import _core
from bcart.answers import Paths, Uncertainty
from bcart.cached import cached_property
from bcart.derivations import TreeMaker, log_weight
from bcart.errors import InternalError, InvalidDataError, InvalidModelError
from bcart.grammar import Grammar
from bcart.graph import Graph
from bcart.grid import Grid
from bcart.leaves import DirichletLeaf, LeafModel
from bcart.limits import Limits, format_count
from bcart.memory import within_memory
from bcart.parse import FloatArray, RandomState, Unchangeable, as_classes, as_seed, as_tail, as_whole
from bcart.parts import check_kinds, check_parts
from bcart.priors import LeafCountPrior, TreePrior
from bcart.routing import Routing
from bcart.rows import Predictor, Rows, SomeRows, as_predictor, as_targets, bytes_a_row, differing_rows
from bcart.tables import Table
from bcart.tree import Tree

_MOST_DRAWN = 2**31  # trees or paths at once


@within_memory()
class Posterior(Unchangeable):
    """Every exact answer about the trees of a graph, under a prior and a leaf model.

    Parameters
    ----------
    graph : Graph
        The family of trees, see `build_graph`.
    leaf : LeafModel, optional
        By default a `DirichletLeaf` with one pseudo-count for each class.
    prior : TreePrior, optional
        By default a `LeafCountPrior`.
    grid : Grid, optional
        Gives thresholds in the original units; by default those of the codes.
    classes : sequence, optional
        Labels of the classes, by default 0, 1, ...; not for regression.
    n_jobs : int or None
        Threads, as in `Limits`. No answer depends on it.

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
        check_kinds(graph=graph, leaf=leaf, prior=prior, grid=grid)
        n_statistics = graph.cells.statistics.shape[1]
        self.graph = graph
        self.leaf: LeafModel = leaf or DirichletLeaf.for_classes(1.0, n_statistics)
        self.prior: TreePrior = prior or LeafCountPrior()
        self.grid = grid or Grid.of_codes(graph.cells.n_bins, graph.cells.kinds)
        if classes is None and self.leaf.outputs_sum_to_one:
            classes = np.arange(n_statistics)
        self.classes = None if classes is None else as_classes(classes)
        self.n_jobs = n_jobs
        check_parts(graph.cells, self.grid, self.leaf, self.classes)

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
        score = float(self._sums[0])
        if np.isnan(score):
            raise InternalError("the score is not a number; please report the data and the parameters")
        return score

    @cached_property
    def log_prior_mass(self) -> float:
        """Log of Z, the sum of the unnormalised prior over all trees."""
        return self._log_sum_over_trees(self.prior)

    @property
    def log_evidence(self) -> float:
        """Log probability of the targets given the features; comparable across priors, bins and features."""
        return self.log_score - self.log_prior_mass

    @cached_property
    def log_n_trees(self) -> float:
        """Log of the number of trees."""
        return self._log_sum_over_trees(LeafCountPrior(0.0))

    @property
    def thresholds(self) -> list[FloatArray]:
        """Thresholds of the tests on each feature, in ascending order; of a nominal one, its labels by their places."""
        return list(self._routing.cuts)

    # -- trees --------------------------------------------------------------------------------------------------------

    def map_tree(self) -> Tree:
        """Return the most probable tree; of equals the one that stops first, then splits on the first feature."""
        derivations = self._native_grammar("map").derive_best(self._room)
        return next(self._tree_maker.trees(derivations))

    def sample(self, n: int, random_state: RandomState = None) -> list[Tree]:
        """Draw independent trees from the posterior.

        Parameters
        ----------
        n : int
            At most 2 ** 31.
        random_state : int, numpy Generator or RandomState, or None
            The same number gives the same trees in every run and for any number of threads; the first trees are the
            same whatever `n`.
        """
        n = as_whole(n, "n", f"a whole number of trees, from 0 to {_MOST_DRAWN:,}", least=0, most=_MOST_DRAWN)
        grammar = self._native_grammar("ensemble")
        return list(self._tree_maker.sample(grammar, as_seed(random_state), n, self._room, self._n_workers))

    def log_probability(self, tree: Tree) -> float:
        """Return the log posterior probability of a tree, -inf if it is not one of the family.

        Any tree counts whose tests part the training data as some tree of the family does.
        """
        if len(tree.feature_names) != len(self.grid.feature_names):
            raise InvalidDataError(
                f"the tree has {len(tree.feature_names)} features, the posterior {len(self.grid.feature_names)}"
            )
        return min(0.0, log_weight(tree, self.graph, self.grid, self.prior, self.leaf) - self.log_score)

    def grammar(self) -> Grammar:
        """Return the probabilistic context-free grammar whose derivations are the trees, see `Grammar`.

        A folded graph is unfolded for it.
        """
        if self.graph.is_folded:
            return self._with(set(), graph=self.graph.unfolded(self._room, self._n_workers)).grammar()
        return Grammar(
            self.graph, self._routing, self._depths, self.prior, self._native_grammar("ensemble"), self._sums
        )

    # -- rows ---------------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any, predictor: Predictor = "ensemble") -> FloatArray:
        """Return the probability of each class for each row, averaged over all trees; or by the most probable tree."""
        if self.classes is None:
            raise InvalidModelError("a posterior over regression trees has no class probabilities; use predict")
        return self.expected_output(X, predictor)

    def predict(self, X: Any, predictor: Predictor = "ensemble") -> npt.NDArray[Any]:
        """Return the most probable class of each row, the first of equals; or the expected target."""
        output = self.expected_output(X, predictor)
        return output[:, 0] if self.classes is None else np.asarray(self.classes[np.argmax(output, axis=1)])

    def expected_output(self, X: Any, predictor: Predictor = "ensemble") -> FloatArray:
        """Return the class probabilities, or the expected target in a single column.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
            In the original units.
        predictor : {"ensemble", "map"}
            The average over all trees, weighed by their posterior probability, or the answer of the most probable tree.
            Neither builds a tree.
        """
        return self._answer(X, predictor, lambda rows: [rows.moments(predictor)[0].mean])[0]

    def uncertainty(self, X: Any, level: float | None = 0.95, predictor: Predictor = "ensemble") -> Uncertainty:
        """Say how sure the prediction of each row is, see `Uncertainty`.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        level : float or None
            Probability of the credible intervals, between 0 and 1. None leaves them out, which is faster.
        predictor : {"ensemble", "map"}
            Whose prediction: with "map", as if the most probable tree were known to be the right one.
        """
        tail = None if level is None else as_tail(level)
        return Uncertainty(*self._answer(X, predictor, lambda rows: rows.uncertainty(predictor, tail)))

    def predict_interval(self, X: Any, level: float = 0.95, predictor: Predictor = "ensemble") -> FloatArray:
        """Return the central interval that holds the next target of each row with probability `level`.

        For regression only; of shape (n_rows, 2). For counts the probability is at least `level`.
        """
        if self.classes is not None:
            raise InvalidModelError("classes have no order, so there is no interval of them; use predict_proba")
        tail = as_tail(level)
        return self._answer(X, predictor, lambda rows: [rows.interval(predictor, tail)])[0]

    def log_predictive(self, X: Any, y: npt.ArrayLike, predictor: Predictor = "ensemble") -> FloatArray:
        """Return the log probability (for numbers: the log density) of one target for each row.

        All leaves count, however improbable: far from the data it is they that decide. Those with a probability below
        1e-300 are taken as zero.
        """
        table = self.grid.table(X)
        targets = as_targets(y, self.classes, table.n_rows)
        result = np.empty(len(targets))
        for part, rows, which in self._in_parts(table, predictor):
            result[part] = rows.log_density(predictor, targets[part], which)
        return result

    def sample_paths(self, X: Any, n: int, random_state: RandomState = None) -> Paths:
        """Follow each row through `n` independent random trees, without building them (algorithm 1 of the paper).

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        n : int
            Paths a row; at most 2 ** 31 of all rows together.
        random_state : int, numpy Generator or RandomState, or None
            As in `sample`: the i-th path of the k-th row is always the same.
        """
        rows = self._rows(self.grid.table(X))
        most = _MOST_DRAWN // max(1, len(rows))
        n = as_whole(n, "n", f"a whole number of paths, for {len(rows):,} rows from 0 to {most:,}", 0, most)
        return rows.paths(n, as_seed(random_state), self.classes)

    # -- variations ---------------------------------------------------------------------------------------------------

    def with_prior(self, prior: TreePrior | float | None = None, *, log_phi: float | None = None) -> Posterior:
        """Return the posterior under another prior, over the same graph: any, or the leaf-count prior by `log_phi`."""
        if (prior is None) == (log_phi is None):
            raise InvalidModelError("give either a prior or log_phi")
        given = log_phi if prior is None else prior
        if not isinstance(given, TreePrior | Real):
            raise InvalidModelError(f"prior={given!r} must be a TreePrior, as DepthDecayPrior(), or log_phi a number")
        new = given if isinstance(given, TreePrior) else LeafCountPrior(float(given))
        is_alike = new.core.depends_on_depth == self.prior.core.depends_on_depth
        return self._with({"_log_leaf", "_routing", "log_n_trees"} | ({"_depths"} if is_alike else set()), prior=new)

    def with_leaf(
        self, leaf: LeafModel | float | Sequence[float] | None = None, *, alpha: float | Sequence[float] | None = None
    ) -> Posterior:
        """Return the posterior under another leaf model, over the same graph: any, or Dirichlet leaves by `alpha`."""
        if (leaf is None) == (alpha is None):
            raise InvalidModelError("give either a leaf model or alpha")
        given = alpha if leaf is None else leaf
        if not isinstance(given, LeafModel):
            if self.classes is None:
                raise InvalidModelError(f"alpha={given!r} is for classes; give a leaf model instead")
            given = DirichletLeaf.for_classes(given, len(self.classes))  # type: ignore[arg-type]
        kept = {"_depths", "_routing", "log_prior_mass", "log_n_trees"}
        return self._with(kept, leaf=given.for_statistics_of(self.leaf))

    # -- within -------------------------------------------------------------------------------------------------------

    @property
    def _n_workers(self) -> int:
        return Limits(n_jobs=self.n_jobs).n_workers

    @cached_property
    def _log_leaf(self) -> FloatArray:
        return self.leaf.log_marginal(self.graph.core.statistics, self._n_workers)

    @cached_property
    def _depths(self) -> _core.Depths:
        return _core.Depths(self.graph.core, self.prior.core, self._n_workers)

    @cached_property
    def _sums(self) -> FloatArray:
        self._make_room(self._depths.n_places)
        return np.asarray(_core.sweep_log_sum(*self._parts, self._log_leaf, self._n_workers))

    @cached_property
    def _maxima(self) -> FloatArray:
        parts = *self._parts, self._log_leaf, self._n_workers
        if "_sums" in self.__dict__ or 4 * 8 * self._depths.n_places > self._room:
            self._make_room(self._depths.n_places)
            return np.asarray(_core.sweep_maximum(*parts))
        self._sums, maxima = map(np.asarray, _core.sweep_both(*parts))
        return maxima

    @property
    def _parts(self) -> tuple[_core.Graph, _core.Depths, _core.TreePrior, _core.Fold | None, _core.LeafModel]:
        return self.graph.core, self._depths, self.prior.core, self.graph.fold, self.leaf.core

    def _native_grammar(self, predictor: Predictor) -> _core.Grammar:
        values = self._maxima if predictor == "map" else self._sums
        return _core.Grammar(*self._parts, self._log_leaf, values)

    @cached_property
    def _routing(self) -> Routing:
        return Routing(self.grid, self.graph.tests)

    def _log_sum_over_trees(self, prior: TreePrior) -> float:
        is_alike = prior.core.depends_on_depth == self.prior.core.depends_on_depth
        depths = self._depths if is_alike else _core.Depths(self.graph.core, prior.core, self._n_workers)
        parts = self.graph.core, depths, prior.core, self.graph.fold, None, None
        return float(_core.sweep_log_sum(*parts, self._n_workers)[0])

    @property
    def _tree_maker(self) -> TreeMaker:
        return TreeMaker(self.graph, self.leaf, self._routing, self.classes, self.log_score)

    def _rows(self, table: Table, part: slice = slice(None)) -> Rows:
        positions = self._routing.positions(table, part, self._n_workers)
        parts = self.graph, self.leaf, self._routing, self._native_grammar, lambda: self._box_weights
        return Rows(positions, *parts, self._n_workers, lambda: self._room)

    def _in_parts(self, table: Table, predictor: Predictor) -> Iterator[SomeRows]:
        self._native_grammar(as_predictor(predictor))  # takes its room first
        n_bytes = bytes_a_row(len(table.columns), self.leaf.n_outputs, table.is_plain)
        return differing_rows(lambda part: self._rows(table, part), table.n_rows, self._room // n_bytes)

    def _answer(self, X: Any, predictor: Predictor, ask: Callable[[Rows], Sequence[FloatArray]]) -> list[FloatArray]:
        parts = self._in_parts(self.grid.table(X), predictor)
        answers = [[answer[which] for answer in ask(rows)] for _, rows, which in parts]
        return [same[0] if len(same) == 1 else np.concatenate(same) for same in zip(*answers, strict=True)]

    @cached_property
    def _box_weights(self) -> FloatArray:
        self._make_room(self.n_boxes)
        return np.ascontiguousarray(self.leaf.n_rows(self.graph.core.statistics), dtype=np.float64)

    @property
    def _room(self) -> int:
        """Bytes that are left of what the graph was allowed."""
        held = self.graph.n_bytes + sum(
            part.nbytes for part in vars(self).copy().values() if isinstance(part, np.ndarray)
        )
        held += self._depths.n_bytes if "_depths" in self.__dict__ else 0
        held += self.graph.fold.n_bytes if self.graph.fold is not None else 0
        held += self.graph.core.n_bytes_of_tests
        return max(0, self.graph.limits.n_bytes - held)

    def _make_room(self, n_values: int) -> None:
        """Forget sweeps, which can be repeated, until there is room for an array."""
        for name in ("_maxima", "_sums"):
            if 8 * n_values > self._room:
                self.__dict__.pop(name, None)

    def _with(self, kept: set[str], **changes: Any) -> Posterior:
        """Return a posterior with other parts, and what has been computed already and is not touched by them."""
        other = Posterior(**{**self.__getstate__(), **changes})
        other.__dict__.update({name: value for name, value in vars(self).copy().items() if name in kept})
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return what defines the posterior; sweeps are cheap to repeat."""
        return {name: getattr(self, name) for name in ("graph", "leaf", "prior", "grid", "classes", "n_jobs")}

    def __repr__(self) -> str:
        depth = "" if self.max_depth is None else f" up to depth {self.max_depth}"
        features = "1 feature" if len(self.grid.feature_names) == 1 else f"{len(self.grid.feature_names)} features"
        is_quick = not self.graph.is_folded or "log_n_trees" in self.__dict__
        n_trees = f"{format_count(self.log_n_trees)} " if is_quick else ""
        return (
            f"<Posterior over all {n_trees}trees{depth} on {features} "
            f"({self.graph.cells.n_cells:,} cells, {self.n_boxes:,} boxes, {self.n_splits:,} splits): "
            f"log evidence {self.log_evidence:.4f}, {self.prior}, {self.leaf}>"
        )

    def _repr_html_(self) -> str:
        from bcart.export import write_posterior_html

        return write_posterior_html(self)
