"""Pictures of trees: what they say, and that all of it can be read. Text is measured by the renderer that draws it."""

import warnings
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor, DirichletLeaf, NormalLeaf, PoissonLeaf, Tree
from bcart.datasets import load_haberman
from bcart.plotting import plot_tree
from bcart.plotting.text import ScaledText

HABERMAN = load_haberman()
NAMES = (
    "x",
    "age",
    "petal length (cm)",
    "price in $ (per $_kg)",
    "degree_of_spondylolisthesis_measured_lying_down",
    "a\nname in two lines",
)
LABELS = ("no", "yes", "referred to another hospital far away", "iv", "WWWWWWWWWWWWWWWWWWWWWW", "f", "g", "$h$")
TOLERANCE = 1.0  # pixels, by which hinting may move an edge


def random_tree(seed, n_leaves, kind):
    """A tree of a random shape, with tests of all kinds and names of all lengths."""
    rng = np.random.default_rng(seed)
    shape = grow(rng, n_leaves)
    n_nodes = len(shape)
    left, right = np.array(shape).T
    feature = np.where(left < 0, -1, rng.integers(0, len(NAMES), n_nodes))
    is_label, is_missing = feature == 1, (feature == 2) & (rng.random(n_nodes) < 0.3)
    threshold = rng.normal(size=n_nodes) * 10.0 ** rng.integers(-4, 6, n_nodes)
    threshold = np.where((left < 0) | is_label, np.nan, np.where(is_missing, -np.inf, threshold))
    n_classes = {"two": 2, "four": 4, "eight": 8}.get(kind, 0)
    statistics = leaf_statistics(rng, kind, n_nodes, n_classes)
    models = {"numbers": NormalLeaf(), "counts": PoissonLeaf()}
    leaf = models.get(kind) or DirichletLeaf((1.0,) * n_classes)
    return Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        statistics=statistics,
        predictive=leaf.predictive(statistics),
        feature_names=NAMES,
        classes=LABELS[:n_classes] if n_classes else None,
        categories=(None, LABELS, None, None, None, None),
        category=np.where(is_label, rng.integers(0, len(LABELS), n_nodes), -1),
        missing_left=is_missing | (rng.random(n_nodes) < 0.5),
        saw_missing=rng.random(n_nodes) < 0.5,
        n_rows=leaf.n_rows(statistics),
        log_probability=-rng.exponential(30),
        leaf=leaf,
    )


def grow(rng, n_leaves, first=0):
    """The children of each node of a random tree, in preorder."""
    if n_leaves == 1:
        return [(-1, -1)]
    n_left = int(rng.integers(1, n_leaves))
    right = first + 2 * n_left
    return [(first + 1, right), *grow(rng, n_left, first + 1), *grow(rng, n_leaves - n_left, right)]


def leaf_statistics(rng, kind, n_nodes, n_classes):
    if n_classes:
        return rng.integers(0, 40, (n_nodes, n_classes)) * 1.0
    if kind == "counts":
        rows = rng.integers(1, 2000, n_nodes) * 1.0
        return np.column_stack([rows, rng.poisson(3, n_nodes) * rows, rows])
    rows, mean = rng.integers(1, 9, n_nodes) * 0.5, rng.normal(0, 10.0 ** rng.integers(-3, 5), n_nodes)
    return np.column_stack([rows, rows * mean, rows * mean**2 + 1])


def measured(ax):
    """The extents of the boxes and texts of a drawn tree, in pixels; texts with what they say."""
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    ax.apply_aspect()
    boxes = [patch.get_window_extent(renderer) for patch in ax.patches if isinstance(patch, FancyBboxPatch)]
    texts = [(text.get_text(), text.get_window_extent(renderer)) for text in ax.texts if text.get_text()]
    return boxes, texts


def holds(outer, inner, tolerance=TOLERANCE):
    return (
        outer.x0 - tolerance <= inner.x0
        and outer.y0 - tolerance <= inner.y0
        and inner.x1 <= outer.x1 + tolerance
        and inner.y1 <= outer.y1 + tolerance
    )


def overlap(one, other, tolerance=TOLERANCE):
    wide = min(one.x1, other.x1) - max(one.x0, other.x0)
    high = min(one.y1, other.y1) - max(one.y0, other.y0)
    return wide > tolerance and high > tolerance


def centre(extent):
    return (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2


def check_that_all_can_be_read(ax):
    boxes, texts = measured(ax)
    inside = ax.get_window_extent()
    assert not [(one, other) for one, other in combinations(boxes, 2) if overlap(one, other)]
    assert not [said for said, extent in texts if not holds(inside, extent)]
    for said, extent in texts:
        for box in boxes:
            if box.contains(*centre(extent)):
                assert holds(box, extent), f"{said!r} does not fit into its box"
            else:
                assert not overlap(box, extent), f"{said!r} reaches into another box"
    touching = [(one[0], other[0]) for one, other in combinations(texts, 2) if overlap(one[1], other[1])]
    assert not touching


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n_leaves=st.integers(1, 40),
    kind=st.sampled_from(["two", "four", "eight", "numbers", "counts"]),
)
def test_no_text_leaves_its_box_and_nothing_overlaps(seed, n_leaves, kind):
    ax = plot_tree(random_tree(seed, n_leaves, kind))
    check_that_all_can_be_read(ax)
    plt.close(ax.figure)


@pytest.mark.parametrize("n_leaves", [3, 10, 20, 40])
@pytest.mark.parametrize("kind", ["two", "four", "numbers"])
def test_trees_of_all_sizes_can_be_read(n_leaves, kind):
    check_that_all_can_be_read(plot_tree(random_tree(n_leaves, n_leaves, kind)))


@pytest.mark.parametrize("size", [(3, 2), (6, 9), (20, 12)])
def test_text_and_boxes_scale_with_the_axes(size):
    """Also when the axes change after the tree is drawn, as a layout or a window changes them."""
    figure = Figure(figsize=size, dpi=200)
    ax = plot_tree(random_tree(1, 7, "four"), figure.add_axes((0, 0, 1, 0.9)))
    check_that_all_can_be_read(ax)
    figure.set_size_inches(size[0] * 1.7, size[1] * 0.8)
    check_that_all_can_be_read(ax)


def fit_haberman(**parameters):
    X = pd.DataFrame(HABERMAN.data, columns=HABERMAN.feature_names)
    return BayesianTreeClassifier(**parameters).fit(X, HABERMAN.target)


def test_it_draws_on_the_given_axes_and_nowhere_else():
    figure = Figure()
    given, other = figure.subplots(1, 2)
    before = len(other.get_children())
    assert plot_tree(fit_haberman(), given) is given
    assert figure.axes == [given, other]
    assert len(other.get_children()) == before
    assert plt.get_fignums() == []


def test_without_axes_there_is_one_new_figure_of_a_size_to_read_on_a_page():
    ax = plot_tree(fit_haberman())
    assert plt.get_fignums() == [ax.figure.number]
    assert 5 < ax.figure.get_size_inches()[0] < 10


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def test_the_tests_answers_classes_and_numbers_of_rows_of_a_tree_are_there():
    model = fit_haberman()
    texts = texts_of(plot_tree(model))
    tree = model.tree_
    inner, leaves = np.flatnonzero(tree.feature >= 0), np.flatnonzero(tree.feature < 0)
    assert {tree.describe_test(node) for node in inner} <= set(texts)
    assert texts.count("yes") == texts.count("no") == len(inner)
    assert [f"{tree.n_rows[leaf]:.0f}" for leaf in leaves] == [
        text for text in texts if text.isdigit() and len(text) > 1
    ]
    assert {f"{tree.predictive[leaf].max():.2f}" for leaf in leaves} <= set(texts)
    assert "95 % credible intervals" in texts


def test_bars_and_whiskers_are_as_long_as_the_probabilities_and_their_intervals():
    model = fit_haberman()
    ax, tree = plot_tree(model, level=0.8), model.tree_
    leaves = np.flatnonzero(tree.feature < 0)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    widths = np.array([bar.get_width() for bar in bars]).reshape(-1, 2)
    np.testing.assert_allclose(widths / widths.sum(axis=1, keepdims=True), tree.predictive[leaves])
    start, whole = bars[0].get_x(), widths[0].sum()
    low, high = (end[leaves, 0] for end in tree.interval(0.8))
    whiskers = [line.get_xdata() for line in ax.lines if line.get_zorder() == 5 and len(line.get_xdata()) == 2]
    np.testing.assert_allclose((np.array(whiskers) - start) / whole, np.column_stack([low, high]))


def test_a_posterior_and_an_estimator_show_their_most_probable_tree():
    model = fit_haberman()
    pictures = [texts_of(plot_tree(source)) for source in (model, model.posterior_, model.tree_)]
    assert pictures[0] == pictures[1] == pictures[2]


def test_numbers_and_counts_have_points_for_their_means():
    X = np.arange(60.0)[:, None]
    y = np.floor(X[:, 0] / 20) * 10
    for leaf in ("normal", "poisson"):
        model = BayesianTreeRegressor(leaf=leaf).fit(X, y)
        ax = plot_tree(model)
        means = model.tree_.predictive[model.tree_.feature < 0, 0]
        points = np.array([line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"])
        np.testing.assert_allclose(np.diff(points)[0] / np.ptp(points), np.diff(means)[0] / np.ptp(means))
        check_that_all_can_be_read(ax)


def test_an_interval_beyond_the_scale_ends_in_an_arrow():
    """Two leaves of many rows are told apart on a scale on which the interval of one row does not end."""
    statistics = np.array(
        [[201.0, 210.0, 400.0], [100.0, 0.0, 0.1], [101.0, 110.0, 130.0], [100.0, 100.0, 100.1], [1.0, 10.0, 100.0]]
    )
    leaf, nan = NormalLeaf(noise_shape=0.05, noise_scale=0.05), np.nan
    tree = Tree([0, -1, 0, -1, -1], [1.0, nan, 2.0, nan, nan], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], statistics,
                leaf.predictive(statistics), ("x",), leaf=leaf)  # fmt: skip
    low, high = tree.interval()
    assert high[4, 0] - low[4, 0] > 5 * np.ptp(tree.predictive[[1, 3, 4]])
    markers = [line.get_marker() for line in plot_tree(tree).lines if line.get_marker() in set("<>|")]
    assert sorted(markers) == ["<", ">", "|", "|", "|", "|"]


def test_labels_and_missing_values_are_asked_for_as_they_are_when_printed():
    X = pd.DataFrame({"ward": ["north", "south", None] * 20, "dose": [1.0, 2.0, np.nan, 4.0] * 15})
    y = np.where((X["ward"] == "south") | X["dose"].isna(), "ill", "well")
    model = BayesianTreeClassifier(log_phi=1.0).fit(X, y)
    texts = texts_of(plot_tree(model))
    asked = {model.tree_.describe_test(node) for node in np.flatnonzero(model.tree_.feature >= 0)}
    assert asked <= set(texts)
    assert any("missing" in text for text in asked)
    assert any("is south" in text for text in asked)


def test_a_tree_made_by_hand_has_no_intervals():
    tree = Tree([0, -1, -1], [2.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [[3, 3], [3, 0], [0, 3]],
                [[0.5, 0.5], [0.8, 0.2], [0.2, 0.8]], ("dose",), classes=["ill", "well"])  # fmt: skip
    ax = plot_tree(tree)
    assert "95 % credible intervals" not in texts_of(ax)
    assert ax.get_title(loc="left") == "Tree with 2 leaves"
    check_that_all_can_be_read(ax)


def test_a_single_leaf_has_no_tests():
    ax = plot_tree(fit_haberman(log_phi=50.0))
    assert not {"yes", "no"} & set(texts_of(ax))
    assert ax.get_title(loc="left").startswith("Tree with 1 leaf")
    check_that_all_can_be_read(ax)


def test_what_is_no_tree_is_refused():
    with pytest.raises(bcart.InvalidModelError, match="call its fit first"):
        plot_tree(BayesianTreeClassifier())
    with pytest.raises(bcart.InvalidModelError, match="got str"):
        plot_tree("year < 65.5")
    with pytest.raises(bcart.InvalidModelError, match="level"):
        plot_tree(fit_haberman(), level=1.5)


def test_drawing_makes_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FigureCanvasAgg(plot_tree(random_tree(3, 12, "four")).figure).draw()


def test_scaled_text_follows_its_axes():
    figure = Figure(figsize=(4, 4))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 4), ylim=(0, 4))
    text = ScaledText(ax, 1, 1, "text", size=9)
    extent = text.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert text.get_fontsize() == pytest.approx(9)
    ax.set(xlim=(0, 2), ylim=(0, 2))
    wider = text.get_window_extent(FigureCanvasAgg(figure).get_renderer())
    assert text.get_fontsize() == pytest.approx(18)
    assert wider.width == pytest.approx(2 * extent.width, rel=0.05)
