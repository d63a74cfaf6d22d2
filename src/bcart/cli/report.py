"""The parts of a report on a model: data, cost, posterior, tree, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bcart.cli.screen import printable
from bcart.cost import CostEstimate
from bcart.limits import format_bytes, format_count
from bcart.tree import Tree

_MOST_COLUMNS = 24
_FEWEST_ALIKE = 4  # neighbours that share a line
_MOST_TREES = 3
_BARS = "▁▂▃▄▅▆▇█"
_ROLES = ("numeric", "nominal", "dropped")
_TASKS = {"classify": "classes", "regress": "numbers", "count": "counts"}


def print_data(notes: Mapping[str, Any], console: Console) -> None:
    """Print what the file is, and what its columns were taken for."""
    guessed = ", guessed: --task says otherwise" if notes["is_guessed"] else ""
    _begin(console, "Data", f"{notes['file']}: {notes['n_rows']:,} rows")
    for count, why in (("n_without_target", f"without {notes['target']}"), ("n_without_weight", "of weight 0")):
        if notes[count]:
            _go_on(console, f"{notes[count]:,} rows {why} are left out")
    _begin(console, "Target", f"{notes['target']}: {notes['target_values']}", f"{_TASKS[notes['task']]}{guessed}")
    if notes["weight"]:
        _go_on(console, f"rows are weighed by {notes['weight']}")
    columns = notes["columns"]
    counts = Counter(column["role"] for column in columns)
    _begin(console, "Columns", ", ".join(f"{counts[role]} {role}" for role in _ROLES if counts[role]))
    console.print(_column_table(columns))


def _column_table(columns: list[Mapping[str, Any]]) -> Table:
    """Return a line a column, or one for several neighbours that are alike."""
    lines = [(names, cells) for cells, names in _runs(columns)]
    table = _table()
    for names, cells in lines[:_MOST_COLUMNS]:
        style = "dim" if cells[0] == "dropped" else ""
        shown = names if len(names) < _FEWEST_ALIKE else [f"{names[0]} … {names[-1]} ({len(names)})"]
        for name in shown:
            parts = (f"  {name}", *cells)
            table.add_row(*(Text(printable(part), overflow="ellipsis", no_wrap=True) for part in parts), style=style)
    if len(lines) > _MOST_COLUMNS:
        table.add_row(f"  … and {sum(len(names) for names, _ in lines[_MOST_COLUMNS:])} more")
    return table


def _runs(columns: list[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str, str], list[str]]]:
    """Yield what is said of columns, with the names of the neighbours that it is said of."""
    for said, group in groupby(columns, key=_describe_column):
        yield said, [str(column["name"]) for column in group]


def _describe_column(column: Mapping[str, Any]) -> tuple[str, str, str]:
    missing = f"{column['n_missing']:,} missing" if column["n_missing"] else ""
    note = ", ".join(part for part in (column["note"], missing) if part)
    return str(column["role"]), str(column["reason"] or column["values"]), note


def print_cost(cost: CostEstimate, max_memory: int, console: Console) -> None:
    """Print what the work is expected to take."""
    if not cost.by_depth:
        _begin(console, "Cost", "cannot be told beforehand")
        return
    _begin(console, "Cost", str(cost.all_trees))
    if cost.all_trees.n_bytes > max_memory:
        _go_on(console, f"more than --max-memory {format_bytes(max_memory)}: not all depths will fit")


def print_posterior(summary: Mapping[str, Any], notes: Mapping[str, Any], console: Console) -> None:
    """Print which trees the answers are exact for, and how large probable ones are."""
    depth = "" if summary["max_depth"] is None else f" up to depth {summary['max_depth']}"
    n_trees = "" if summary["log_n_trees"] is None else f"{format_count(summary['log_n_trees'])} "
    _begin(console, "Posterior", f"exact for all {n_trees}trees{depth} on {summary['n_cells']:,} cells")
    _go_on(
        console,
        f"log evidence {summary['log_evidence']:.4f}, {summary['n_boxes']:,} boxes, {summary['n_splits']:,} splits",
    )
    leaves = {int(n): float(share) for n, share in notes["leaves"].items()}
    mean = sum(n * share for n, share in leaves.items())
    first, last = min(leaves), max(leaves)
    spark = _sparkline([leaves.get(n, 0.0) for n in range(first, last + 1)])
    _go_on(console, f"leaves {first} {spark} {last}, {mean:.1f} on average of {notes['n_samples']:,} sampled trees")


def _sparkline(shares: list[float]) -> str:
    width = 40
    if len(shares) > width:
        step = -(-len(shares) // width)
        shares = [sum(shares[i : i + step]) for i in range(0, len(shares), step)]
    top = max(shares)
    return "".join(_BARS[min(len(_BARS) - 1, int(share / top * len(_BARS)))] if share else " " for share in shares)


def print_tree(tree: Tree, console: Console, title: str = "Tree", most_lines: int | None = None) -> None:
    """Print a tree, or the beginning of a large one."""
    first, *lines = str(tree).splitlines()
    _begin(console, title, first.removeprefix("Tree with "))
    for line in lines[:most_lines]:
        console.print(Text("  " + printable(line)), soft_wrap=True)
    if most_lines is not None and len(lines) > most_lines:
        console.print(Text(f"  … {len(lines) - most_lines} more lines; bcart show MODEL prints all", "dim"))


def print_top(notes: Mapping[str, Any], console: Console) -> None:
    """Print the trees that come next."""
    top = notes["top"][1 : 1 + _MOST_TREES]
    if not top:
        return
    _begin(console, "Next", "the most probable other trees that were met")
    table = _table()
    for place, tree in enumerate(top, start=2):
        size = f"{tree['n_leaves']} leaves"
        difference = Text(printable(tree["difference"]), overflow="ellipsis", no_wrap=True)
        table.add_row(f"  {place}.", f"{tree['probability']:.2g}", size, difference)
    console.print(table)


def print_scores(notes: Mapping[str, Any], console: Console) -> None:
    """Print cross-validated scores of three models side by side."""
    models = notes["models"]
    names = list(dict.fromkeys(name for model in models for name in model if name not in ("model", "n_leaves")))
    of_all = "" if notes["n_rows"] == notes["n_known"] else f" sampled from {notes['n_known']:,}"
    tested = "" if notes["n_tested"] == notes["n_rows"] else f", {notes['n_tested']:,} of them predicted"
    _begin(console, "Scores", f"{notes['n_folds']}-fold cross-validation on {notes['n_rows']:,} rows{of_all}{tested}")
    table = _table()
    table.add_column()
    for _ in (*names, "leaves"):
        table.add_column(justify="right")
    table.add_row("", *names, "leaves", style="dim")
    for model in models:
        leaves = "all" if model["n_leaves"] is None else f"{model['n_leaves']:.1f}"
        numbers = (f"{model[name]:.4g}" if name in model else "" for name in names)
        table.add_row(f"  {model['model']}", *numbers, leaves)
    console.print(table)


def print_output(output: Path | None, console: Console) -> None:
    """Print where the model is."""
    if output is None:
        _begin(console, "Saved", "nothing; -o model.bcart keeps the model")
    else:
        _begin(console, "Saved", f"{output}, {format_bytes(output.stat().st_size)}")


def _table() -> Table:
    return Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))


def _begin(console: Console, title: str, text: str, note: str = "") -> None:
    line = Text.assemble((f"{title:<10}", "bold"), printable(text), (f"  ({printable(note)})" if note else "", "dim"))
    console.print(line, soft_wrap=True)


def _go_on(console: Console, text: str) -> None:
    console.print(Text(" " * 10 + printable(text)), soft_wrap=True)
