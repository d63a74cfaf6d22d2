"""Matplotlib is asked for only by those who ask for pictures."""

import subprocess
import sys


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_bcart_itself_does_not_import_matplotlib():
    done = run("import bcart, sys; print('matplotlib' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


def test_without_matplotlib_the_error_says_what_to_install():
    done = run("import sys; sys.modules['matplotlib'] = None; import bcart.plotting")
    assert done.returncode == 1
    assert (
        'ImportError: pictures need matplotlib, which is not installed; try: pip install "bcart[plot]"' in done.stderr
    )
