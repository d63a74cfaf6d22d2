"""The prior weight of a tree, read off its nodes one by one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from bcart.errors import InvalidModelError
from bcart.testing.splits import Node

Listed: TypeAlias = tuple[Node, ...]  # a tree as its nodes in preorder
LogPrior: TypeAlias = Callable[[Listed], float]


def leaf_count_prior(log_phi: float) -> LogPrior:
    """Weigh a tree by ``phi ** -(leaves - 1)``."""
    if not math.isfinite(log_phi):
        raise InvalidModelError(f"log_phi must be finite, not {log_phi}")
    return lambda nodes: -log_phi * (sum(node.is_leaf for node in nodes) - 1)


def depth_decay_prior(
    split_alpha: float, split_beta: float, n_splits_of: Callable[[int], int], max_depth: int | None
) -> LogPrior:
    """Let each box that can split do so with a probability that falls with its depth, by any of its splits alike."""
    if not 0 < split_alpha < 1:
        raise InvalidModelError(f"split_alpha must be between 0 and 1, not {split_alpha}")
    if not 0 <= split_beta < math.inf:
        raise InvalidModelError(f"split_beta must be finite and not negative, not {split_beta}")

    def log_chance(node: Node, depth: int) -> float:
        chance_to_split = split_alpha * (1 + depth) ** -split_beta
        if not node.is_leaf:
            return math.log(chance_to_split) - math.log(n_splits_of(node.box))
        can_split = depth != max_depth and n_splits_of(node.box) > 0
        return math.log1p(-chance_to_split) if can_split else 0.0

    return lambda nodes: math.fsum(log_chance(node, depth) for node, depth in zip(nodes, _depths(nodes), strict=True))


def _depths(nodes: Listed) -> Iterator[int]:
    """Yield the number of tests above each node of a tree in preorder."""
    waiting = [0]
    for node in nodes:
        depth = waiting.pop()
        yield depth
        if not node.is_leaf:
            waiting += [depth + 1, depth + 1]
