"""Rows of measurements as a table to read, or beside those of an earlier run."""

from __future__ import annotations

from benchmarks.readme import markdown

Row = dict[str, object]

CSV_COLUMNS = [
    "case", "threads", "status", "cells", "features", "depth", "boxes", "splits", "build", "build_system", "again",
    "first_score", "log_sum", "maximum", "count", "prior_mass", "samples", "response", "queries", "split_bytes",
    "box_bytes", "build_peak", "peak", "read_ns", "stream_gb", "pass_ns", "build_ratio", "sweep_ratio", "log_score",
    "load",
]  # fmt: skip
COMPARED = {"build": "build s", "log_sum": "log-sum s", "response": "1,000 queries s", "peak": "peak GB"}


def finish(row: Row) -> Row:
    """Add what follows from the measurements, and round: a file of results is for people, too."""
    row = dict(row)
    if "boxes" in row:
        row["depth"] = "all" if row["depth"] is None else row["depth"]
    if row.get("splits") and "read_ns" in row:
        row["build_ratio"] = row["build"] * 1e9 / row["splits"] / (2 * row["read_ns"])
        if "log_sum" in row:
            streaming = (row["split_bytes"] + row["box_bytes"]) / (row["stream_gb"] * 1e9)
            row["sweep_ratio"] = row["log_sum"] / streaming
    exact = {"log_score"}
    return {key: float(f"{x:.4g}") if isinstance(x, float) and key not in exact else x for key, x in row.items()}


def _number(form: str, scale: float = 1.0):
    return lambda row, key: format(float(row[key]) * scale, form)


def _seconds(row: Row, key: str) -> str:
    """Three digits; with a tilde where some queries stand for all."""
    mark = "~" if key == "response" and int(row["queries"]) < 1000 else ""
    return f"{mark}{float(row[key]):.3g}"


def _nanoseconds_a_split(row: Row, key: str) -> str:
    return f"{float(row[key]) / int(row['splits']) * 1e9:.0f}" if int(row["splits"]) else ""


def _a_split(row: Row, key: str) -> str:
    return f"{float(row['split_bytes']) / max(1, int(row['splits'])):.0f}"


def _a_box(row: Row, key: str) -> str:
    return f"{float(row['box_bytes']) / int(row['boxes']):.0f}"


COLUMNS = {
    "case": ("case", lambda row, key: str(row[key])),
    "threads": ("threads", lambda row, key: str(row[key])),
    "exact to depth": ("depth", lambda row, key: str(row[key])),
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
    "ended": ("status", lambda row, key: str(row[key])),
}


def table(rows: list[Row], is_markdown: bool, has_head: bool = True) -> str:
    """Return rows as lines; what was not measured is empty."""
    lines = [list(COLUMNS)] if has_head else []
    lines += [[_cell(row, key, form) for key, form in COLUMNS.values()] for row in rows]
    if not is_markdown:
        widths = [max(11, len(name)) if i else 19 for i, name in enumerate(COLUMNS)]
        return "\n".join(" ".join(text.rjust(w) for text, w in zip(line, widths, strict=True)) for line in lines)
    return markdown(lines)


def _cell(row: Row, key: str, form) -> str:
    return "" if row.get(key) in (None, "") else form(row, key)


def beside(before: list[Row], after: list[Row]) -> str:
    """Return two runs in one table: before, after, and how many times as fast (or small) it became."""
    earlier = {(str(row["case"]), str(row["threads"])): row for row in before}
    head = ["case", "threads", "depth before", "after"]
    for name in COMPARED.values():
        head += [f"{name} before", "after", "gain"]
    lines = [head]
    for row in after:
        old = earlier.get((str(row["case"]), str(row["threads"])))
        if old is not None:
            depths = [_cell(which, "depth", lambda r, key: str(r[key])) for which in (old, row)]
            lines.append([str(row["case"]), str(row["threads"]), *depths, *_gains(old, row)])
    return markdown(lines)


def _gains(old: Row, new: Row) -> list[str]:
    texts = []
    for key in COMPARED:
        form = _number(".2f", 1e-9) if key == "peak" else _seconds
        texts += [_cell(old, key, form), _cell(new, key, form), _gain(old, new, key)]
    return texts


def _gain(old: Row, new: Row, key: str) -> str:
    """Only answers to the same question are compared."""
    is_alike = str(old.get("depth")) == str(new.get("depth")) and old.get(key) and new.get(key)
    return f"{float(old[key]) / float(new[key]):.1f}" if is_alike else ""
