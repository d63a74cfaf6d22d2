"""The command `bcart`: words and colours for people, and nothing that computes."""

from __future__ import annotations

import sys

_NEEDED = ("typer", "rich", "duckdb")


def main() -> None:
    """Run the command and exit: 0, or 2 for wrong usage or input, 3 for a budget, 130 if interrupted."""
    try:
        from bcart.cli.outcome import prepare, run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _NEEDED:
            raise
        print(f'bcart: the command line needs {error.name}; install it by pip install "bcart[cli]"', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:  # while packages are loaded
        sys.exit(130)
    prepare()
    sys.exit(run())
