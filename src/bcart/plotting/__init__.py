"""Pictures of trees and posteriors, drawn by matplotlib on given axes: one file a picture."""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError('pictures need matplotlib, which is not installed; try: pip install "bcart[plot]"') from error

from bcart.plotting.calibration import plot_calibration
from bcart.plotting.posterior import plot_posterior
from bcart.plotting.predictive import plot_predictive
from bcart.plotting.tree import plot_tree

__all__ = ["plot_calibration", "plot_posterior", "plot_predictive", "plot_tree"]
