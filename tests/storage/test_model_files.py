"""Posteriors in files."""

import contextlib
import json
import os
import pickle
import struct
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bcart
from bcart import FormatError, InvalidModelError, load_model, save_model
from bcart.graph import list_graph
from bcart.storage import container

X = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(float)
LABELS = np.where(X[:, 0] + X[:, 1] > 4, "high", "low")


def messy_frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "dose": np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80).round(1)),
            "colour": rng.choice(np.array(["red", "green", None], dtype=object), 80),
            "größe\n": rng.integers(0, 2, 80),
        }
    )


def fitted(kind):
    frame = messy_frame()
    y = np.nan_to_num(frame["dose"].to_numpy()) + frame["größe\n"].to_numpy()
    models = {
        "text classes": lambda: bcart.BayesianTreeClassifier(alpha=0.5).fit(X, LABELS),
        "numbered classes": lambda: bcart.BayesianTreeClassifier(prior="depth-decay").fit(X, X[:, 0].astype(int) + 3),
        "truth values": lambda: bcart.BayesianTreeClassifier(max_depth=2).fit(X, LABELS == "high"),
        "messy": lambda: bcart.BayesianTreeClassifier(max_bins=4).fit(frame, np.where(y > 0.5, "yes", "no")),
        "numbers": lambda: bcart.BayesianTreeRegressor(max_bins=4, min_samples_leaf=3).fit(frame, 1e6 + y),
        "counts": lambda: bcart.BayesianTreeRegressor(leaf="poisson").fit(X, X[:, 0] ** 2),
    }
    return models[kind]()


KINDS = ("text classes", "numbered classes", "truth values", "messy", "numbers", "counts")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_comes_back_as_it_was(kind, tmp_path):
    model = fitted(kind)
    save_model(model, tmp_path / "m.bcart", about={"target": "y", "rows": 60})
    saved, posterior = load_model(tmp_path / "m.bcart"), model.posterior_
    again = saved.posterior()
    rows = messy_frame() if posterior.grid.feature_names[0] == "dose" else X
    assert saved.tree == model.tree_
    assert str(saved.tree) == str(model.tree_)
    assert saved.about == {"target": "y", "rows": 60}
    assert again.log_score == posterior.log_score
    assert (again.prior, again.leaf, again.max_depth) == (posterior.prior, posterior.leaf, posterior.max_depth)
    assert np.array_equal(again.expected_output(rows), posterior.expected_output(rows))
    assert again.sample(3, random_state=0) == posterior.sample(3, random_state=0)
    if posterior.classes is not None:
        assert again.classes.dtype.kind == posterior.classes.dtype.kind
        assert again.classes.tolist() == posterior.classes.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_tells_at_once_is_what_its_posterior_says(kind, tmp_path):
    save_model(fitted(kind), tmp_path / "m.bcart")
    saved = load_model(tmp_path / "m.bcart")
    posterior = saved.posterior()
    assert saved.tree.log_probability == pytest.approx(posterior.log_probability(saved.tree))
    np.testing.assert_array_equal(saved.tree.interval(0.8), posterior.map_tree().interval(0.8))
    for name, value in saved.summary.items():
        owner = posterior.graph if name == "is_folded" else posterior.graph.cells if name == "n_cells" else posterior
        assert value == getattr(owner, name), name


def test_a_posterior_that_a_budget_ended_comes_back_with_its_depth(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, (100, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bcart.DepthLimitedWarning)
        model = bcart.BayesianTreeClassifier(max_memory="10MB").fit(bits, bits[:, 0] ^ bits[:, 1])
    save_model(model, tmp_path / "m.bcart")
    again = load_model(tmp_path / "m.bcart").posterior()
    assert again.max_depth == model.posterior_.max_depth
    assert again.graph.is_folded == model.posterior_.graph.is_folded
    assert again.log_evidence == model.posterior_.log_evidence


def test_a_folded_graph_comes_back_folded(tmp_path):
    classes, labels = np.unique(LABELS, return_inverse=True)
    grid = bcart.Grid.from_data(X)
    cells = bcart.Cells.from_labels(grid.encode(X), labels, 2)
    graph = bcart.build_graph(cells, bcart.Family(max_depth=3), folding="always")
    posterior = bcart.Posterior(graph, grid=grid, classes=classes)
    save_model(posterior, tmp_path / "m.bcart")
    again = load_model(tmp_path / "m.bcart").posterior()
    assert again.graph.is_folded
    assert again.log_score == posterior.log_score


def test_limits_that_do_not_reach_the_depth_of_a_model_are_an_error_that_says_what_to_raise(tmp_path, monkeypatch):
    bits = np.random.default_rng(0).integers(0, 2, (60, 8))
    model = bcart.BayesianTreeClassifier(max_depth=5).fit(bits, bits[:, 0] ^ bits[:, 1])
    save_model(model, tmp_path / "m.bcart")
    saved = load_model(tmp_path / "m.bcart")
    said = r"trees up to depth 5 of the model takes more than max_memory=50\.0 kB; raise max_memory"
    with pytest.raises(bcart.MemoryBudgetError, match=said):
        saved.posterior(bcart.Limits(max_memory="50kB"))
    monkeypatch.setattr("bcart.graph.list_graph", out_of_time)
    with pytest.raises(bcart.TimeBudgetError, match=r"takes longer than time_limit=0\.5 s; raise time_limit"):
        saved.posterior(bcart.Limits(time_limit=0.5))


def out_of_time(cells, family, limits, *_):
    """The graph of a build that time has ended at depth 2."""
    graph = list_graph(cells, replace(family, max_depth=2), limits)
    restore, (*parts, _, state) = graph.__reduce__()
    return restore(*parts, limits, (*state[:-1], "TIME"))


# -- files that are not what they should be ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.bcart"
    save_model(fitted("messy"), path)
    return path.read_bytes()


def load_bytes(content, path):
    path.write_bytes(content)
    return load_model(path)


def test_a_file_cut_short_anywhere_is_refused(content, tmp_path):
    for length in [*range(64), *range(64, len(content), 97), len(content) - 1]:
        with pytest.raises(FormatError):
            load_bytes(content[:length], tmp_path / "m.bcart")


def test_a_file_with_any_byte_changed_is_refused(content, tmp_path):
    for place in [*range(64), *range(64, len(content), 97), len(content) - 1]:
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        with pytest.raises(FormatError):
            load_bytes(bytes(damaged), tmp_path / "m.bcart")


def test_a_newer_file_asks_for_a_newer_bcart(content, tmp_path):
    newer = content[:8] + struct.pack("<I", container.VERSION + 1) + content[12:]
    with pytest.raises(FormatError, match=r"m\.bcart .* version 2 .* reads up to 1; install a newer"):
        load_bytes(newer, tmp_path / "m.bcart")


def test_a_pickle_is_not_even_looked_at(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    with pytest.raises(FormatError, match="does not begin like a model"):
        load_bytes(pickle.dumps(Trap()), tmp_path / "m.bcart")
    assert not (tmp_path / "executed").exists()


def test_a_folder_is_no_model_and_a_missing_file_stays_an_error_of_the_system(tmp_path):
    with pytest.raises(FormatError, match="no ordinary file"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.bcart")


def places_in(value, path=()):
    """The way to every value within nested lists and objects."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places_in(value[key], (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    changed = value.copy()
    changed[path[0]] = replaced(value[path[0]], path[1:], new)
    return changed


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


def ask(saved):
    """Show the tree and list the boxes of a model that somebody made up; only our own errors may come of it."""
    assert str(saved.tree)
    with contextlib.suppress(bcart.BcartError):
        saved.posterior(bcart.Limits(max_memory="50MB"))


@given(data=st.data())
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_hostile_header_is_refused_or_makes_a_model(content, tmp_path, data):
    """Whoever makes a file can make its checksum, too: every entry may be anything."""
    header, arrays = container.unpack(content)
    path = data.draw(st.sampled_from(list(places_in(header))))
    changed = replaced(header, path, data.draw(JSON))
    if not isinstance(changed, dict):
        return
    try:
        hostile = container.pack(changed, arrays)
    except InvalidModelError:  # infinite numbers, which JSON does not have
        return
    try:
        saved = load_bytes(hostile, tmp_path / "m.bcart")
    except FormatError:
        return
    ask(saved)


@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_arrays_are_refused_or_make_a_model(content, tmp_path, data):
    header, arrays = container.unpack(content)
    name = data.draw(st.sampled_from(sorted(arrays)))
    changed = arrays[name].copy()
    values = {"f": st.floats(), "b": st.booleans(), "u": st.integers(0, 255), "i": st.integers(-(2**31), 2**31 - 1)}
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, changed.size - 1))
        changed.flat[place] = data.draw(values[changed.dtype.kind])
    try:
        saved = load_bytes(container.pack(header, {**arrays, name: changed}), tmp_path / "m.bcart")
    except FormatError:
        return
    ask(saved)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[]", "not a JSON object"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b'{"arrays": NaN}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "does not list"),
        (b'{"arrays": [["x", "|O8", [1]]]}', "does not list"),
        (b'{"arrays": [["x", "<f8", [-1]]]}', "does not list"),
        (b'{"arrays": [["x", "<f8", [10000000000, 10000000000]]]}', "longer than the file"),
        (b'{"arrays": []}', "'leaf' is missing"),
    ],
)
def test_a_file_with_a_right_checksum_and_a_wrong_header_says_what_is_wrong(header, message, tmp_path):
    body = struct.pack("<8sIQ", container.SIGNATURE, container.VERSION, len(header)) + header
    with pytest.raises(FormatError, match=message):
        load_bytes(body + container.hashlib.sha256(body).digest(), tmp_path / "m.bcart")


def test_a_tree_that_crosses_itself_is_refused(content, tmp_path):
    """Nodes with two parents would print without end."""
    header, arrays = container.unpack(content)
    n_nodes = 81
    feature = np.where(np.arange(n_nodes) < n_nodes - 2, 0, -1).astype(np.int32)
    node = np.arange(n_nodes, dtype=np.int32)
    crossing = {
        "tree.feature": feature,
        "tree.left": np.where(feature < 0, -1, node + 1).astype(np.int32),
        "tree.right": np.where(feature < 0, -1, node + 2).astype(np.int32),
        "tree.threshold": np.zeros(n_nodes),
        "tree.category": np.full(n_nodes, -1, dtype=np.int32),
        "tree.missing_left": np.zeros(n_nodes, dtype=bool),
        "tree.saw_missing": np.zeros(n_nodes, dtype=bool),
        "tree.statistics": np.ones((n_nodes, 2)),
    }
    with pytest.raises(FormatError, match="preorder"):
        load_bytes(container.pack(header, {**arrays, **crossing}), tmp_path / "m.bcart")


def test_a_score_that_is_not_the_models_own_is_noticed(content, tmp_path):
    header, arrays = container.unpack(content)
    header["summary"]["log_score"] += 1.0
    with pytest.raises(FormatError, match="the model's score"):
        load_bytes(container.pack(header, arrays), tmp_path / "m.bcart").posterior()


# -- what cannot be saved, and what happens then ----------------------------------------------------------------------


def test_labels_that_json_cannot_say_are_refused(tmp_path):
    frame = pd.DataFrame({"when": [(1, 2), (3, 4)] * 4})
    model = bcart.BayesianTreeClassifier(categorical_features=["when"]).fit(frame, [0, 1] * 4)
    with pytest.raises(InvalidModelError, match=r"label \(1, 2\) .* cannot be written"):
        save_model(model, tmp_path / "m.bcart")
    with pytest.raises(InvalidModelError, match="cannot be written"):
        save_model(fitted("counts"), tmp_path / "m.bcart", about={"data": {1, 2}})
    odd = bcart.BayesianTreeClassifier().fit(X, np.where(LABELS == "low", "\udc80", "b"))
    with pytest.raises(InvalidModelError, match=r"cannot be written: .* surrogates not allowed; labels"):
        save_model(odd, tmp_path / "m.bcart")
    with pytest.raises(InvalidModelError, match="not int"):
        save_model(3, tmp_path / "m.bcart")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    save_model(fitted("counts"), tmp_path / "m.bcart")
    before = (tmp_path / "m.bcart").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(OSError, match="no space left"):
        save_model(fitted("text classes"), tmp_path / "m.bcart")
    assert (tmp_path / "m.bcart").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m.bcart"]


def test_the_header_is_plain_json_that_any_program_can_read(content):
    length = struct.unpack_from("<Q", content, 12)[0]
    header = json.loads(content[20 : 20 + length])
    assert header["bcart"] == bcart.__version__
    assert [feature["name"] for feature in header["features"]] == ["dose", "colour", "größe\n"]
    assert [name for name, _, _ in header["arrays"]][:2] == ["lowest", "highest"]
