"""How the command ends: with exit codes and one sentence, and with nothing half-written."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bcart as library

ENVIRONMENT = {**os.environ, "COLUMNS": "100"}
OK, USAGE, BUDGET, INTERRUPTED = 0, 2, 3, 130


def start(*arguments, **settings):
    """Start the command in a process of its own."""
    command = [sys.executable, "-m", "bcart.cli", *map(str, arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": ENVIRONMENT, "text": True, **settings}
    return subprocess.Popen(command, **streams)


def end(process, timeout=60):
    out, err = process.communicate(timeout=timeout)
    assert "Traceback" not in err
    return process.returncode, out, err


def is_one_sentence(err):
    return err.startswith("bcart: ") and err.count("\n") == 1 and err.endswith("\n")


@pytest.fixture
def big(tmp_path):
    """A table whose fit takes minutes."""
    X = np.random.default_rng(0).integers(0, 2, (1000, 24))
    path = tmp_path / "big.csv"
    pd.DataFrame(X).add_prefix("x").assign(y=X[:, 0] ^ X[:, 1]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["fit"], "Missing argument 'FILE'"),
        (["fit", "t.csv"], "Missing option '--target'"),
        (["fit", "t.csv", "--target", "y", "--fast"], "No such option: --fast"),
        (["fit", "t.csv", "--target", "y", "--max-bins", "many"], "Invalid value for '--max-bins'"),
        (["fit", "t.csv", "--target", "y", "--task", "guess"], "'guess' is not one of"),
        (["fit", "t.csv", "--target", "z"], "t.csv has no column 'z'; its columns are 'x', 'y'"),
        (["fit", "t.csv", "--target", "y", "--max-bins", "1"], "--max-bins 1 must be a whole number from 2 to 255"),
        (["fit", "t.csv", "--target", "y", "--max-memory", "much"], "--max-memory 'much' is not a number of bytes"),
        (["fit", "t.csv", "--target", "y", "--drop", "x"], "no column is left to predict 'y' from"),
        (["fit", "t.csv", "--target", "y", "-o", "nowhere/m.bcart"], "No such file or directory"),
        (["fit", "none.csv", "--target", "y"], "none.csv: No such file or directory"),
        (["fit", ".", "--target", "y"], "is a folder"),
        (["show", "t.csv"], "t.csv cannot be read as a model"),
        (["predict", "none.bcart", "t.csv"], "none.bcart: No such file or directory"),
        (["plot", "none.bcart"], "none.bcart: No such file or directory"),
        (["export", "none.bcart", "--to", "french"], "'french' is not one of"),
    ],
)
def test_wrong_usage_and_wrong_input_exit_with_2_and_one_sentence(bcart, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n" + "1,0\n2,1\n" * 10)
    code, _, err = bcart(*arguments)
    assert code == USAGE
    assert is_one_sentence(err)
    assert says in err
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_column_that_is_not_there_or_wrong_is_named(bcart, model, tmp_path):
    (tmp_path / "rows.csv").write_text("age,year\n1,2\n")
    code, _, err = bcart("predict", model, tmp_path / "rows.csv", "--predictor", "map")
    assert (code, "no column 'nodes', which the model needs" in err) == (USAGE, True)
    (tmp_path / "rows.csv").write_text("age,year,nodes\n1,2,3\n1,2,many\n")
    code, _, err = bcart("predict", model, tmp_path / "rows.csv", "--predictor", "map")
    assert (code, "column 'nodes' contains 'many' (row 2), which is no number" in err) == (USAGE, True)
    assert bcart("predict", model, tmp_path / "rows.csv", "--predictor", "map", "--missing", "many").code == OK


@pytest.mark.parametrize("options", [["--max-memory", "1kB"], ["--time-limit", "1e-9"]])
def test_a_budget_that_is_too_small_exits_with_3(bcart, haberman, tmp_path, options):
    code, _, err = bcart("fit", haberman, "-t", "outcome", "-o", tmp_path / "m.bcart", *options)
    assert code == BUDGET
    assert is_one_sentence(err)
    assert options[0] in err
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_needs_more_memory_than_allowed_exits_with_3(bcart, model, haberman):
    code, out, err = bcart("predict", model, haberman, "--max-memory", "2MB")
    assert (code, out) == (BUDGET, "")
    assert err == "bcart: listing all trees of the model takes more than --max-memory 2.0 MB; raise --max-memory\n"


def test_an_experiment_without_room_names_options_that_there_are(bcart, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["bcart.reproduce.reproduction"], "free_memory", lambda: 10**9)
    code, _, err = bcart("reproduce", "--dataset", "xor", "-o", tmp_path / "out")
    assert code == BUDGET
    assert is_one_sentence(err)
    named = re.findall(r"--[a-z-]+", err)
    assert named == ["--dataset", "--quick"]
    assert set(named) <= set(re.findall(r"--[a-z-]+", bcart("reproduce", "--help").out))


def test_a_damaged_model_is_refused(bcart, model, haberman, tmp_path):
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "m.bcart").write_bytes(content)
    for arguments in (["show"], ["sample"], ["export", "--to", "c"], ["plot"]):
        code, out, err = bcart(arguments[0], tmp_path / "m.bcart", *arguments[1:])
        assert (code, out, is_one_sentence(err)) == (USAGE, "", True)
    assert bcart("predict", tmp_path / "m.bcart", haberman).code == USAGE


def test_a_bug_is_reported_without_a_traceback_unless_asked_for(haberman, tmp_path):
    """A broken installation stands for a bug."""
    broken = "import sys, bcart.storage.model as m; from bcart.cli.outcome import run; m.unpack = None; sys.exit(run())"
    (tmp_path / "m.bcart").write_bytes(b"x")
    for debug in ("", "1"):
        command = [sys.executable, "-c", broken, "show", str(tmp_path / "m.bcart")]
        done = subprocess.run(command, capture_output=True, text=True, env={**ENVIRONMENT, "BCART_DEBUG": debug})
        assert done.returncode == 1
        assert ("Traceback" in done.stderr) == bool(debug)
        assert "bcart: this should not have happened: TypeError" in done.stderr


def test_ctrl_c_exits_with_130_and_leaves_nothing_behind(big, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**ENVIRONMENT, "TMPDIR": str(temporary)}
    output = tmp_path / "m.bcart"
    output.write_text("before")
    process = start(
        "fit", big, "-t", "y", "--max-memory", "20GB", "-o", output, env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout.readline().startswith("Data")  # it has begun
    time.sleep(2)
    since = time.monotonic()
    process.send_signal(signal.SIGINT)
    code, _, err = end(process)
    assert time.monotonic() - since < 10
    assert (code, err) == (INTERRUPTED, "bcart: interrupted\n")
    assert output.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.csv", "m.bcart", "temporary"]
    assert list(temporary.iterdir()) == []


def test_a_terminated_process_leaves_nothing_behind(big, tmp_path):
    environment = {**ENVIRONMENT, "TMPDIR": str(tmp_path)}
    process = start("fit", big, "-t", "y", "--max-memory", "20GB", "-o", tmp_path / "m.bcart", env=environment)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 143
    assert [path.name for path in tmp_path.iterdir()] == ["big.csv"]


def test_a_reader_that_has_had_enough_is_no_error(model):
    with start("sample", model, "-n", "2000") as process:
        assert process.stdout.readline().startswith("Tree")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == OK


def test_a_terminal_without_unicode_still_gets_an_answer(model):
    code, out, err = end(start("show", model, env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"}))
    assert (code, err) == (OK, "")
    assert "nodes < 10.5" in out


def test_a_missing_package_is_named_with_the_extra_that_has_it(tmp_path):
    (tmp_path / "duckdb.py").write_text("raise ModuleNotFoundError(\"No module named 'duckdb'\", name='duckdb')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    code, out, err = end(start("--help", env={**ENVIRONMENT, "PYTHONPATH": path}))
    assert (code, out) == (USAGE, "")
    assert err == 'bcart: the command line needs duckdb; install it by pip install "bcart[cli]"\n'


def test_output_goes_to_devices_as_it_is(bcart, model, haberman):
    assert bcart("export", model, "--to", "text", "-o", "/dev/null").code == OK
    assert bcart("fit", haberman, "-t", "outcome", "--max-bins", 3, "-o", "/dev/null").code == OK
    assert not Path("/dev/null").is_file()


def test_the_library_itself_needs_none_of_the_packages_of_the_command():
    program = "import sys, bcart; print([name for name in ('typer', 'duckdb', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == "[]\n"
    assert library.__version__


@pytest.mark.parametrize("place", ["nowhere/out.bcart", "."])
def test_a_place_that_cannot_be_written_is_told_before_the_work(bcart, haberman, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    code, out, err = bcart("fit", haberman, "-t", "outcome", "-o", place)
    assert (code, out) == (USAGE, "")
    assert is_one_sentence(err)
