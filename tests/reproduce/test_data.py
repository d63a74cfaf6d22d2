"""Datasets are what they should be, or are left out with a line that says how to get them."""

import time
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from bcart import InvalidDataError, InvalidModelError
from bcart.datasets import make_hidden_xor
from bcart.reproduce import data, fetch
from bcart.reproduce.binning import before_folds, within_fold
from bcart.reproduce.data import CAESARIAN, VERTEBRAL, load_problems


@pytest.fixture(autouse=True)
def no_folder_and_no_network(monkeypatch):
    monkeypatch.delenv("BCART_DATA", raising=False)

    def fail(**arguments):
        raise URLError("no route to host")

    monkeypatch.setattr(fetch, "fetch_openml", fail)


def table_like(expected, counts, labels):
    """Numbers with the right ranges, and labels with the right counts, in blocks."""
    rng = np.random.default_rng(0)
    X = rng.uniform(expected.lowest, expected.highest, (expected.n_rows, len(expected.lowest)))
    X[0], X[-1] = expected.lowest, expected.highest
    return X, np.repeat(labels, counts)


def write_csv(path, X, labels):
    names = ",".join([*(f"x{i}" for i in range(X.shape[1])), "target"])
    lines = [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), labels.tolist(), strict=True)]
    path.write_text("\n".join([names, *lines]) + "\n")


def load(names, folder=None):
    return load_problems(names, folder, n_xor_rows=20, n_trials=2)


# -- a folder ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["", "paper"])
def test_tables_are_read_from_a_folder(tmp_path, inner):
    (tmp_path / inner).mkdir(exist_ok=True)
    X, labels = table_like(CAESARIAN, [34, 46], ["no", "yes"])
    write_csv(tmp_path / inner / "caesarian.csv", X, labels)
    problems, left_out = load(["caesarian"], tmp_path)
    assert left_out == []
    read, y = problems[0].rows(0)
    assert (read == X).all()
    assert (y == (labels == "yes")).all()


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    write_csv(tmp_path / "caesarian.csv", *table_like(CAESARIAN, [34, 46], [0, 1]))
    monkeypatch.setenv("BCART_DATA", str(tmp_path))
    assert [problem.name for problem in load(["caesarian"])[0]] == ["caesarian"]


def test_a_file_with_other_counts_is_refused_and_not_replaced(tmp_path):
    write_csv(tmp_path / "caesarian.csv", *table_like(CAESARIAN, [35, 45], [0, 1]))
    problems, left_out = load(["caesarian"], tmp_path)
    assert problems == []
    assert "is refused: it has 80 rows, 5 features and class counts (35, 45), expected" in left_out[0]
    assert str(tmp_path / "caesarian.csv") in left_out[0]


def test_a_file_with_scrambled_numbers_is_refused(tmp_path):
    X, labels = table_like(CAESARIAN, [34, 46], [0, 1])
    X[:, 0] -= 17  # ages as numbers of categories
    write_csv(tmp_path / "caesarian.csv", X, labels)
    assert "its features reach from" in load(["caesarian"], tmp_path)[1][0]


@pytest.mark.parametrize("text", ["", "a,target\n", "a,target\nold,1\n", "a,target\n1,2\n3\n"])
def test_a_file_that_is_no_table_is_refused(tmp_path, text):
    (tmp_path / "vertebral.csv").write_text(text)
    problems, left_out = load(["vertebral"], tmp_path)
    assert problems == []
    assert left_out[0].startswith("Vertebral Column is left out: ")


# -- the three classes of Vertebral ------------------------------------------------------------------------------------


def test_three_classes_are_told_by_the_order_of_rows_where_the_file_has_two(tmp_path):
    write_csv(tmp_path / "vertebral.csv", *table_like(VERTEBRAL, [210, 100], ["Abnormal", "Normal"]))
    two, three = load(["vertebral"], tmp_path)[0]
    assert np.bincount(two.rows(0)[1]).tolist() == [210, 100]
    assert (three.rows(0)[1] == np.repeat([0, 2, 1], [60, 150, 100])).all()


def test_three_classes_are_left_out_where_the_order_of_rows_is_another(tmp_path):
    write_csv(tmp_path / "vertebral.csv", *table_like(VERTEBRAL, [100, 210], ["Normal", "Abnormal"]))
    assert [problem.name for problem in load(["vertebral"], tmp_path)[0]] == ["vertebral"]


def test_two_classes_are_made_of_three(tmp_path):
    X, labels = table_like(VERTEBRAL, [100, 60, 150], ["c", "a", "b"])
    write_csv(tmp_path / "vertebral.csv", X, labels)
    two, three = load(["vertebral"], tmp_path)[0]
    assert ((two.rows(0)[1] == 1) == (labels == "c")).all()
    assert (three.rows(0)[1] == np.repeat([1, 0, 2], [100, 60, 150])).all()


# -- OpenML ------------------------------------------------------------------------------------------------------------


def test_what_is_in_no_folder_is_fetched(monkeypatch):
    X, labels = table_like(VERTEBRAL, [60, 150, 100], ["1", "2", "3"])
    asked = []

    def answer(**arguments):
        asked.append(arguments["data_id"])
        return Bunch(data=X, target=labels.astype(object), categories={}, feature_names=list("abcdef"))

    monkeypatch.setattr(fetch, "fetch_openml", answer)
    problems, left_out = load(["vertebral"])
    assert (asked, left_out) == ([VERTEBRAL.openml], [])
    assert (problems[0].rows(0)[0] == X).all()


def test_numbers_that_openml_holds_as_categories_become_numbers_again(monkeypatch):
    X, labels = table_like(CAESARIAN, [34, 46], ["0", "1"])
    ages = ["40", "17", "22"]  # in the order in which the file declares them
    codes = np.random.default_rng(1).integers(0, 3, len(X))
    X[:, 0] = codes
    bunch = Bunch(data=X, target=labels, categories={"age": ages}, feature_names=["age", *"abcd"])
    monkeypatch.setattr(fetch, "fetch_openml", lambda **arguments: bunch)
    problems, left_out = load(["caesarian"])
    assert left_out == []
    assert (problems[0].rows(0)[0][:, 0] == np.array([40, 17, 22])[codes]).all()


def test_a_column_of_words_is_refused(monkeypatch):
    X, labels = table_like(CAESARIAN, [34, 46], ["0", "1"])
    bunch = Bunch(data=X, target=labels, categories={"age": ["old", "young"]}, feature_names=["age", *"abcd"])
    monkeypatch.setattr(fetch, "fetch_openml", lambda **arguments: bunch)
    assert "its column 'age' holds labels such as 'old', not numbers" in load(["caesarian"])[1][0]


def test_another_table_from_openml_is_refused(monkeypatch):
    bunch = Bunch(data=np.zeros((310, 6)), target=np.repeat(["a", "b"], 155), categories=None, feature_names=[])
    monkeypatch.setattr(fetch, "fetch_openml", lambda **arguments: bunch)
    problems, left_out = load(["vertebral"])
    assert problems == []
    assert "OpenML's table 1523 is refused: it has 310 rows, 6 features and class counts (155, 155)" in left_out[0]


def test_without_a_network_the_row_is_left_out_and_the_line_says_how_to_get_it():
    problems, left_out = load(None)
    assert [problem.name for problem in problems] == ["iris", "haberman", "xor"]
    assert len(left_out) == 2
    assert "OpenML did not send its table 42901 (URLError: <urlopen error no route to host>)" in left_out[0]
    assert all("--data or BCART_DATA" in line for line in left_out)


def test_a_network_that_does_not_answer_does_not_hold_us_up(monkeypatch):
    monkeypatch.setattr(fetch, "fetch_openml", lambda **arguments: time.sleep(5))
    start = time.monotonic()
    with pytest.raises(InvalidDataError, match=r"within 0.2 s"):
        fetch.fetch_table(1523, seconds=0.2)
    assert time.monotonic() - start < 2


def test_the_classes_of_haberman_are_in_the_order_of_the_original():
    y = load(["haberman"])[0][0].rows(0)[1]
    assert np.bincount(y).tolist() == [225, 81]  # survived, died


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_hidden_xor_has_other_rows_in_each_trial_and_the_same_in_each_run():
    (first,), (again,) = (load(["xor"])[0] for _ in range(2))
    assert (first.rows(0)[0] == again.rows(0)[0]).all()
    assert (first.rows(0)[0] != first.rows(1)[0]).any()
    assert first.binnings == ("none",)
    assert first.has_ours("none")


def test_the_label_of_hidden_xor_is_the_parity_of_four_coins():
    xor = make_hidden_xor(500, random_state=3)
    assert xor.data.shape == (500, 20)
    assert (xor.target == xor.data[:, :4].sum(axis=1) % 2).all()
    assert set(np.unique(xor.data)) == {0.0, 1.0}
    with pytest.raises(InvalidModelError, match="n_features=3"):
        make_hidden_xor(5, n_features=3)


def test_an_unknown_dataset_is_refused():
    with pytest.raises(InvalidModelError, match="must be some of iris, caesarian, haberman, vertebral, xor"):
        load(["titanic"])


def test_edges_make_as_many_values_and_leave_few_alone():
    X = np.column_stack([np.linspace(-3, 5, 50), np.arange(50) % 4])
    cut = before_folds(X, "edges", max_bins=5)
    assert np.unique(cut[:, 0]).tolist() == [1, 2, 3, 4, 5]
    assert (cut[:, 0] == 5).sum() == 1
    assert (cut[:, 1] == X[:, 1]).all()


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_bins_of_a_fold_are_made_from_the_rows_to_learn_from(binning):
    train, test = np.arange(20.0)[:, None], np.array([[-50.0], [7.0], [1000.0]])
    seen, new = within_fold(train, test, binning, max_bins=4)
    assert np.bincount(seen[:, 0].astype(int)).tolist() == [5, 5, 5, 5]
    assert new.ravel().tolist() == [0, 1, 3]


def test_the_checked_sizes_are_those_of_the_names():
    assert data.NAMES == ("iris", "caesarian", "haberman", "vertebral", "xor")
    assert all(sum(counts) == e.n_rows for e in (CAESARIAN, VERTEBRAL) for counts in e.class_counts)
