"""Trees as functions of C99, for devices that have little else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bcart.errors import InvalidModelError
from bcart.export.nodes import Question, fold, leaves_of, question_of
from bcart.memory import within_memory
from bcart.parse import FloatArray
from bcart.tree import Tree

Precision = Literal["double", "float"]

_MOST_NESTED = 16  # leaves, up to about which nested questions make smaller code than tables
_WIDTH = 100  # of lines with numbers
_KINDS = {"below": 0, "label": 2, "missing": 4}  # and one more if missing values go left
_KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|main|"
    "register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)


@within_memory()
def write_c(tree: Tree, name: str = "predict", dtype: Precision = "double") -> str:
    """Return a C file with a function for the class or the expected target, and one for the class probabilities."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or _KEYWORDS.fullmatch(name):
        raise InvalidModelError(f"name={name!r} must be a name that C allows for a function, such as 'predict'")
    if dtype not in ("double", "float"):
        raise InvalidModelError(f"dtype={dtype!r} must be 'double' or 'float'")
    source = _Source(tree, name, dtype)
    return "\n".join([*source.comment(), *source.leaf_function(), *source.functions()]) + "\n"


@dataclass(frozen=True, eq=False)
class _Source:
    tree: Tree
    name: str
    dtype: Precision

    def comment(self) -> Iterator[str]:
        """Say what goes in and what comes out."""
        tree = self.tree
        yield f"/* {_in_comment(tree._summary())}, written by bcart."
        yield " *"
        for prototype, meaning in self._prototypes():
            yield f" * {prototype};"
            yield f" *     {meaning}"
        yield " *"
        yield f" * x holds {len(tree.feature_names)} numbers in the units of the training data. NaN is a missing value;"
        yield " * -ffast-math and -ffinite-math-only would forget about it."
        for place, (feature, labels) in enumerate(zip(tree.feature_names, tree.categories, strict=True)):
            yield f" *     x[{place}]  {_in_comment(feature)}" + ("" if labels is None else ", by number:")
            yield from _numbered(labels or (), " *         ")
            yield from () if labels is None else [" *         -1  any other label"]
        if tree.classes is not None:
            yield " * Classes:"
            yield from _numbered(tree.classes.tolist(), " *     ")
        yield " */"

    def leaf_function(self) -> Iterator[str]:
        """Write the function that finds the leaf of a row."""
        yield f"static int {self.name}_leaf(const {self.dtype} *x)"
        yield "{"
        if self.tree.n_leaves == 1:
            yield from ["    (void)x;", "    return 0;"]
        else:
            body = self._nested() if self.tree.n_leaves <= _MOST_NESTED else self._looked_up()
            yield from (f"    {line}" for line in body)
        yield "}"

    def functions(self) -> Iterator[str]:
        """Write the functions that are called from outside."""
        what: str = self.dtype
        predictive = self.tree.predictive[leaves_of(self.tree)]
        (prototype, *others), leaf = [p for p, _ in self._prototypes()], f"{self.name}_leaf(x)"
        if self.tree.classes is None:
            values = [self.literal(value) for value in predictive[:, 0]]
        else:
            best = np.argmax(predictive, axis=1)
            what, values = _unsigned(int(best.max())), list(map(str, best))
        yield from ["", prototype, "{"]
        yield from _array(f"static const {what} answer[{len(values)}]", values)
        yield from [f"    return answer[{leaf}];", "}"]
        for other in others:
            yield from ["", other, "{"]
            yield from self._probabilities(predictive, leaf)
            yield "}"

    def _prototypes(self) -> list[tuple[str, str]]:
        if self.tree.classes is None:
            return [(f"{self.dtype} {self.name}(const {self.dtype} *x)", "returns the expected target.")]
        return [
            (f"int {self.name}(const {self.dtype} *x)", "returns the number of the most probable class."),
            (
                f"void {self.name}_proba(const {self.dtype} *x, {self.dtype} *p)",
                "writes the probability of each class.",
            ),
        ]

    def _probabilities(self, predictive: FloatArray, leaf: str) -> Iterator[str]:
        n_leaves, n_classes = predictive.shape
        values = [self.literal(value) for value in predictive.ravel()]
        yield from _array(f"static const {self.dtype} chance[{n_leaves * n_classes}]", values)
        yield f"    const {self.dtype} *from = chance + {n_classes} * {leaf};"
        yield "    int i;"
        yield f"    for (i = 0; i < {n_classes}; i++)"
        yield "        p[i] = from[i];"

    # -- finding the leaf ---------------------------------------------------------------------------------------------

    def _nested(self) -> list[str]:
        """Ask one question within the other."""
        numbers = {leaf: number for number, leaf in enumerate(leaves_of(self.tree))}

        def ask(node: int, yes: list[str], no: list[str]) -> list[str]:
            then = [f"    {line}" for line in yes]
            if len(yes) == 1:
                return [f"if ({self._condition(question_of(self.tree, node))})", *then, *no]
            return [f"if ({self._condition(question_of(self.tree, node))}) {{", *then, "}", *no]

        return fold(self.tree, lambda leaf: [f"return {numbers[leaf]};"], ask)

    def _condition(self, asked: Question) -> str:
        """Write a question whose answer is yes for NaN if missing values go left."""
        x = f"x[{asked.feature}]"
        if asked.kind == "missing":
            return f"{x} != {x}"
        if asked.kind == "label":
            known = f"{x} == {self.literal(asked.label)}"
            return f"{known} || {x} != {x}" if asked.missing_left else known
        threshold = self._threshold(asked)
        return f"!({x} >= {threshold})" if asked.missing_left else f"{x} < {threshold}"

    def _looked_up(self) -> Iterator[str]:
        """Go down tables, which are smaller than the code of many questions."""
        asked, children = self._splits()
        features, kinds = [q.feature for q in asked], [_KINDS[q.kind] + q.missing_left for q in asked]
        yield from _array(f"static const {self.dtype} threshold[{len(asked)}]", map(self._threshold, asked), "")
        yield from _array(f"static const {_unsigned(max(features))} feature[{len(asked)}]", map(str, features), "")
        yield from _array(f"static const {_signed(children)} next[{len(children)}]", map(str, children), "")
        if any(kinds):
            yield from _array(f"static const unsigned char kind[{len(asked)}]", map(str, kinds), "")
        yield "int i = 0;"
        yield "do {"
        yield f"    const {self.dtype} v = x[feature[i]];"
        yield f"    i = next[2 * i + ({_answer(set(kinds))})];"
        yield "} while (i >= 0);"
        yield "return ~i;"

    def _splits(self) -> tuple[list[Question], list[int]]:
        """Return the questions, and for each where no and where yes leads: to a question, or (inverted) to a leaf."""
        is_split = self.tree.feature >= 0
        number = np.where(is_split, np.cumsum(is_split) - 1, ~(np.cumsum(~is_split) - 1))
        nodes = np.flatnonzero(is_split)
        children = np.column_stack([number[self.tree.right[nodes]], number[self.tree.left[nodes]]])
        return [question_of(self.tree, int(node)) for node in nodes], children.ravel().tolist()

    # -- numbers ------------------------------------------------------------------------------------------------------

    def _threshold(self, asked: Question) -> str:
        """Write a threshold; of single precision the one that says the same of all numbers of single precision."""
        if asked.kind != "below":
            return self.literal(max(asked.label, 0))
        if self.dtype == "double":
            return self.literal(asked.threshold)
        with np.errstate(over="ignore"):
            nearest = np.float32(asked.threshold)
        is_enough = float(nearest) >= asked.threshold
        return self.literal(nearest if is_enough else np.nextafter(nearest, np.float32(np.inf)))

    def literal(self, value: Any) -> str:
        """Write a number."""
        with np.errstate(over="ignore"):
            number = np.float32(value) if self.dtype == "float" else float(value)
        if not np.isfinite(number):
            raise InvalidModelError(
                f"{value} cannot be written as a {self.dtype} of C; use dtype='double', or scale it"
            )
        return f"{number!s}f" if self.dtype == "float" else repr(number)


def _answer(kinds: set[int]) -> str:
    """Write how a number v answers question i, no longer than those kinds of questions need."""
    known = "v < threshold[i]"
    if kinds & {2, 3}:
        known = f"(kind[i] & 2 ? v == threshold[i] : {known})"
    if 5 in kinds:
        known = f"(!(kind[i] & 4) && {known})"
    return f"v != v ? kind[i] & 1 : {known}" if kinds & {1, 3, 5} else known


def _unsigned(most: int) -> str:
    return "unsigned char" if most < 2**8 else "unsigned short" if most < 2**16 else "unsigned long"


def _signed(values: list[int]) -> str:
    most = max(value if value >= 0 else ~value for value in values)
    return "signed char" if most < 2**7 else "short" if most < 2**15 else "long"


def _array(declaration: str, values: Iterable[str], indent: str = "    ") -> Iterator[str]:
    """Write an array in lines of some width."""
    line = f"{indent}{declaration} = {{"
    for value in values:
        if len(line) + len(value) > _WIDTH:
            yield line.rstrip()
            line = f"{indent}    "
        line += f"{value}, "
    yield line.rstrip(", ") + "};"


def _numbered(labels: Iterable[Any], indent: str) -> Iterator[str]:
    for place, label in enumerate(labels):
        yield f"{indent}{place}  {_in_comment(str(label))}"


def _in_comment(text: str) -> str:
    """Return text that neither ends a comment nor begins one, nor does anything else.

    Examples
    --------
    >>> print(_in_comment("a */ b /* c"))
    a * / b / * c
    """
    visible = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", visible)
