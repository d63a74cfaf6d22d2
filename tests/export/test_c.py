"""Trees as C, compiled and called."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import bcart
from bcart import InvalidModelError, Tree
from bcart.datasets import load_haberman
from bcart.tables import as_numbers
from bcart.testing.trees import random_rows, random_tree

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="needs gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wdouble-promotion"]
# Up to 16 leaves questions are nested, beyond they are tables; beyond 128 these need wider numbers.
SIZES = [1, 2, 3, 5, 8, 13, 16, 17, 30, 128, 129, 130, 300]
KINDS = {
    "below": ["below"],
    "label": ["label"],
    "missing": ["missing"],
    "numbers": ["below", "missing"],
    "all": ["below", "label", "missing"],
}
TYPES = {"double": (ctypes.c_double, np.float64), "float": (ctypes.c_float, np.float32)}


def compile_c(sources, folder, *options):
    """One library of all sources."""
    path = folder / "trees.c"
    path.write_text("\n".join(sources), encoding="utf-8")
    command = [GCC, *STRICT, *options, "-shared", "-fPIC", path, "-o", folder / "trees.so"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(folder / "trees.so"))


def call(function, rows, dtype, n_results=0):
    """Answers of a C function for each row: numbers that it returns, or writes."""
    c_type, np_type = TYPES[dtype]
    answers = []
    for row in np.ascontiguousarray(rows, dtype=np_type):
        x = row.ctypes.data_as(ctypes.POINTER(c_type))
        p = (c_type * n_results)()
        answers.append(list(p) if n_results and function(x, p) is None else function(x))
    return answers


def probe(tree, rng, dtype):
    """Rows near the thresholds as the tree takes them, and as numbers for C."""
    rows = random_rows(rng, tree, 60, precision=TYPES[dtype][1])
    return rows, np.column_stack(as_numbers(rows, tree.feature_names, tree.categories))


@needs_gcc
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("optimised", ["-O0", "-Os"])
def test_the_c_function_answers_as_the_tree_does(dtype, optimised, tmp_path):
    rng = np.random.default_rng(0)
    trees = {f"{kind}_{size}": random_tree(rng, size, kinds=kinds) for kind, kinds in KINDS.items() for size in SIZES}
    library = compile_c([tree.to_c(name, dtype) for name, tree in trees.items()], tmp_path, optimised)
    for name, tree in trees.items():
        rows, numbers = probe(tree, rng, dtype)
        answers = call(getattr(library, name), numbers, dtype)
        assert tree.classes[answers].tolist() == tree.predict(rows).tolist(), name
        function = getattr(library, f"{name}_proba")
        function.restype = None
        chances = np.array(call(function, numbers, dtype, n_results=3))
        assert (chances == tree.predict_proba(rows).astype(TYPES[dtype][1])).all(), name


@needs_gcc
@pytest.mark.parametrize("dtype", TYPES)
def test_the_c_function_expects_what_a_regression_tree_does(dtype, tmp_path):
    rng = np.random.default_rng(1)
    trees = {f"f{size}": random_tree(rng, size, classes=None) for size in SIZES}
    library = compile_c([tree.to_c(name, dtype) for name, tree in trees.items()], tmp_path)
    for name, tree in trees.items():
        rows, numbers = probe(tree, rng, dtype)
        function = getattr(library, name)
        function.restype = TYPES[dtype][0]
        assert call(function, numbers, dtype) == tree.predict(rows).astype(TYPES[dtype][1]).tolist()


@needs_gcc
def test_names_of_any_kind_stay_within_the_comment(tmp_path):
    hostile = ["*/ int evil; /*", "/* open", "a\nint evil;", "??/", "???/", "\\", "“Größe”", "*", "/", "\u202e", "\0"]
    names = tuple(hostile) + tuple(f"{name}{other}" for name in hostile for other in hostile)
    n = len(names)
    tree = Tree([-1], [np.nan], [-1], [-1], np.ones((1, n)), np.full((1, n), 1 / n), names, names, [names] * n)
    source = tree.to_c()
    library = compile_c([source], tmp_path)
    assert call(library.predict, np.zeros((1, n)), "double") == [0]
    assert not hasattr(library, "evil")
    assert "“Größe”" in source


@pytest.mark.parametrize("name", ["", "2go", "a-b", "int", "while", "main", "f(x)", "größe", "a b", "a\n", None, 7])
def test_names_that_c_does_not_allow_are_refused(name):
    with pytest.raises(InvalidModelError, match="must be a name that C allows"):
        random_tree(np.random.default_rng(0), 2).to_c(name)


def test_other_types_are_refused():
    with pytest.raises(InvalidModelError, match="dtype='int' must be 'double' or 'float'"):
        random_tree(np.random.default_rng(0), 2).to_c(dtype="int")


@pytest.mark.parametrize(("threshold", "target"), [(1e39, 1.0), (1.0, 1e39), (1.0, np.nan)])
def test_numbers_that_a_float_cannot_hold_are_refused(threshold, target):
    nothing = [np.nan, np.nan]
    parts = [0, -1, -1], [threshold, *nothing], [1, -1, -1], [2, -1, -1], np.zeros((3, 1)), [[0], [target], [0]]
    with pytest.raises(InvalidModelError, match=r"cannot be written as a float of C; use dtype='double'"):
        Tree(*parts, ("x",)).to_c(dtype="float")


def test_the_comment_says_what_goes_in_and_what_comes_out():
    source = random_tree(np.random.default_rng(0), 4).to_c("triage")
    comment = source.split("*/")[0]
    for said in (
        "int triage(const double *x);",
        "void triage_proba(const double *x, double *p);",
        "x[1]  dose (mg)\n",
        "x[3]  ward, by number:\n *         0  east\n *         1  it's\n",
        "Classes:\n *     0  ill\n *     1  so-so\n *     2  well\n",
        "NaN is a missing value",
    ):
        assert said in comment


def test_nothing_is_included():
    assert "#" not in random_tree(np.random.default_rng(0), 40).to_c()


def size_of(source, folder, *options):
    """Bytes of code and constants of the compiled functions."""
    (folder / "tree.c").write_text(source)
    compiler = [GCC, *STRICT, "-Os", "-fno-asynchronous-unwind-tables", *options]
    subprocess.run([*compiler, "-c", folder / "tree.c", "-o", folder / "tree.o"], check=True)
    listed = subprocess.run(["size", folder / "tree.o"], check=True, capture_output=True, text=True).stdout
    text, data, bss = re.findall(r"^\s*(\d+)\s+(\d+)\s+(\d+)", listed, re.M)[0]
    assert (data, bss) == ("0", "0"), "nothing that can be written to"
    return int(text)


@needs_gcc
@pytest.mark.skipif(shutil.which("size") is None, reason="needs size")
def test_the_functions_are_small(tmp_path, record_property):
    """Sizes on this machine; the bounds leave room for other compilers."""
    haberman = load_haberman()
    X, y = haberman.data, haberman.target
    trees = {
        "Haberman": bcart.BayesianTreeClassifier(max_depth=2).fit(X, y).tree_,
        "Haberman, deeper": bcart.BayesianTreeClassifier(log_phi=1.0).fit(X, y).tree_,
        **{f"random {n}": random_tree(np.random.default_rng(n), n) for n in (10, 40, 200)},
    }
    for (name, tree), most in zip(trees.items(), (400, 700, 1000, 2500, 10_000), strict=True):
        sizes = {dtype: size_of(tree.to_c(dtype=dtype), tmp_path) for dtype in TYPES}
        record_property(f"bytes of {name}", sizes)
        print(f"{name}: {tree.n_leaves} leaves, {sizes} bytes")
        assert sizes["float"] < sizes["double"] < most
