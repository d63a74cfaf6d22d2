"""The native engine of bcart. Not public: use the names in `bcart`."""

from collections.abc import Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class Ending(enum.Enum):
    COMPLETE = 0

    MAX_DEPTH = 1

    MEMORY = 2

    TIME = 3

    SYSTEM = 4

class Graph:
    @property
    def n_boxes(self) -> int: ...

    @property
    def n_splits(self) -> int: ...

    @property
    def n_bins(self) -> list[int]: ...

    @property
    def layer_ends(self) -> list[int]: ...

    @property
    def max_depth(self) -> int | None: ...

    @property
    def n_boxes_found(self) -> int: ...

    @property
    def ending(self) -> Ending: ...

    @property
    def first_split(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def n_splits_of(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def n_cells(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def statistics(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', writable=False)]: ...

    @property
    def tests(self) -> object: ...

    @property
    def left(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def right(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    def test(self, split: int) -> tuple[int, int, int]:
        """The test of a split: feature, and the codes below and above the gap."""

def build_graph(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_bins: Sequence[int], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_depth: int | None, min_samples_leaf: float, min_samples_split: float, max_bytes: int, seconds: float | None, n_workers: int, on_progress: object | None) -> Graph: ...

def restore_graph(n_bins: Sequence[int], layer_ends: Sequence[int], first_split: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_splits_of: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cells: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tests: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], max_depth: int | None, ending: Ending) -> Graph: ...

class LeafModel:
    def log_marginal(self, statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_workers: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

class DirichletLeaf(LeafModel):
    def __init__(self, alpha: Sequence[float]) -> None: ...

class Values:
    @property
    def root(self) -> float: ...

    @property
    def n_levels(self) -> int: ...

    def level(self, level: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

def sweep_log_sum(graph: Graph, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, log_split: float, n_workers: int) -> Values: ...

def sweep_maximum(graph: Graph, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, log_split: float, n_workers: int) -> Values: ...

class Derivations:
    @property
    def tree_ends(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def log_weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def box(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def feature(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def lower(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def upper(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]: ...

def derive_best(graph: Graph, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], maxima: Values, log_split: float) -> Derivations: ...

def derive_samples(graph: Graph, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], sums: Values, log_split: float, seed: int, n: int, n_workers: int) -> Derivations: ...
