"""Random tables and parameters, sensible ones and others, as values that can be written down and run again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

MISSING = None
EXTREME = (1e300, -1e300, 1.7e308, 5e-324, -5e-324, 1e-310, 2.0**53, 2.0**53 + 2, 1e15, math.nextafter(1.0, 2.0), 0.1)
PLAIN = (-2.5, -1.0, -0.0, 0.0, 1 / 3, 0.5, 1.0, 2.0, 3.75)
LABELS = ("", "a", "b", "ab", "ä", "nan", "None", "1")


@dataclass(frozen=True)
class Column:
    """A column of a table: its values, those of the rows to ask about, and what kind they are."""

    kind: Literal["number", "whole", "truth", "label"]
    values: list[Any]
    asked: list[Any]


@dataclass(frozen=True)
class Case:
    """One table, one model, and what to ask. Printed, it is Python that makes it again."""

    columns: list[Column]
    form: Literal["array", "pandas", "polars", "pyarrow"]
    task: Literal["classes", "normal", "poisson"]
    y: list[Any]
    weights: list[float] | None
    parameters: dict[str, Any]
    asked_y: list[Any]
    other_log_phi: float
    other_alpha: float
    level: float
    n_jobs: int
    seed: int

    @property
    def nominal(self) -> list[int]:
        """Places of the columns of labels, which arrays have to be told."""
        return [place for place, column in enumerate(self.columns) if column.kind == "label"]

    def table(self, rows: str = "values") -> Any:
        """Return the rows to learn from, or those asked about, in their form."""
        columns = {f"c{place}": getattr(column, rows) for place, column in enumerate(self.columns)}
        kinds = [column.kind for column in self.columns]
        if self.form == "array":
            dtype = object if "label" in kinds else float
            rows_of_values = [
                [np.nan if value is MISSING else value for value in row] for row in zip(*columns.values(), strict=True)
            ]
            return np.array(rows_of_values, dtype=dtype)
        if self.form == "pandas":
            import pandas

            dtypes = {"number": "float64", "whole": "Int64", "truth": "boolean", "label": "category"}
            series = {
                name: pandas.Series(values, dtype=dtypes[kind])
                for (name, values), kind in zip(columns.items(), kinds, strict=True)
            }
            return pandas.DataFrame(series)
        if self.form == "polars":
            import polars

            types = {"number": polars.Float64, "whole": polars.Int64, "truth": polars.Boolean, "label": polars.String}
            return polars.DataFrame(columns, schema=dict(zip(columns, [types[kind] for kind in kinds], strict=True)))
        import pyarrow

        arrow = {"number": "float64", "whole": "int64", "truth": "bool", "label": "string"}
        return pyarrow.table(
            {
                name: pyarrow.array(values, type=pyarrow.type_for_alias(arrow[kind]))
                for (name, values), kind in zip(columns.items(), kinds, strict=True)
            }
        )


def _mostly(*usual: Any, rare: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """Draw one of the usual values, or in one of twelve cases a rare one."""
    return st.integers(0, 11).flatmap(lambda i: st.sampled_from(rare if i == 11 else usual))


_NUMBER_SETS = st.one_of(
    st.lists(st.sampled_from(PLAIN), min_size=1, max_size=5),
    st.lists(st.sampled_from(PLAIN + EXTREME), min_size=1, max_size=6),
    st.lists(st.floats(-100, 100), min_size=1, max_size=30),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8),
    _mostly([0.0, 1.0], rare=([0.0, math.inf], [-math.inf, 1.0])),
)
_VALUE_SETS = {
    "number": _NUMBER_SETS,
    "whole": st.lists(st.integers(-3, 3) | st.integers(-(2**53), 2**53), min_size=1, max_size=8),
    "truth": st.just([False, True]),
    "label": st.lists(st.sampled_from(LABELS), min_size=1, max_size=5, unique=True),
}
_UNSEEN = {"number": [0.25, -1e305, 7.0], "whole": [4, 10**12], "truth": [False, True], "label": ["unseen"]}
_POSITIVE = (1.0, 0.5, 2.0, 1e-3, 100.0)
_PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "max_bins": _mostly(2, 3, 5, 10, 255, rare=(1, 256, 2.5)),
    "binning": _mostly("uniform", "quantile", rare=("equal",)),
    "prior": _mostly("leaf-count", "depth-decay", rare=("flat",)),
    "log_phi": _mostly(2.0, 0.0, -3.0, 700.0, 1e6, -1e6, rare=(1e99, math.nan)),
    "split_alpha": _mostly(0.95, 0.5, 1e-12, 1 - 1e-12, rare=(0.0, 1.0)),
    "split_beta": _mostly(2.0, 0.0, 1e3, rare=(-1.0, 1e308)),
    "max_depth": _mostly(None, None, 1, 2, 5, rare=(0, 10**30)),
    "min_samples_leaf": _mostly(1, 1, 1.5, 3, rare=(0, 1e300)),
    "min_samples_split": _mostly(2, 2, 0.5, 4, rare=(0, 1e300)),
    "predictor": _mostly("ensemble", "map", rare=("vote",)),
    "max_memory": _mostly(10**9, 10**9, 10**9, 10**5, 10**6, rare=(0, 1, 10**4, "lots")),
    "time_limit": _mostly(None, None, None, 100.0, rare=(1e-9, 1e-3, 0.01)),
    "n_jobs": st.sampled_from((1, 2, 3, None, -1)),
}
_TASK_PARAMETERS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "classes": {"alpha": _mostly(*_POSITIVE, 1e-8, rare=(1e-300, 1e300, 0.0))},
    "normal": {
        "prior_mean": _mostly(None, None, 0.0, -3.0, rare=(1e100, 1e200)),
        "prior_weight": _mostly(*_POSITIVE, rare=(1e-300, 1e300)),
        "noise_shape": _mostly(*_POSITIVE, rare=(1e-300, 1e10)),
        "noise_fraction": _mostly(*_POSITIVE, rare=(1e-300, 1e300)),
    },
    "poisson": {
        "prior_mean": _mostly(None, None, 1.0, 3.0, rare=(0.0, 1e100)),
        "prior_weight": _mostly(*_POSITIVE, rare=(1e-300, 1e300)),
    },
}
_TARGETS = {
    "classes": st.sampled_from([["no", "yes"], [0, 1, 2], [True, False], ["only"], list(range(12))]).map(
        st.sampled_from
    ),
    "normal": st.sampled_from(
        [
            st.sampled_from(PLAIN),
            st.floats(-1e3, 1e3),
            st.just(4.0),
            st.sampled_from([1e9, 1e9 + 1, 1e9 + 2]),
            st.sampled_from([0.0, 1e-160, 1e-300]),
            st.sampled_from([0.0, 1e140, -1e140]),
        ]
    ),
    "poisson": st.sampled_from([st.integers(0, 5), st.just(0), st.sampled_from([0, 10**6]), st.integers(0, 10**9)]),
}
_WEIGHTS = st.sampled_from(
    [
        st.sampled_from([1.0, 2.0, 0.0]),
        st.floats(0.01, 10.0),
        st.sampled_from([1.0, 1e-12, 1e12]),
        st.sampled_from([1e29, 1.0, 0.0]),
        _mostly(1.0, rare=(1e300, 5e-324, -1.0, math.nan, math.inf)),
    ]
)


def _lists(elements: st.SearchStrategy[Any], n: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(elements, min_size=n, max_size=n)


@st.composite
def columns(draw: st.DrawFn, n_rows: int, n_asked: int) -> Column:
    """Draw a column of any kind, with ties, and sometimes missing values."""
    kind = draw(st.sampled_from(["number", "number", "number", "whole", "truth", "label"]))
    seen = draw(_VALUE_SETS[kind])
    missing = [MISSING] if draw(st.integers(0, 3)) == 0 else []
    values = draw(_lists(st.sampled_from(seen + missing), n_rows))
    return Column(kind, values, draw(_lists(st.sampled_from(seen + _UNSEEN[kind] + [MISSING]), n_asked)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a case."""
    n_rows, n_asked = draw(st.integers(1, 6) | st.integers(1, 40)), draw(st.integers(1, 5))
    n_columns = draw(st.integers(1, 4))
    task = draw(st.sampled_from(["classes", "normal", "poisson"]))
    targets = draw(_TARGETS[task])
    chosen = {**_PARAMETERS, **_TASK_PARAMETERS[task]}
    names = draw(st.lists(st.sampled_from(sorted(chosen)), unique=True, max_size=6))
    return Case(
        columns=[draw(columns(n_rows, n_asked)) for _ in range(n_columns)],
        form=draw(st.sampled_from(["array", "pandas", "polars", "pyarrow"])),
        task=task,
        y=draw(_lists(targets, n_rows)),
        weights=draw(st.none() | _WEIGHTS.flatmap(lambda weights: _lists(weights, n_rows))),
        parameters={name: draw(chosen[name]) for name in names},
        asked_y=draw(_lists(targets, n_asked)),
        other_log_phi=draw(st.sampled_from([0.0, 1.0, -2.0, 50.0])),
        other_alpha=draw(st.sampled_from([0.1, 1.0, 30.0])),
        level=draw(st.sampled_from([0.5, 0.95, 1e-6, 1 - 1e-9])),
        n_jobs=draw(st.sampled_from([1, 2, 3, 4])),
        seed=draw(st.integers(0, 2**64)),
    )
