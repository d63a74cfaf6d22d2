"""Print a dataset as CSV: ``python -m bcart.datasets haberman > haberman.csv``."""

from __future__ import annotations

import sys
from importlib import resources


def main() -> None:
    """Print the one that is named."""
    names = sorted(
        path.name.removesuffix(".csv")
        for path in resources.files("bcart.datasets").iterdir()
        if path.name.endswith(".csv")
    )
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"name one of: {', '.join(names)}")
    print((resources.files("bcart.datasets") / f"{sys.argv[1]}.csv").read_text(), end="")


if __name__ == "__main__":
    main()
