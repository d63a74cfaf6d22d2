"""The picture of the README comes from a committed command."""

import importlib.util
from pathlib import Path

import numpy as np
from PIL import Image

FIGURES = Path(__file__).parents[2] / "docs" / "figures"


def load_script():
    place = importlib.util.spec_from_file_location("make_readme_figure", FIGURES / "make_readme_figure.py")
    script = importlib.util.module_from_spec(place)
    place.loader.exec_module(script)
    return script


def test_the_command_makes_the_committed_picture(tmp_path):
    """But for the last shade of a line: fonts are drawn a little differently by other versions."""
    load_script().main(tmp_path / "readme.png")
    made, committed = (
        np.asarray(Image.open(folder / "readme.png").convert("L"), dtype=float) for folder in (tmp_path, FIGURES)
    )
    assert made.shape == committed.shape == (800, 1600)
    assert np.mean(np.abs(made - committed) > 64) < 0.03
    assert (tmp_path / "readme.png").stat().st_size < 200_000
