"""Run a program of Python with the core that stands in a given folder, and no other: see `make sanitize`.

The rest of the command line is what would follow ``python``: a script or folder, or ``-m`` and a module.
"""

import runpy
import sys
from pathlib import Path

folder, *program = sys.argv[1:]
folder = Path(folder).resolve()
# An editable install puts a finder of its own before the path; without it, the path decides.
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
sys.path[:1] = [str(folder), str(Path.cwd())]  # as for ``python -m``, which finds the benchmarks here

import bcart._core  # noqa: E402

if not Path(bcart._core.__file__).is_relative_to(folder):
    sys.exit(f"{bcart._core.__file__} is not in {folder}")
if program[0] == "-m":
    sys.argv = program[1:]
    runpy.run_module(program[1], run_name="__main__", alter_sys=True)
else:
    sys.argv = program
    runpy.run_path(program[0], run_name="__main__")
