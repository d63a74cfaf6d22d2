"""The paper's experiments: its datasets, models and folds, and its numbers beside ours.

``python -m bcart.reproduce``, or ``bcart reproduce``, runs them all.
"""

from bcart.reproduce.data import NAMES, Problem
from bcart.reproduce.experiment import Result
from bcart.reproduce.intervals import Interval
from bcart.reproduce.report import Report, Settings
from bcart.reproduce.reproduction import DEFAULT_OUTPUT, run

__all__ = ["DEFAULT_OUTPUT", "NAMES", "Interval", "Problem", "Report", "Result", "Settings", "run"]
