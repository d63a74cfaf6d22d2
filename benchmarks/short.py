"""The short tables of the project's first page, from the results that are there: ``python -m benchmarks.short``."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from bcart.reproduce.paper import quoted
from benchmarks.peers.report import SYNTHETIC, read_results, summary
from benchmarks.record import markdown, read_rows, replace_section

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TRIALS = ROOT / "docs" / "reproduction" / "trials.csv"
TABLES = {
    "iris": "Iris",
    "caesarian": "Caesarian",
    "haberman": "Haberman",
    "vertebral": "Vertebral",
    "xor": "Hidden XOR",
}
COLUMNS = {
    ("accuracy", "CART"): "CART",
    ("accuracy", "best tree"): "our best tree",
    ("accuracy", "random forest"): "random forest",
    ("accuracy", "ensemble"): "all our trees",
    ("nodes", "CART"): "CART, nodes",
    ("nodes", "best tree"): "our best tree, nodes",
}


def main() -> None:
    """Write both tables."""
    for name, text in sections().items():
        replace_section(name, text, README)


def sections() -> dict[str, str]:
    """Return the tables by the names of their places."""
    real = [row for row in read_results() if row["table"] not in SYNTHETIC and row["task"] == "classes"]
    return {"reproduction": reproduction(), "peers": summary(real, "classes")}


def reproduction() -> str:
    """Return our mean over trials with bins of equal width, and the paper's number."""
    trials = [row for row in read_rows(TRIALS) if row["binning"] == ("none" if row["dataset"] == "xor" else "uniform")]
    lines = [["", *COLUMNS.values()]]
    for table, title in TABLES.items():
        here = [row for row in trials if row["dataset"] == table]
        lines.append([title, *(_pair(here, table, *column) for column in COLUMNS)])
    return markdown(lines)


def _pair(rows: list[dict[str, str]], table: str, score: str, model: str) -> str:
    form = ".3f" if score == "accuracy" else ".1f"
    ours = mean(float(row[score]) for row in rows if row["model"] == model)
    return f"{ours:{form}} / {quoted(score, model, table).mean:{form}}"


if __name__ == "__main__":
    main()
