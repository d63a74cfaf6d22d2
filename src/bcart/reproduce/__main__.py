"""The paper's experiments from a shell: ``python -m bcart.reproduce``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bcart.errors import BcartError, MemoryBudgetError
from bcart.reproduce import DEFAULT_OUTPUT, NAMES, run

INTERRUPTED, NO_ROOM, WRONG = 130, 3, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and say what was found; return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        with ProgressLine() as progress:
            report = run(
                quick=given.quick,
                data=given.data,
                output=given.output,
                n_jobs=given.n_jobs,
                on_progress=progress,
                trials=given.trials,
                datasets=given.datasets,
                folds=given.folds,
            )
    except KeyboardInterrupt:
        print("Interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except BcartError as error:
        print(f"Error: {error}", file=sys.stderr)
        return NO_ROOM if isinstance(error, MemoryBudgetError) else WRONG
    print(report.text())
    print(f"Tables, results and figures are in {given.output}/")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bcart.reproduce", description="Rerun the experiments of the paper.")
    parser.add_argument("--quick", action="store_true", help="a look within a minute: fewer trials, folds and rows")
    parser.add_argument("--data", metavar="DIR", help="folder with caesarian.csv and vertebral.csv (else: BCART_DATA)")
    parser.add_argument("-o", "--output", metavar="DIR", default=DEFAULT_OUTPUT, help="default: %(default)s")
    parser.add_argument("--datasets", nargs="+", choices=NAMES, metavar="NAME", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--trials", type=int, metavar="N", help="default: 5")
    parser.add_argument("--folds", type=int, metavar="N", help="default: 10")
    parser.add_argument("--n-jobs", type=int, metavar="N", help="folds at once; default: one a core, if memory allows")
    return parser


class ProgressLine:
    """Keeps one line on stderr up to date, or writes one at first and for every tenth where it is no terminal."""

    def __init__(self) -> None:
        self._tenths = -1
        self._is_open = False

    def __call__(self, passed: float, expected: float, what: str) -> None:
        """Show how far it is, and how long it will take."""
        tenths = int(10 * passed / expected)
        is_terminal = sys.stderr.isatty()
        if not is_terminal and tenths == self._tenths:
            return
        left = _minutes(expected - passed)
        text = f"{passed / expected:4.0%}  {_minutes(passed)} so far, about {left} left  ({what})"
        sys.stderr.write(f"\r{text}\033[K" if is_terminal else f"{text}\n")
        sys.stderr.flush()
        self._tenths, self._is_open = tenths, is_terminal

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_open:
            sys.stderr.write("\n")


def _minutes(seconds: float) -> str:
    return f"{int(seconds + 0.5) // 60}:{int(seconds + 0.5) % 60:02}"


if __name__ == "__main__":
    sys.exit(main())
