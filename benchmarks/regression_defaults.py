"""Why the regressor's defaults are what they are: evidence and held-out log predictive density on regression tables.

The defaults are a factor of about 3 apart from the other settings, one parameter at a time. All numbers are per row, in
nats, for targets divided by their standard deviation; higher is better. Graphs are built once a fold, and every setting
sweeps them anew.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

import bcart
from benchmarks.machine.cases import data_folder
from benchmarks.readme import markdown

SETS = {"diabetes": 3, "airfoil": 6, "yacht": 5}  # with the depth of the trees
DEFAULTS = {"prior_weight": 0.1, "noise_shape": 1.0, "noise_fraction": 0.03}
OTHERS = {
    "prior_weight": (0.01, 0.03, 0.3, 1.0),
    "noise_shape": (0.3, 3.0),
    "noise_fraction": (0.003, 0.01, 0.1, 0.3),
}
N_FOLDS = 5


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=data_folder())
    folder = arguments.parse_args().data / "regression"
    for path in (folder / f"{name}.csv" for name in SETS):
        if not path.exists():
            raise SystemExit(f"{path} does not exist; set BCART_DATA to a folder with regression/{path.name}")
    settings = [DEFAULTS, *({**DEFAULTS, name: value} for name, values in OTHERS.items() for value in values)]
    scores = {name: score(folder / f"{name}.csv", depth, settings) for name, depth in SETS.items()}
    lines = [[*DEFAULTS, *scores, "mean"]]
    for i, setting in enumerate(settings):
        numbers = [f"{evidence[i]:.3f} / {density[i]:.3f}" for evidence, density in scores.values()]
        mean = np.mean([[evidence[i], density[i]] for evidence, density in scores.values()], axis=0)
        values = [f"{value:g}" for value in setting.values()]
        lines.append([*values, *numbers, f"{mean[0]:.3f} / {mean[1]:.3f}"])
    print(markdown(lines))


def score(path: Path, max_depth: int, settings: list[dict[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean log evidence and held-out log predictive density a row, for each setting."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = table[:, :-1], table[:, -1] / table[:, -1].std()
    evidence, density = np.zeros(len(settings)), np.zeros(len(settings))
    for train, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(X):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
            posterior = bcart.BayesianTreeRegressor(max_depth=max_depth).fit(X[train], y[train]).posterior_
        for i, setting in enumerate(settings):
            leaf = bcart.NormalLeaf.for_targets(y[train], np.ones(len(train)), prior_mean=None, **setting)
            other = posterior.with_leaf(leaf)
            evidence[i] += other.log_evidence / len(train) / N_FOLDS
            density[i] += other.log_predictive(X[test], y[test]).mean() / N_FOLDS
    return evidence, density


if __name__ == "__main__":
    main()
