"""The values of one feature that lead to a node, put together from all questions on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bcart.export.nodes import Question
from bcart.tables import Labels

OR_MISSING = " or missing"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` up to but not including `high`, or one label, or all but some; and perhaps missing values."""

    low: float = -np.inf
    high: float = np.inf
    label: int | None = None
    not_labels: tuple[int, ...] = ()
    has_known: bool = True
    has_missing: bool = True
    is_told: bool = False  # whether it is known where missing values go

    def after(self, asked: Question, answer: bool) -> Range:
        """Return what is left of the range after a question was answered."""
        left = replace(
            self,
            has_missing=self.has_missing and asked.missing_left == answer,
            is_told=self.is_told or asked.saw_missing,
        )
        if asked.kind == "missing":
            return replace(left, has_known=self.has_known and not answer)
        if asked.kind == "label":
            return left._after_label(asked.label, answer)
        low, high = (
            (self.low, min(self.high, asked.threshold)) if answer else (max(self.low, asked.threshold), self.high)
        )
        return replace(left, low=low, high=high, has_known=self.has_known and low < high)

    def _after_label(self, label: int, answer: bool) -> Range:
        if answer:
            is_possible = self.label in (None, label) and label not in self.not_labels
            return replace(self, label=label, has_known=self.has_known and is_possible)
        return replace(self, not_labels=(*self.not_labels, label), has_known=self.has_known and self.label != label)

    def describe(self, name: str, labels: Labels | None) -> str:
        """Write the condition that the value of a feature is in the range."""
        if not self.has_known:
            return f"{name} is missing" if self.has_missing else f"{name} is impossible"
        if labels is not None:
            return self._describe_labels(name, labels)
        known = self._describe_numbers(name)
        if not known:
            return f"{name} is not missing"
        return f"{known}{OR_MISSING}" if self.has_missing and self.is_told else known

    def _describe_numbers(self, name: str) -> str:
        if self.low == -np.inf:
            return "" if self.high == np.inf else f"{name} < {self.high:.10g}"
        return f"{name} ≥ {self.low:.10g}" if self.high == np.inf else f"{self.low:.10g} ≤ {name} < {self.high:.10g}"

    def _describe_labels(self, name: str, labels: Labels) -> str:
        if self.label is not None:
            known = f"{name} is {labels[self.label]}"
            return f"{known}{OR_MISSING}" if self.has_missing else known
        *first, last = [str(labels[label]) for label in self.not_labels] + ["missing"] * (not self.has_missing)
        if not first:
            return f"{name} is not {last}"
        return f"{name} is neither {', '.join(first)} nor {last}"
