"""Pictures are drawn without a window, and no test leaves a figure behind."""

import matplotlib as mpl
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def no_figure_is_left():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
