"""Files are read as they are, whatever their names, sizes and faults."""

import gzip
import math
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bcart.errors import InvalidDataError
from bcart.files.source import Source
from bcart.files.sql import FixedPoint, count_cuts, identifier, literal
from bcart.limits import Limits

HOSTILE = ['"; DROP TABLE rows; --', "'", "a\"b'c", "[red]", "rowid", "r", "c0", "y", "w", "known", "file_row_number",
           "é", "日本", "x\\y", "SELECT", "a.b", "%s", "{}", "$1", "?"]  # fmt: skip

COMPRESSED = gzip.compress(b"a,b\n" + bytes(range(48, 123)) * 20 + b"\n", mtime=0)


def read(path, **settings):
    with Source(path, Limits(n_jobs=1), **settings) as source:
        source.load()
        return source.types, source.rows("SELECT * EXCLUDE r FROM rows ORDER BY r")


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_any_name_of_a_column_is_nothing_but_a_name(tmp_path, suffix):
    frame = pd.DataFrame({name: [place, place + 1] for place, name in enumerate(HOSTILE)})
    path = tmp_path / f"table{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    types, rows = read(path)
    assert list(types) == HOSTILE
    assert rows == [tuple(range(len(HOSTILE))), tuple(range(1, len(HOSTILE) + 1))]


@pytest.mark.parametrize(
    "name", ["it's.csv", "a[1].csv", "a*.csv", "what?.csv", '"x".csv', "x=1.csv", "no ending", "a;b.csv"]
)
def test_any_name_of_a_file_is_nothing_but_a_name(tmp_path, name):
    write(tmp_path / "a1.csv", "wrong\n1\n")  # which the pattern a[1].csv would find
    assert read(write(tmp_path / name, "right\n2\n")) == ({"right": "BIGINT"}, [(2,)])


def test_names_that_differ_in_case_alone_stay_apart(tmp_path):
    types, rows = read(write(tmp_path / "t.csv", "a,A\n1,2\n"))
    assert list(types) == ["a", "A"]
    assert rows == [(1, 2)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_and_quotes_are_respected(tmp_path, delimiter):
    content = f'"a{delimiter}b"{delimiter}c\n1{delimiter}"x{delimiter}""y""\nz"\n2{delimiter}#3\n'
    types, rows = read(write(tmp_path / "t.csv", content))
    assert list(types) == [f"a{delimiter}b", "c"]
    assert rows == [(1, f'x{delimiter}"y"\nz'), (2, "#3")]


def test_compressed_files_windows_line_ends_and_byte_order_marks_are_read(tmp_path):
    expected = {"a": "BIGINT", "b": "VARCHAR"}, [(1, "x"), (2, "y")]
    assert read(write(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n1,x\n2,y\n"))) == expected
    assert read(write(tmp_path / "named_wrongly.csv", gzip.compress(b"a,b\n1,x\n2,y\n"))) == expected
    assert read(write(tmp_path / "w.csv", "a,b\r\n1,x\r\n2,y\r\n")) == expected
    assert read(write(tmp_path / "bom.csv", "\ufeffa,b\n1,x\n2,y\n")) == expected


def test_names_may_be_long(tmp_path):
    names = ["a" * 70_000, "b" * 140_000, "c"]
    types, rows = read(write(tmp_path / "t.csv", ",".join(names) + "\n1,2,3\n"))
    assert (list(types), rows) == (names, [(1, 2, 3)])


def test_words_for_missing_values_are_missing_and_others_can_be_named(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,x\nNA,?\n,\nnan,-\n")
    assert read(path)[1] == [(1.0, "x"), (None, None), (None, None), (None, "-")]
    assert read(path, missing=["-", "", "nan", "NA"])[1] == [(1.0, "x"), (None, "?"), (None, None), (None, None)]


def test_yes_and_no_stay_as_they_are_written(tmp_path):
    assert read(write(tmp_path / "t.csv", "a,b\nyes,t\nno,f\n"))[1] == [("yes", "t"), ("no", "f")]


def test_a_row_far_behind_may_change_the_type_of_a_column(tmp_path):
    lines = ["a"] + ["1"] * 250_000 + ["2.5", "x"]
    types, rows = read(write(tmp_path / "t.csv", "\n".join(lines)))
    assert types == {"a": "VARCHAR"}
    assert rows[-2:] == [("2.5",), ("x",)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
        ("t.csv", b"a,b,c\n1,2,3\n1\n", "line 3"),
        ("t.csv", b'a,b\n"1,2\n3,4\n', "line 2"),
        ("t.csv", "a,b\n1,café\n".encode("latin-1"), "UTF-8"),
        ("t.csv", b"a,b\n" + b"1,x\n" * 300_000 + "1,é\n".encode("latin-1"), "line 300002"),
        ("t.csv", bytes(range(256)), "neither Parquet nor CSV"),
        ("t.csv", b'{"text": "' + b"x" * 200_000 + b'"}', "has no rows"),
        ("t.csv.gz", COMPRESSED[:12], "damaged or cut off"),
        ("t.csv.gz", COMPRESSED[:10] + b"\xff" * 8 + COMPRESSED[18:], "damaged or cut off"),
        ("t.csv.gz", b"\x1f\x8b and then nothing", "damaged or cut off"),
        ("t.parquet", b"PAR1 and then nothing", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(tmp_path, name, content, message):
    with pytest.raises(InvalidDataError) as error:
        read(write(tmp_path / name, content))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InvalidDataError, match="is a folder"):
        read(tmp_path)


def test_duckdb_stays_within_limits_and_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = write(tmp_path / "t.csv", "a\n1\n")
    with Source(path, Limits(max_memory="300MB", n_jobs=1)) as source:
        memory, threads, folder = source.row(
            "SELECT current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
        )
    assert (memory, threads) == ("286.1 MiB", 1)
    assert Path(folder).is_relative_to(tmp_path / "temporary")
    with pytest.raises(InvalidDataError), Source(path, Limits()) as source:
        source.do("SELECT nothing")
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_interrupted_question_ends_at_once(tmp_path, monkeypatch):
    """Ctrl-C comes while the answer is awaited."""
    with Source(write(tmp_path / "t.csv", "a\n1\n"), Limits(n_jobs=1)) as source:
        submit = source._thread.submit

        def interrupted(question):
            answer = submit(question)
            monkeypatch.setattr(answer, "result", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
            return answer

        monkeypatch.setattr(source._thread, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            source.rows("SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 3")


def test_exact_sums_do_not_depend_on_the_order_and_round_only_once(tmp_path):
    random = np.random.default_rng(0)
    numbers = random.normal(size=2000) * 10.0 ** random.integers(-12, 4, 2000)
    sums = set()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(numbers))
        path = write(tmp_path / "t.csv", "a\n" + "\n".join(map(repr, numbers[order].tolist())))
        for n_jobs in (1, 3):
            with Source(path, Limits(n_jobs=n_jobs)) as source:
                source.load()
                sums.add(
                    source.row(f"SELECT {FixedPoint.of(np.abs(numbers).max(), len(numbers)).sum('c0')} FROM rows")[0]
                )
    assert len(sums) == 1
    assert sums.pop() == pytest.approx(math.fsum(numbers), rel=1e-15)


def test_values_and_searches_in_sql_are_exact(tmp_path):
    values = [0.1, 1e-320, -1.7976931348623157e308, 1 / 3, "it's", "a\0b", "line\nbreak", True, 2**63 - 1]
    cuts = np.sort(np.random.default_rng(0).normal(size=200)).tolist()
    with Source(write(tmp_path / "t.csv", "a\n1\n"), Limits(n_jobs=1)) as source:
        assert list(source.row("SELECT " + ", ".join(map(literal, values)))) == values
        assert source.row(f"SELECT 1 AS {identifier('a' + chr(34) + 'b')}") == (1,)
        for x in (-9.0, cuts[0], cuts[57], np.nextafter(cuts[57], -1), 0.0, 9.0):
            found = source.row(f"SELECT {count_cuts(literal(float(x)), cuts)}")[0]
            assert found == np.searchsorted(cuts, x, side="right")
