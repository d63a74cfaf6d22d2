"""Why the regressor's defaults are what they are: evidence and held-out log predictive density on regression tables.

The defaults are a factor of about 3 apart from the other settings, one parameter at a time. All numbers are per row, in
nats, for targets divided by their standard deviation; higher is better. Graphs are built once a fold, and every setting
sweeps them anew.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.model_selection import KFold

import bcart
from benchmarks.data import has_table, read_table, why_absent
from benchmarks.record import describe_machine, markdown, replace_section

SETS = {"diabetes": 3, "airfoil": 6, "yacht": 5}  # with the depth of the trees
DEFAULTS = {"prior_weight": 0.1, "noise_shape": 1.0, "noise_fraction": 0.03}
OTHERS = {
    "prior_weight": (0.01, 0.03, 0.3, 1.0),
    "noise_shape": (0.3, 3.0),
    "noise_fraction": (0.003, 0.01, 0.1, 0.3),
}
N_FOLDS = 5


def main() -> None:
    absent = [f"regression/{name}" for name in SETS if not has_table(f"regression/{name}")]
    if absent:
        print("\n".join(map(why_absent, absent)), "the page stays as it is", sep="\n", file=sys.stderr)
        return
    settings = [DEFAULTS, *({**DEFAULTS, name: value} for name, values in OTHERS.items() for value in values)]
    scores = {name: score(name, depth, settings) for name, depth in SETS.items()}
    lines = [[*DEFAULTS, *scores, "mean"]]
    for i, setting in enumerate(settings):
        numbers = [f"{evidence[i]:.3f} / {density[i]:.3f}" for evidence, density in scores.values()]
        mean = np.mean([[evidence[i], density[i]] for evidence, density in scores.values()], axis=0)
        values = [f"{value:g}" for value in setting.values()]
        lines.append([*values, *numbers, f"{mean[0]:.3f} / {mean[1]:.3f}"])
    print(markdown(lines))
    replace_section("defaults", f"Made on {describe_machine()}.\n\n{markdown(lines)}")


def score(name: str, max_depth: int, settings: list[dict[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Mean log evidence and held-out log predictive density a row, for each setting."""
    X, y = read_table(f"regression/{name}")
    y = y / y.std()
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
