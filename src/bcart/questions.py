"""The questions of trees, in words."""

from __future__ import annotations

import numpy as np

from bcart.tables import Labels


def describe_test(name: str, labels: Labels | None, threshold: float, category: int, missing_left: bool) -> str:
    """Write a question for a person."""
    if labels is not None and category >= 0:
        return f"{name} is {labels[category]}"
    if threshold == -np.inf:
        return f"{name} is missing"
    return f"{name} < {threshold:.10g}{' or missing' if missing_left else ''}"
