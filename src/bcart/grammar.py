"""The probabilistic context-free grammar whose derivations are the trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bcart import _core
from bcart.errors import InvalidModelError
from bcart.graph import Graph
from bcart.memory import within_memory
from bcart.parse import FloatArray
from bcart.priors import TreePrior
from bcart.routing import Routing

if TYPE_CHECKING:
    from nltk.grammar import PCFG

MAX_NLTK_RULES = 100_000


@within_memory()
class Symbol(NamedTuple):
    """A non-terminal: a box that may still split, at a depth where that matters (else the depth is None).

    Examples
    --------
    >>> str(Symbol(3)), str(Symbol(3, depth=1))
    ('N3', 'N3@1')
    """

    box: int
    depth: int | None = None

    def __str__(self) -> str:
        return f"N{self.box}" if self.depth is None else f"N{self.box}@{self.depth}"


@within_memory()
class Terminal(NamedTuple):
    """A box that has stopped: a leaf.

    Examples
    --------
    >>> str(Terminal(3))
    'M3'
    """

    box: int

    def __str__(self) -> str:
        return f"M{self.box}"


@within_memory()
class Rule(NamedTuple):
    """What a box may do: stop, or be split in two by a test, whose rows go left if the answer is yes.

    Examples
    --------
    >>> print(Rule(Symbol(0), (Terminal(0),), 0.25))
    N0 -> M0 [0.25]
    >>> print(Rule(Symbol(0), (Symbol(1), Symbol(2)), 0.75, "age < 40"))
    N0 -> N1 N2 [0.75] age < 40
    """

    parent: Symbol
    children: tuple[Symbol, Symbol] | tuple[Terminal]
    probability: float
    test: str | None = None

    def __str__(self) -> str:
        test = "" if self.test is None else f" {self.test}"
        return f"{self.parent} -> {' '.join(map(str, self.children))} [{self.probability:.6g}]{test}"


@within_memory()
class Grammar:
    """The posterior as a probabilistic context-free grammar; made by `Posterior.grammar`.

    Non-terminals are boxes, terminals are boxes that have stopped. The rules of each non-terminal sum to 1, and the
    probability of a derivation is the posterior probability of its tree. Where the depth of a box matters (it is
    limited, or the prior looks at it), each of its depths is a non-terminal of its own. Iterating yields all rules, box
    by box; the length is their number.

    Examples
    --------
    >>> import bcart
    >>> cells = bcart.Cells(codes=[[0], [1]], statistics=[[3, 0], [0, 3]])
    >>> grammar = bcart.Posterior(bcart.build_graph(cells)).grammar()
    >>> for rule in grammar:
    ...     print(rule)
    N0 -> M0 [0.457837]
    N0 -> N1 N2 [0.542163] x0 < 0.5
    N1 -> M1 [1]
    N2 -> M2 [1]
    >>> len(grammar), str(grammar.start)
    (4, 'N0')
    """

    def __init__(
        self,
        graph: Graph,
        routing: Routing,
        depths: _core.Depths,
        prior: TreePrior,
        core: _core.Grammar,
        log_sums: FloatArray,
    ) -> None:
        self._graph = graph
        self._routing = routing
        self._depths = depths
        self._prior = prior
        self._core = core
        self._log_sums = log_sums

    @property
    def start(self) -> Symbol:
        """The start symbol: the box of all rows."""
        return self._symbol(0, 0)

    @property
    def n_nonterminals(self) -> int:
        """Number of non-terminals."""
        return int(self._depths.n_places)

    @property
    def n_terminals(self) -> int:
        """Number of terminals: every box may stop."""
        return self._graph.n_boxes

    @property
    def nonterminals(self) -> Iterator[Symbol]:
        """All non-terminals, parents before children."""
        for box in range(self._graph.n_boxes):
            first = self._depths.first_depth(box)
            for depth in range(first, first + self._depths.n_depths(box)):
                yield self._symbol(box, depth)

    @property
    def terminals(self) -> Iterator[Terminal]:
        """All terminals."""
        return map(Terminal, range(self._graph.n_boxes))

    def rules(self, symbol: Symbol | int = 0) -> list[Rule]:
        """Return the rules of a non-terminal: to stop, then to make each of its splits.

        A box, given by its number, stands for its non-terminal of the least depth.
        """
        if not isinstance(symbol, Symbol | int | np.integer):
            raise InvalidModelError(f"symbol={symbol!r} must be a Symbol, or the number of a box")
        parent = symbol if isinstance(symbol, Symbol) else self._first_symbol(int(symbol))
        box, depth = parent.box, self._checked_depth(parent)
        total = self._log_sums[self._depths.place(box, depth)]
        splits = self._splits_of(box, depth)
        log_stop = self._core.log_stop(box, depth)
        rules = [Rule(parent, (Terminal(box),), float(np.exp(log_stop - total)))]
        log_split = self._prior.log_split(depth, len(splits)) if splits else 0.0
        for split in splits:
            children = [int(self._graph.core.left[split]), int(self._graph.core.right[split])]
            log_rule = log_split + sum(self._log_sums[self._depths.place(child, depth + 1)] for child in children)
            left, right = (self._symbol(child, depth + 1) for child in children)
            test = self._routing.describe(int(np.asarray(self._graph.core.tests)[split]))
            rules.append(Rule(parent, (left, right), float(np.exp(log_rule - total)), test))
        return rules

    def __iter__(self) -> Iterator[Rule]:
        for symbol in self.nonterminals:
            yield from self.rules(symbol)

    def __len__(self) -> int:
        return self._core.n_rules

    def to_nltk(self) -> PCFG:
        """Return the grammar for the package nltk, whose parsers can then be used; for small problems.

        Non-terminals are named N0, N1, ... (with the depth behind an @), terminals M0, M1, ...
        """
        if len(self) > MAX_NLTK_RULES:
            raise InvalidModelError(
                f"the grammar has {len(self):,} rules, too many for nltk; set max_depth or use fewer bins to stay "
                f"below {MAX_NLTK_RULES:,}"
            )
        try:
            from nltk.grammar import PCFG, Nonterminal, ProbabilisticProduction
        except ImportError as error:
            raise InvalidModelError("to_nltk needs the package nltk; pip install nltk") from error

        def named(child: Symbol | Terminal) -> object:
            return str(child) if isinstance(child, Terminal) else Nonterminal(str(child))

        productions = [
            ProbabilisticProduction(Nonterminal(str(r.parent)), [named(c) for c in r.children], prob=r.probability)
            for r in self
        ]
        return PCFG(Nonterminal(str(self.start)), productions)

    def __repr__(self) -> str:
        return f"<Grammar: {self.n_nonterminals:,} non-terminals, {self.n_terminals:,} terminals, {len(self):,} rules>"

    def _symbol(self, box: int, depth: int) -> Symbol:
        is_alike = self._depths.is_flat or len(self._graph.splits_of(box)) == 0
        return Symbol(box, None if is_alike else depth)

    def _first_symbol(self, box: int) -> Symbol:
        if not 0 <= box < self._graph.n_boxes:
            raise InvalidModelError(f"box={box} is not one of the {self._graph.n_boxes:,} boxes")
        return self._symbol(box, self._depths.first_depth(box))

    def _checked_depth(self, symbol: Symbol) -> int:
        first = self._first_symbol(symbol.box)
        lowest = self._depths.first_depth(symbol.box)
        highest = lowest + self._depths.n_depths(symbol.box) - 1
        if first.depth is None and symbol.depth is None:
            return int(lowest)
        if symbol.depth is None or first.depth is None or not lowest <= symbol.depth <= highest:
            known = "has no depth" if first.depth is None else f"has depths {lowest} to {highest}"
            raise InvalidModelError(f"{symbol} is no non-terminal: box {symbol.box} {known}")
        return symbol.depth

    def _splits_of(self, box: int, depth: int) -> range:
        return range(0) if depth == self._graph.max_depth else self._graph.splits_of(box)
