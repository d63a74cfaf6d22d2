"""The arrows of ARCHITECTURE.md: what may know of what, read off the imports and includes."""

import ast
import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "bcart"

# From the bottom up. A module may import its own level and those below it, but nothing above.
LEVELS = (
    {"errors", "cached", "deadline", "writing", "colours"},
    {"parse", "memory"},
    {"tables"},
    {"limits", "questions"},
    {"_core"},
    {"grid", "cells"},
    {"listing", "split_tests"},
    {"reach"},
    {"census"},
    {"probes"},
    {"cost"},
    {"leaves", "priors", "graph"},
    {"answers", "routing", "mixtures", "grammar", "tree"},
    {"rows", "derivations", "parts"},
    {"posterior"},
    {"export", "storage", "overview"},
    {"estimators"},
    {"datasets"},
    {"__init__"},
    {"plotting", "files"},
    {"reproduce"},
    {"cli", "demo"},
)
# Methods that are doors to a room above: they open it only when they are called.
DOORS = {"tree": "export", "posterior": "export"}
# The oracle has to be able to disagree with the library, so it shares next to nothing with it.
ORACLE_MAY_IMPORT = {"tree", "errors"}
NOT_THE_ORACLE = {"testing", "testing.strategies", "testing.both"}
# Whole packages that only some may know of; a folder stands for all of its files.
KNOWN_TO = {
    "sklearn": {"estimators", "export", "reproduce"},
    "narwhals": {"tables"},
    "nltk": {"grammar"},
    "joblib": {"reproduce"},
    "duckdb": {"files"},
    "typer": {"cli"},
    "rich": {"cli"},
    "matplotlib": {"plotting", "reproduce"},
}
STANDS_ALONE = {"errors", "cached", "deadline", "writing", "colours"}
TOP = {"demo", "cli"}


def module_name(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def resolve(name):
    """The module of the package that a dotted name within it belongs to: the longest prefix that is one."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        candidate = ".".join(parts[:n])
        if candidate in SOURCES or candidate == "_core":
            return candidate
    return "__init__"


def imported_modules(source, name):
    """The modules of bcart that a source imports, wherever in the file and in whatever style."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ["bcart", *name.split(".")][: -node.level] if node.level else []
            origin = ".".join([*package, *([node.module] if node.module else [])])
            names = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {resolve(name.removeprefix("bcart").lstrip(".")) for name in names if name.split(".")[0] == "bcart"}
    return found - {name}


def level_of(name):
    """How high a module stands; a folder stands as one."""
    folder = name.split(".")[0]
    return next((height for height, modules in enumerate(LEVELS) if folder in modules), None)


def is_of_the_oracle(name):
    return name.split(".")[0] == "testing" and name not in NOT_THE_ORACLE


def upward_arrows(source, name):
    imports = imported_modules(source, name)
    if is_of_the_oracle(name):
        return {module for module in imports - ORACLE_MAY_IMPORT if not is_of_the_oracle(module)}
    if name in STANDS_ALONE:
        return imports
    if name.startswith("testing"):
        return imports & TOP
    above = {module for module in imports if level_of(module) is None or level_of(module) > level_of(name)}
    return {module for module in above if module.split(".")[0] != DOORS.get(name) or module in at_once(source, name)}


def at_once(source, name):
    """The modules that a source imports as soon as it is imported itself."""
    body = [node for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return imported_modules(ast.unparse(ast.Module(body, [])), name)


@pytest.mark.parametrize("name", SOURCES)
def test_no_module_imports_one_above_it(name):
    assert level_of(name) is not None or name.startswith("testing"), "give it a level, here and in ARCHITECTURE.md"
    assert upward_arrows(SOURCES[name].read_text(), name) == set()


def test_limits_know_of_nothing_but_errors_memory_and_how_to_read_numbers():
    assert imported_modules(SOURCES["limits"].read_text(), "limits") <= {"errors", "memory", "parse"}


def packages(source):
    """The first names of everything that a source imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", KNOWN_TO)
def test_a_package_is_known_only_where_its_conventions_live(package):
    knowing = {name.split(".")[0] for name, path in SOURCES.items() if package in packages(path.read_text())}
    assert knowing == KNOWN_TO[package]


def test_data_frames_are_known_through_narwhals_alone():
    frames = {"pandas", "polars", "pyarrow"}
    assert [name for name, path in SOURCES.items() if packages(path.read_text()) & frames] == []


def test_nothing_but_tests_imports_the_oracle():
    importing = {
        name: imported_modules(path.read_text(), name)
        for name, path in SOURCES.items()
        if name.split(".")[0] != "testing"
    }
    assert [name for name, modules in importing.items() if any(m.split(".")[0] == "testing" for m in modules)] == []


@pytest.mark.parametrize(
    ("name", "source", "arrows"),
    [
        ("grid", "from bcart.posterior import Posterior", {"posterior"}),
        ("grid", "def f():\n    from .posterior import Posterior", {"posterior"}),
        ("tree", "from bcart.export import write_c", {"export"}),
        ("tree", "def to_c():\n    from bcart.export import write_c", set()),
        ("cells", "from . import tree", {"tree"}),
        ("limits", "import bcart.grid", {"grid"}),
        ("errors", "from bcart import limits", {"limits"}),
        ("leaves", "import bcart", {"__init__"}),
        ("posterior", "from bcart.testing import enumerate_posterior", {"testing"}),
        ("datasets.loader", "from .. import demo", {"demo"}),
        ("posterior", "from bcart.graph import Graph", set()),
        ("tables", "from bcart.grid import Grid", {"grid"}),
        ("rows", "from bcart.posterior import Posterior", {"posterior"}),
        ("leaves.normal", "from bcart.mixtures import Mixtures", {"mixtures"}),
        ("estimators.base", "from bcart.posterior import Posterior", set()),
        ("testing.enumeration", "from bcart import _core", {"_core"}),
        ("testing.enumeration", "from ..grid import Grid", {"grid"}),
        ("testing.enumeration", "from bcart.tree import Tree", set()),
        ("testing.answers", "from bcart.mixtures import Mixtures", {"mixtures"}),
        ("testing.leaves", "from bcart.leaves import NormalLeaf", {"leaves"}),
        ("testing.answers", "from bcart.testing.mixtures import quantile", set()),
        ("testing.answers", "from bcart.testing.strategies import problems", {"testing.strategies"}),
        ("testing.answers", "from bcart.testing.both import compute", {"testing.both"}),
    ],
)
def test_an_upward_arrow_would_be_seen(name, source, arrows):
    assert upward_arrows(source, name) == arrows


def includes(folder):
    for path in sorted((REPOSITORY / folder).rglob("*.[ch]pp")):
        for include in re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", path.read_text(), re.M):
            yield path.name, include


def is_of_python(include):
    return include == "Python.h" or include.split("/")[0] in ("nanobind", "pybind11", "numpy", "bindings.hpp")


def test_the_engine_never_heard_of_python():
    assert [(name, include) for name, include in includes("cpp") if is_of_python(include)] == []


def test_the_bindings_are_where_the_languages_meet():
    assert any(is_of_python(include) for _, include in includes("bindings"))


# The engine from the bottom up, as includes of headers.
ENGINE = (
    {
        "memory",
        "cells",
        "cuts",
        "fingerprint",
        "workers",
        "random",
        "gamma",
        "exponential",
        "registry",
        "prior",
        "unroll",
        "relax",
    },
    {"array", "test_numbers", "cut_counts", "leaf", "row_cuts", "addition"},
    {"table", "numbering", "code_sums", "split_rules", "splits", "encode", "group", "key_set"},
    {"graph", "batch", "weigh", "add_up"},
    {"layers"},
    {"build", "fold_choice", "byte_counts", "depths", "queries", "fold", "tallies"},
    {"twigs", "grammar"},
    {"sweep", "unfold", "pass"},
    {"derive", "respond", "walk"},
)


def test_every_header_of_the_engine_has_a_level():
    headers = {path.stem for path in (REPOSITORY / "cpp/include").rglob("*.hpp")}
    assert headers == set().union(*ENGINE)


def test_the_engine_has_no_upward_arrow():
    height_of = {header: height for height, headers in enumerate(ENGINE) for header in headers}
    upward = [
        (name, include)
        for name, include in includes("cpp/include")
        if include.startswith("bcart/") and height_of[Path(include).stem] > height_of[Path(name).stem]
    ]
    assert upward == []
