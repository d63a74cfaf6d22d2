"""The native engine of bcart. Not public: use the names in `bcart`."""

from collections.abc import Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


def keep_released_memory(is_kept: bool) -> None: ...

class Kind(enum.Enum):
    NUMERIC = 0

    OPTIONAL = 1

    NOMINAL = 2

class Form(enum.IntEnum):
    BELOW = 0

    MISSING_LEFT = 1

    MISSING_RIGHT = 2

    IS_MISSING = 3

    EQUALS = 4

class Ending(enum.Enum):
    COMPLETE = 0

    MAX_DEPTH = 1

    MEMORY = 2

    TIME = 3

    SYSTEM = 4

    NUMBERS = 5

class Folding(enum.Enum):
    AUTOMATIC = 0

    NEVER = 1

    ALWAYS = 2

class Graph:
    @property
    def n_boxes(self) -> int: ...

    @property
    def n_splits(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    @property
    def n_bins(self) -> list[int]: ...

    @property
    def kinds(self) -> list[Kind]: ...

    @property
    def max_depth(self) -> int | None: ...

    @property
    def is_folded(self) -> bool: ...

    @property
    def n_boxes_to(self) -> list[int]: ...

    @property
    def n_cells_to(self) -> list[int]: ...

    @property
    def n_splits_to(self) -> list[int]: ...

    @property
    def n_boxes_tried(self) -> int: ...

    @property
    def n_boxes_found(self) -> int: ...

    @property
    def n_cells_found(self) -> int: ...

    @property
    def n_splits_found(self) -> int: ...

    @property
    def n_bytes_counted(self) -> int: ...

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

    @property
    def asked(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def n_bytes_of_tests(self) -> int: ...

    def all_tests(self) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]]:
        """
        Of each number of a test: feature, form, and the codes below and above the gap.
        """

def build_graph(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_bins: Sequence[int], kinds: Sequence[Kind], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], max_depth: int | None, min_samples_leaf: float, min_samples_split: float, folding: Folding, max_bytes: int, seconds: float | None, n_workers: int, on_progress: object | None) -> Graph: ...

def restore_graph(n_bins: Sequence[int], kinds: Sequence[Kind], first_split: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_splits_of: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], n_cells: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tests: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], right: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], asked: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], max_depth: int | None, is_folded: bool, ending: Ending) -> Graph: ...

class Fold:
    def __init__(self, graph: Graph, codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], min_samples_leaf: float, min_samples_split: float, n_workers: int) -> None: ...

    @property
    def n_bytes(self) -> int: ...

class ByteCounts:
    def __init__(self, n_cells: int, n_bins: Sequence[int], kinds: Sequence[Kind], n_statistics: int) -> None: ...

    @property
    def before_first_box(self) -> int: ...

    @property
    def a_box(self) -> int: ...

    @property
    def a_split(self) -> int: ...

    @property
    def fold(self) -> int: ...

def sums_a_cell(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_bins: Sequence[int], statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> float: ...

class LeafModel:
    def __init__(self, family: str, parameters: Sequence[float]) -> None: ...

    def log_marginal(self, statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_workers: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

    def moments(self, statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]: ...

    @property
    def n_statistics(self) -> int: ...

    @property
    def n_outputs(self) -> int: ...

class TreePrior:
    def __init__(self, name: str, parameters: Sequence[float]) -> None: ...

    def log_stop(self, depth: int, n_splits: int) -> float: ...

    def log_split(self, depth: int, n_splits: int) -> float: ...

    @property
    def depends_on_depth(self) -> bool: ...

class Depths:
    def __init__(self, graph: Graph, prior: TreePrior, n_workers: int) -> None: ...

    @property
    def is_flat(self) -> bool: ...

    @property
    def n_places(self) -> int: ...

    @property
    def n_bytes(self) -> int: ...

    def place(self, box: int, depth: int) -> int: ...

    def first_depth(self, box: int) -> int: ...

    def n_depths(self, box: int) -> int: ...

def sweep_log_sum(graph: Graph, depths: Depths, prior: TreePrior, fold: Fold | None, leaf: LeafModel | None, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

def sweep_maximum(graph: Graph, depths: Depths, prior: TreePrior, fold: Fold | None, leaf: LeafModel | None, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

def sweep_both(graph: Graph, depths: Depths, prior: TreePrior, fold: Fold | None, leaf: LeafModel, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_workers: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]: ...

class Grammar:
    def __init__(self, graph: Graph, depths: Depths, prior: TreePrior, fold: Fold | None, leaf: LeafModel, log_leaf: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def n_rules(self) -> int: ...

    def log_stop(self, box: int, depth: int) -> float: ...

    def derive_best(self, max_bytes: int) -> Derivations: ...

    def derive_samples(self, seed: int, n: int, max_bytes: int, n_workers: int, first: int = 0) -> Derivations: ...

class Derivations:
    @property
    def tree_ends(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def log_weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def statistics(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def test(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', writable=False)]: ...

    @property
    def right(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', writable=False)]: ...

class Queries:
    def __init__(self, positions: Annotated[NDArray[numpy.uint32], dict(shape=(None, None), order='C', device='cpu', writable=False)], feature: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], first: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], last: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_learned_missing: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], weight_of: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    def respond(self, grammar: Grammar, leaf: LeafModel, max_bytes: int, n_workers: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]: ...

    def mixtures(self, grammar: Grammar, may_lose: float, max_bytes: int, n_workers: int) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]:
        """
        Where the leaves of each query end, and the statistics and weights of all leaves.
        """

    def walk_best(self, grammar: Grammar, max_bytes: int, n_workers: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]:
        """The statistics of the leaves reached."""

    def walk_randomly(self, grammar: Grammar, seed: int, n: int, max_bytes: int, n_workers: int, begin: int, end: int) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]:
        """The leaves reached, as boxes, their statistics, and random numbers."""

class Groups:
    def __len__(self) -> int: ...

    @property
    def group_of(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', writable=False)]: ...

    def add_up(self, begin: int, statistics: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_workers: int) -> None:
        """
        Add statistics and weights of consecutive rows, the first being number `begin`, to the sums of the groups.
        """

    @overload
    def count_labels(self, labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_workers: int) -> None: ...

    @overload
    def count_labels(self, labels: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_workers: int) -> None:
        """
        Add the weight of each row to the sum in the place of its label, and to the last sum of its group. Raises IndexError if a label has no place.
        """

class DeadlinePassed(TimeoutError):
    pass

def limit_rows(seconds: float | None) -> None:
    """
    Let passes over rows that this thread begins end in so many seconds, with DeadlinePassed.
    """

def encode(columns: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], cuts: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], first_code: Sequence[int], n_workers: int) -> tuple[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)], list[bool], list[bool]]: ...

def encode_widely(columns: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], cuts: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], first_code: Sequence[int], n_workers: int) -> tuple[Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)], list[bool], list[bool]]: ...

def survey(columns: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], max_distinct: int, n_workers: int) -> list[tuple[bool, bool, list[float]]]: ...

def find_bounds(columns: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], cuts: Sequence[Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)]], n_workers: int) -> list[tuple[list[float], list[float]]]: ...

def weigh(column: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), device='cpu', writable=False)] | None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', writable=False)]]: ...

@overload
def group_rows(codes: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_workers: int) -> tuple[Groups, Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', writable=False)]]: ...

@overload
def group_rows(codes: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], n_workers: int) -> tuple[Groups, Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', writable=False)]]: ...
