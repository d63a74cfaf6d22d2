"""Trees as CASE expressions of SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bcart.errors import InvalidModelError
from bcart.export.nodes import Question, fold, label_of, question_of
from bcart.export.plain import plain_label
from bcart.memory import within_memory
from bcart.tree import Tree


@within_memory()
def write_sql(tree: Tree, probability_of: Any = None) -> str:
    """Return an expression for the most probable class or the expected target, or for the probability of a class."""
    answer = _prediction(tree) if probability_of is None else _probability(tree, probability_of)
    lines = fold(tree, lambda leaf: [answer(leaf)], lambda node, *both: _case(tree, node, *both))
    return "\n".join(lines)


def _prediction(tree: Tree) -> Callable[[int], str]:
    classes = tree.classes
    if classes is None:
        return lambda leaf: _literal(tree.predictive[leaf, 0])
    return lambda leaf: _literal(classes[np.argmax(tree.predictive[leaf])])


def _probability(tree: Tree, label: Any) -> Callable[[int], str]:
    known = [] if tree.classes is None else tree.classes.tolist()
    if label not in known:
        has = f"has the classes {', '.join(map(repr, known))}" if known else "predicts numbers"
        raise InvalidModelError(f"probability_of={label!r} is no class of this tree, which {has}")
    return lambda leaf: _literal(tree.predictive[leaf, known.index(label)])


def _case(tree: Tree, node: int, yes: list[str], no: list[str]) -> list[str]:
    """Write a question with what follows from yes and from no; a question that follows from no is one more WHEN."""
    when = f"WHEN {_condition(tree, question_of(tree, node))} THEN"
    first = [f"  {when} {yes[0]}"] if len(yes) == 1 else [f"  {when}", *(f"    {line}" for line in yes)]
    rest = [f"  ELSE {no[0]}", "END"] if len(no) == 1 else no[1:]
    return ["CASE", *first, *rest]


def _condition(tree: Tree, asked: Question) -> str:
    """Write a question that NULL answers as missing values do; where it is not known, a CASE takes it for no."""
    name = _identifier(tree.feature_names[asked.feature])
    if asked.kind == "missing":
        return f"{name} IS NULL"
    known = (
        f"{name} < {_literal(asked.threshold)}"
        if asked.kind == "below"
        else f"{name} = {_literal(label_of(tree, asked))}"
    )
    return f"{known} OR {name} IS NULL" if asked.missing_left else known


def _identifier(name: str) -> str:
    return f'"{_without_nul(name).replace(chr(34), chr(34) * 2)}"'


def _literal(value: Any) -> str:
    """Write a constant; numbers with an exponent, which makes them floats of double precision and not decimals."""
    plain = plain_label(value)
    if isinstance(plain, bool):
        return "TRUE" if plain else "FALSE"
    if isinstance(plain, str):
        return "'" + _without_nul(plain).replace("'", "''") + "'"
    if isinstance(plain, int):
        return str(plain)
    text = repr(plain)
    return text if "e" in text else f"{text}e0"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise InvalidModelError(f"{text!r} holds a character that SQL cannot write; rename it")
    return text
