"""Pictures of predictions against the answers of the posterior at random values."""

from functools import cache
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

import bcart
from bcart import BayesianTreeClassifier, BayesianTreeRegressor
from bcart.plotting import plot_predictive
from bcart.plotting.scales import typical_row

RNG = np.random.default_rng(5)
N = 120
FRAME = pd.DataFrame(
    {
        "dose": np.where(RNG.random(N) < 0.2, np.nan, RNG.gamma(2, 2, N).round(1)),
        "ward": RNG.choice(["north", "south", "west", None], N),
        "age": RNG.integers(20, 80, N).astype(float),
    }
)
SCORE = np.nan_to_num(FRAME["dose"].to_numpy(), nan=9.0) + 3 * (FRAME["ward"] == "south") + RNG.normal(size=N)
TWO = np.where(SCORE > 6, "ill", "well")
THREE = np.array(["a", "b", "c"])[np.digitize(SCORE, [4, 8])]
NUMBERS = np.array(SCORE)


def fit(y, **parameters):
    kind = BayesianTreeRegressor if y.dtype.kind == "f" else BayesianTreeClassifier
    return kind(**{"max_depth": 3, **parameters}).fit(FRAME, y)


def draw(*arguments, **options):
    ax = plot_predictive(*arguments, ax=Figure(figsize=(6, 4)).add_subplot(), **options)
    FigureCanvasAgg(ax.figure).draw()
    return ax


def steps(ax):
    """The bands and lines of a picture: each with values and edges."""
    found = [patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch)]
    return found[0::2], found[1::2]


def at(row, **changes):
    return pd.DataFrame([{**row, **changes}])


HELD = {"dose": FRAME["dose"].median(), "ward": FRAME["ward"].mode()[0], "age": FRAME["age"].median()}


@settings(max_examples=12)
@given(share=st.floats(0, 1))
@pytest.mark.parametrize(("y", "output"), [(TWO, "ill"), (NUMBERS, None)], ids=["classes", "numbers"])
@pytest.mark.parametrize("max_depth", [None, 3])
def test_the_line_and_the_band_are_the_answers_of_the_posterior(y, output, max_depth, share):
    """At any value between the smallest and the largest, so that no step is missed."""
    model, ax = drawn(y.dtype.kind, max_depth)
    (band,), (line,) = steps(ax)
    value = line.edges[0] + share * (line.edges[-1] - line.edges[0])
    step = min(np.searchsorted(line.edges, value, side="right") - 1, len(line.values) - 1)
    sure = model.posterior_.uncertainty(at(HELD, dose=value))
    place = 0 if output is None else list(model.classes_).index(output)
    assert line.values[step] == pytest.approx(sure.mean[0, place], abs=1e-12)
    assert band.baseline[step] == pytest.approx(sure.low[0, place], abs=1e-9)
    assert band.values[step] == pytest.approx(sure.high[0, place], abs=1e-9)


@cache
def drawn(kind, max_depth):
    model = fit(NUMBERS if kind == "f" else TWO, max_depth=max_depth)
    return model, draw(model, "dose", FRAME, output=None if kind == "f" else "ill")


def test_missing_values_have_a_place_of_their_own():
    model = fit(TWO)
    ax = draw(model, "dose", FRAME, output="ill")
    expected = model.posterior_.expected_output(at(HELD, dose=np.nan))[0, 0]
    points = [line.get_ydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert points == [pytest.approx(expected)]
    n_missing = int(FRAME["dose"].isna().sum())
    assert ax.get_xticklabels()[-1].get_text() == f"missing\nn = {n_missing}"


def test_labels_have_points_with_intervals():
    model = fit(NUMBERS)
    ax = draw(model, "ward", FRAME)
    labels = [label.get_text().split("\n")[0] for label in ax.get_xticklabels()]
    assert labels == ["north", "south", "west", "missing"]
    points = next(line.get_ydata() for line in ax.lines if line.get_marker() == "o")
    wards = ["north", "south", "west", None]
    sure = model.posterior_.uncertainty(pd.concat([at(HELD, ward=ward) for ward in wards]))
    np.testing.assert_allclose(points, sure.mean[:, 0])
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([sure.low[:, 0], sure.high[:, 0]]))


def test_each_of_three_classes_has_a_line():
    model = fit(THREE)
    bands, lines = steps(draw(model, "dose", FRAME, THREE))
    assert len(bands) == 3
    np.testing.assert_allclose(sum(line.values for line in lines), 1)


def test_features_can_be_held_elsewhere():
    model = fit(TWO)
    ax = draw(model, "dose", FRAME, output="ill", at={"ward": "south", 2: 33.0})
    expected = model.posterior_.expected_output(at(HELD, dose=0.0, ward="south", age=33.0))[0, 0]
    assert steps(ax)[1][0].values[0] == pytest.approx(expected)
    assert ax.get_xlabel() == "dose\n(at ward = south, age = 33)"


def test_typical_values_are_medians_and_the_most_frequent_label():
    model = fit(TWO)
    row = typical_row(model.posterior_, model.posterior_.grid.columns(FRAME))
    labels = model.posterior_.grid.categories[1]
    assert {"dose": row[0], "ward": labels[int(row[1])], "age": row[2]} == HELD


def test_without_rows_the_bins_of_the_training_data_tell_what_is_typical():
    model = fit(TWO)
    dose, ward, age = typical_row(model.posterior_, None)
    grid = model.posterior_.grid
    assert grid.categories[1][int(ward)] == HELD["ward"]
    for feature, value, median in ((0, dose, HELD["dose"]), (2, age, HELD["age"])):
        widest = np.max(grid.highest[feature] - grid.lowest[feature])
        assert abs(value - median) <= widest
    assert steps(draw(model, "dose"))[1][0].values.min() > 0


def test_the_most_probable_tree_can_predict_instead():
    model = fit(TWO, predictor="map")
    for source, options in ((model, {}), (model.posterior_, {"predictor": "map"})):
        ax = draw(source, "dose", FRAME, output="ill", **options)
        line = steps(ax)[1][0]
        middle = (line.edges[3] + line.edges[4]) / 2
        assert line.values[3] == pytest.approx(model.tree_.predict_proba(at(HELD, dose=middle))[0, 0])
        assert ax.get_legend().get_texts()[0].get_text() == "most probable tree"


def maps(y, features, **options):
    panels = plot_predictive(fit(y), features, FRAME, y, ax=Figure(figsize=(9, 4)).subplots(1, 2), **options)
    FigureCanvasAgg(panels[0].figure).draw()
    return panels, [next(c for c in ax.collections if isinstance(c, QuadMesh)) for ax in panels]


def test_maps_show_the_mean_and_the_standard_deviation():
    _, (mean, spread) = maps(NUMBERS, ["age", "dose"])
    corners = mean.get_coordinates()
    sure = fit(NUMBERS).posterior_.uncertainty
    rng = np.random.default_rng(0)
    for _ in range(20):
        row, column = rng.integers(0, mean.get_array().shape[0] - 2), rng.integers(0, mean.get_array().shape[1])
        age, dose = corners[row : row + 2, column : column + 2].mean(axis=(0, 1))
        expected = sure(at(HELD, age=age, dose=dose), None)
        assert mean.get_array()[row, column] == pytest.approx(expected.mean[0, 0])
        assert spread.get_array()[row, column] == pytest.approx(expected.std[0, 0])


def test_maps_have_places_for_labels_and_missing_values():
    panels, (mean, _) = maps(TWO, ["dose", "ward"], output="ill")
    missing = fit(TWO).posterior_.expected_output(at(HELD, dose=np.nan, ward="south"))[0, 0]
    assert mean.get_array()[1, -1] == pytest.approx(missing)
    assert np.ma.getmaskarray(mean.get_array())[:, -2].all()  # the gap beside the numbers
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["north", "south", "west", "missing"]


def test_a_single_axes_gets_the_map_of_the_prediction():
    ax = Figure().add_subplot()
    assert plot_predictive(fit(TWO), ["age", "dose"], ax=ax) == [ax]


def test_it_draws_on_the_given_axes_and_nowhere_else():
    figure = Figure()
    given = figure.subplots(1, 3)
    before = len(given[2].get_children())
    assert plot_predictive(fit(TWO), "dose", FRAME, ax=given[0]) is given[0]
    assert plot_predictive(fit(TWO), (0, 2), FRAME, ax=given[:2]) == list(given[:2])
    assert figure.axes == list(given)
    assert len(given[2].get_children()) == before
    assert plt.get_fignums() == []


def test_without_axes_there_is_one_new_figure():
    panels = plot_predictive(fit(TWO), ["dose", "age"])
    assert plt.get_fignums() == [panels[0].figure.number]


def test_thresholds_are_thinned_out_where_they_are_too_many_to_see():
    X = np.random.default_rng(0).random((200, 1))
    model = BayesianTreeRegressor(max_bins=60, max_depth=1).fit(X, X[:, 0] > 0.5)
    (line,) = steps(draw(model, 0))[1]
    assert len(line.values) == 400
    assert line.edges[0] == X.min()
    assert line.edges[-1] == X.max()
    assert (np.diff(line.edges) > 0).all()


def test_counts_and_constant_features_can_be_drawn():
    X = np.column_stack([np.arange(20.0), np.full(20, 3.0)])
    model = BayesianTreeRegressor(leaf="poisson").fit(X, np.arange(20) // 10)
    assert len(steps(draw(model, 1, X))[1][0].values) == 1


@pytest.mark.parametrize("empty", [np.nan, pd.Series([None] * N, dtype="str")], ids=["number", "label"])
def test_a_feature_that_was_always_missing_has_a_place_for_that_alone(empty):
    rows = FRAME.assign(empty=empty)
    model = BayesianTreeClassifier(max_depth=2).fit(rows, TWO)
    assert np.isnan(typical_row(model.posterior_, None)[3])
    for X in (None, rows):
        ax = draw(model, "empty", X, output="ill")
        assert [label.get_text() for label in ax.get_xticklabels()] == ["missing" if X is None else f"missing\nn = {N}"]
        assert ax.get_xlim()[0] < 0 < ax.get_xlim()[1]
    expected = model.posterior_.expected_output(at(HELD, empty=None))[0, 0]
    assert [line.get_ydata().tolist() for line in ax.lines if line.get_marker() == "o"] == [[pytest.approx(expected)]]
    panels = plot_predictive(model, ["empty", "dose"], rows, TWO, ax=Figure(figsize=(9, 4)).subplots(1, 2))
    FigureCanvasAgg(panels[0].figure).draw()
    assert draw(model, "age", output="ill").get_xlabel().endswith("empty = missing)")


def test_signs_in_names_are_no_formulas_and_many_labels_do_not_overlap():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price $_a$": rng.choice([f"label {i} in $" for i in range(60)], 300), "x^2$": rng.random(300)})
    model = BayesianTreeClassifier(max_depth=1).fit(X, np.where(X["x^2$"] > 0.5, "$a", "b$"))
    ax = draw(model, 0, X, output="$a")
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    extents = [label.get_window_extent(renderer) for label in ax.get_xticklabels() if label.get_text()]
    assert len(extents) > 15
    assert all(one.x1 <= other.x0 + 1 for one, other in pairwise(extents))
    panels = plot_predictive(model, [0, 1], X, ax=Figure(figsize=(9, 4)).subplots(1, 2))
    FigureCanvasAgg(panels[0].figure).draw()
    assert panels[0].get_xlabel() == "price $_a$"


@pytest.mark.parametrize("largest", [12.5, 12.6, 13.0, 14.0])
def test_numbers_do_not_touch_the_word_missing(largest):
    x = np.append(np.linspace(0, largest, 60), np.full(10, np.nan))[:, None]
    model = BayesianTreeClassifier(max_depth=1).fit(x, np.where(x[:, 0] > 5, "a", "b"))
    ax = plot_predictive(model, 0, ax=Figure(figsize=(6, 4)).subplots(), output="a")
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    extents = [label.get_window_extent(renderer) for label in ax.get_xticklabels()]
    assert len(extents) > 3
    assert all(one.x1 < other.x0 for one, other in pairwise(extents))


def test_wrong_questions_are_refused():
    model = fit(TWO)
    for features, message in (
        ("weight", "no feature 'weight'"),
        (7, "no feature 7"),
        (["age", "age"], "two different"),
    ):
        with pytest.raises(bcart.InvalidModelError, match=message):
            plot_predictive(model, features)
    with pytest.raises(bcart.InvalidModelError, match="'dead' is no class"):
        plot_predictive(model, "dose", output="dead")
    with pytest.raises(bcart.InvalidModelError, match="targets are numbers"):
        plot_predictive(fit(NUMBERS), "dose", output="ill")
    with pytest.raises(bcart.InvalidDataError, match="no label"):
        plot_predictive(model, "dose", at={"ward": "east"})
    with pytest.raises(bcart.InvalidDataError, match="no number"):
        plot_predictive(model, "dose", at={"age": "old"})
    with pytest.raises(bcart.InvalidDataError, match="one target a row"):
        plot_predictive(model, "dose", FRAME, TWO[:5])
    with pytest.raises(bcart.InvalidModelError, match="level"):
        plot_predictive(model, "dose", level=2)
