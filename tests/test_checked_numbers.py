"""Hidden XOR against numbers that two independent programs agreed on (log_phi = 2, alpha = 1)."""

import numpy as np
import pytest

import bcart

SIZES = (100, 200, 500, 1000)
# cells, log Q(root), log score of the most probable tree, boxes of at least three cells and their splits
CHECKED = {
    100: (100, -28.4304842506, -58.6099380038, 208_858, 2_024_316),
    200: (200, -41.6694236694, -71.2979248244, 1_093_729, 10_853_278),
    500: (500, -52.4578623034, -85.3059145261, 7_555_211, 74_875_972),
    1000: (999, -71.8437243838, -96.3126127409, 26_218_323, 256_694_532),
}


def hidden_xor(size):
    """Rows of 20 fair coins; the label is the exclusive or of the first four."""
    rng = np.random.default_rng(0)
    for n in SIZES[: SIZES.index(size) + 1]:
        X = rng.integers(0, 2, (n, 20))
    return X, X[:, 0] ^ X[:, 1] ^ X[:, 2] ^ X[:, 3]


@pytest.mark.parametrize(
    ("size", "max_memory"),
    [
        (100, "1.5GB"),
        (200, "1.5GB"),
        pytest.param(500, "4GB", marks=pytest.mark.slow),
        pytest.param(1000, "12GB", marks=pytest.mark.slow),
    ],
)
def test_hidden_xor_gives_the_checked_numbers(size, max_memory):
    n_cells, log_score, log_map_score, n_boxes, n_splits = CHECKED[size]
    X, y = hidden_xor(size)
    posterior = bcart.BayesianTreeClassifier(max_memory=max_memory).fit(X, y).posterior_
    assert posterior.max_depth is None
    assert posterior.graph.cells.n_cells == n_cells
    assert posterior.log_score == pytest.approx(log_score, abs=1e-8)
    tree = posterior.map_tree()
    assert posterior.log_probability(tree) + posterior.log_score == pytest.approx(log_map_score, abs=1e-8)
    assert tree.log_probability + posterior.log_score == pytest.approx(log_map_score, abs=1e-8)
    core = posterior.graph.core
    is_counted = core.n_cells >= 3
    assert np.count_nonzero(is_counted) == n_boxes
    assert int(core.n_splits_of[is_counted].sum()) == n_splits
