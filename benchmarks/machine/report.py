"""Rows of measurements as tables to read."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.record import markdown

Row = dict[str, object]
Form = Callable[[Row, str], str]


def finish(row: Row) -> Row:
    """Add what follows from the measurements."""
    row = dict(row)
    if "boxes" in row and row["depth"] is None:
        row["depth"] = "all"
    if row.get("splits") and "read_ns" in row:
        row["build_ratio"] = row["build"] * 1e9 / row["splits"] / (2 * row["read_ns"])
        if "log_sum" in row:
            streaming = (row["split_bytes"] + row["box_bytes"]) / (row["stream_gb"] * 1e9)
            row["sweep_ratio"] = row["log_sum"] / streaming
    return row


def _text(row: Row, key: str) -> str:
    return str(row[key])


def _number(form: str, scale: float = 1.0) -> Form:
    return lambda row, key: format(float(row[key]) * scale, form)


def _seconds(row: Row, key: str) -> str:
    """Three digits; with a tilde where some queries stand for all."""
    return f"{'~' if key == 'response' and not _is_whole(row) else ''}{float(row[key]):.3g}"


def _is_whole(row: Row) -> bool:
    return row["queries"] == row["different_queries"]


def _nanoseconds_a_split(row: Row, key: str) -> str:
    return f"{float(row[key]) / int(row['splits']) * 1e9:.0f}" if int(row["splits"]) else ""


def _a_split(row: Row, key: str) -> str:
    return f"{float(row['split_bytes']) / max(1, int(row['splits'])):.0f}"


def _a_box(row: Row, key: str) -> str:
    return f"{float(row['box_bytes']) / int(row['boxes']):.0f}"


COLUMNS: dict[str, tuple[str, Form]] = {
    "case": ("case", _text),
    "threads": ("threads", _text),
    "exact to depth": ("depth", _text),
    "cells": ("cells", _number(",.0f")),
    "boxes": ("boxes", _number(",.0f")),
    "splits": ("splits", _number(",.0f")),
    "build s": ("build", _seconds),
    "ns/split": ("build", _nanoseconds_a_split),
    "system s": ("build_system", _seconds),
    "again s": ("again", _seconds),
    "again ns/split": ("again", _nanoseconds_a_split),
    "first score s": ("first_score", _seconds),
    "log-sum s": ("log_sum", _seconds),
    "max s": ("maximum", _seconds),
    "count s": ("count", _seconds),
    "prior s": ("prior_mass", _seconds),
    "10,000 samples s": ("samples", _seconds),
    "1,000 queries s": ("response", _seconds),
    "B/split": ("split_bytes", _a_split),
    "B/box": ("box_bytes", _a_box),
    "peak GB": ("peak", _number(".2f", 1e-9)),
    "read ns": ("read_ns", _number(".1f")),
    "stream GB/s": ("stream_gb", _number(".1f")),
    "pass ns": ("pass_ns", _number(".0f")),
    "build / 2 reads": ("build_ratio", _number(".1f")),
    "sweep / stream": ("sweep_ratio", _number(".1f")),
    "load": ("load", _number(".1f")),
    "ended": ("status", _text),
}
OF_A_CASE = ("exact to depth", "cells", "boxes", "splits")
OF_THREADS = ("build s", "log-sum s", "1,000 queries s")
OF_MOST_THREADS = ("ns/split", "again ns/split", "10,000 samples s", "peak GB", "build / 2 reads", "sweep / stream")
COMPARED = ("build s", "log-sum s", "1,000 queries s", "peak GB")


def plain_line(row: Row) -> str:
    """Return a line for whoever waits."""
    return _aligned([_cell(row, name) for name in COLUMNS])


def plain_head() -> str:
    """Return the head of such lines."""
    return _aligned(list(COLUMNS))


def _aligned(texts: list[str]) -> str:
    widths = [max(11, len(name)) if i else 19 for i, name in enumerate(COLUMNS)]
    return " ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))


def table(rows: list[Row]) -> str:
    """Return all that was measured; what was not is empty."""
    return markdown([list(COLUMNS), *([_cell(row, name) for name in COLUMNS] for row in rows)])


def short_table(rows: list[Row]) -> str:
    """Return a line a case: some columns with one and two threads, some with two."""
    by_case: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault(str(row["case"]), {})[str(row["threads"])] = row
    head = ["case", *OF_A_CASE]
    for name in OF_THREADS:
        head += [f"{name}, 1 thread", "2 threads"]
    lines = [[*head, *OF_MOST_THREADS]]
    for case, runs in by_case.items():
        one, two = runs.get("1", {}), runs.get("2", {})
        line = [case, *(_cell(two, name) for name in OF_A_CASE)]
        line += [_cell(run, name) for name in OF_THREADS for run in (one, two)]
        lines.append([*line, *(_cell(two, name) for name in OF_MOST_THREADS)])
    return markdown(lines)


def _cell(row: Row, name: str) -> str:
    key, form = COLUMNS[name]
    return "" if row.get(key) in (None, "") else form(row, key)


def beside(before: list[Row], after: list[Row]) -> str:
    """Return the cases of an earlier run beside this one: before, after, and how many times as fast (or small)."""
    later = {(row["case"], str(row["threads"])): row for row in after}
    head = ["case", "threads", "read ns before", "after"]
    for name in COMPARED:
        head += [f"{name} before", "after", "gain"]
    lines = [head]
    for old in before:
        new = later[old["case"], str(old["threads"])]
        line = [_cell(old, "case"), _cell(old, "threads"), _cell(old, "read ns"), _cell(new, "read ns")]
        lines.append(
            line + [text for name in COMPARED for text in (_cell(old, name), _cell(new, name), _gain(old, new, name))]
        )
    return markdown(lines)


def _gain(old: Row, new: Row, name: str) -> str:
    """Only answers to the same question are compared, and only those that both have measured."""
    key, _ = COLUMNS[name]
    is_alike = old.get("depth") == new.get("depth") and key in old and key in new
    if not is_alike or (key == "response" and not (_is_whole(old) and _is_whole(new))):
        return ""
    return f"{float(old[key]) / float(new[key]):.1f}"
