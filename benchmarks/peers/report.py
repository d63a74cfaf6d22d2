"""The results as a figure and short tables in benchmarks/README.md, and table by table in results/peers.md."""

from __future__ import annotations

import numpy as np

from benchmarks.peers import figure
from benchmarks.record import RESULTS, markdown, read_rows, replace_section

Row = dict[str, object]
RESULTS_FILE, PAGE = RESULTS / "peers.csv", RESULTS / "peers.md"
TEXTS = ("table", "task", "model", "package", "version", "machine", "note")
SCORES = {  # of a task: heading, form, whether less is better
    "classes": {
        "log_loss": ("Log-loss", ".3f", True),
        "accuracy": ("Accuracy", ".3f", False),
        "brier": ("Brier score", ".3f", True),
        "ece": ("Calibration error", ".3f", True),
        "leaves": ("Leaves", ".1f", None),
        "fit": ("Seconds to fit", ".2g", None),
        "predict": ("Seconds to predict 1,000 rows", ".2g", None),
    },
    "regression": {
        "rmse": ("Root mean squared error", ".3f", True),
        "nlpd": ("Negative log predictive density", ".3f", True),
        "coverage": ("Coverage of 90 % intervals", ".3f", None),
        "leaves": ("Leaves", ".1f", None),
        "fit": ("Seconds to fit", ".2g", None),
        "predict": ("Seconds to predict 1,000 rows", ".2g", None),
    },
}
TITLES = {"classes": "Classes", "regression": "Numbers"}
SYNTHETIC = ("xor",)  # made so that a greedy search fails: shown, but not averaged


def read_results() -> list[Row]:
    """Return the results that are there."""
    rows = read_rows(RESULTS_FILE)
    return [{"note": ""} | {k: text if k in TEXTS else float(text) for k, text in row.items()} for row in rows]


def line(row: Row) -> str:
    """Return a row in short, for whoever waits."""
    scores = [f"{name} {row[name]:{form}}" for name, (_, form, _) in SCORES[str(row["task"])].items() if name in row]
    return f"{row['table']:12} {row['model']:32} {'  '.join(scores)}  {row['note']}"


def write(rows: list[Row]) -> None:
    """Draw the figure, and write the tables where they are read."""
    real = [row for row in rows if row["table"] not in SYNTHETIC]
    figure.draw(real)
    short, long = [versions(rows)], ["# Peers, table by table", versions(rows)]
    for task, title in TITLES.items():
        here = [row for row in rows if row["task"] == task]
        averaged = [row for row in real if row["task"] == task]
        short += [f"### {title}, over all real tables{exceptions(averaged)}", summary(averaged, task), depths(here)]
        long += [f"## {title}", depths(here)]
        long += [f"{heading}:\n\n{matrix(here, task, name)}" for name, (heading, _, _) in SCORES[task].items()]
    replace_section("peers", "\n\n".join(short))
    PAGE.write_text("\n\n".join(long) + "\n")


def versions(rows: list[Row]) -> str:
    """Return a line with the version of everything."""
    packages = dict.fromkeys(f"{row['package']} {row['version']}" for row in rows)
    (n_folds,) = {int(row["folds"]) for row in rows}
    return f"{n_folds} folds, on {rows[0]['machine']}: {', '.join(packages)}."


def names(rows: list[Row], key: str) -> list[str]:
    """Return the different values in order of appearance."""
    return list(dict.fromkeys(str(row[key]) for row in rows))


def cut_short(rows: list[Row]) -> list[str]:
    """Return the tables that not all models finished."""
    return names([row for row in rows if "fit" not in row], "table")


def exceptions(rows: list[Row]) -> str:
    """Say which tables are not averaged."""
    tables = cut_short(rows)
    return f" but {', '.join(tables)}, which not all models finished" if tables else ""


def summary(rows: list[Row], task: str) -> str:
    """Return one line a model: scores are means over the tables that all finished, sizes and times geometric means."""
    left_out = cut_short(rows)
    rows = [row for row in rows if row["table"] not in left_out]
    lines = [["model", *(heading for heading, _, _ in SCORES[task].values())]]
    for model in names(rows, "model"):
        mine = [row for row in rows if row["model"] == model]
        lines.append([model, *(_average(mine, name, form) for name, (_, form, _) in SCORES[task].items())])
    return markdown(lines)


def _average(rows: list[Row], name: str, form: str) -> str:
    values = np.array([row[name] for row in rows if name in row])
    if len(values) < len(rows):
        return "–"
    is_amount = name in ("leaves", "fit", "predict")
    return format(float(np.exp(np.log(values).mean())) if is_amount else float(values.mean()), form)


def depths(rows: list[Row]) -> str:
    """Say for which trees bcart is exact, and which searches of others were cut short."""
    ours = {row["table"]: row["note"] for row in rows if row["package"] == "bcart"}
    cut = [
        f"{row['model']} on {row['table']}: {row['note']}" for row in rows if row["package"] != "bcart" and row["note"]
    ]
    exact = ", ".join(f"{table} {note}" for table, note in ours.items())
    return f"bcart is exact for: {exact}." + (f" Cut short: {'; '.join(cut)}." if cut else "")


def matrix(rows: list[Row], task: str, name: str) -> str:
    """Return one score: tables down, models across, the best of a line in bold."""
    _, form, less_is_better = SCORES[task][name]
    models = names(rows, "model")
    lines = [["", *models]]
    for table in names(rows, "table"):
        found = {str(row["model"]): row for row in rows if row["table"] == table}
        best = _best([row[name] for row in found.values() if name in row], less_is_better)
        lines.append([table, *(_score(found.get(model, {}), name, form, best) for model in models)])
    return markdown(lines)


def _best(values: list[float], less_is_better: bool | None) -> float | None:
    if less_is_better is None or not values:
        return None
    return min(values) if less_is_better else max(values)


def _score(row: Row, name: str, form: str, best: float | None) -> str:
    if name not in row:
        return "–"
    text = format(row[name], form)
    text = f"**{text}**" if best is not None and text == format(best, form) else text
    has_error = f"{name}_error" in row and name not in ("fit", "predict", "leaves")
    return f"{text} ± {row[f'{name}_error']:{form}}" if has_error else text
