"""How Sphinx builds these pages: ``make docs``. Nothing is fetched from anywhere."""

from __future__ import annotations

import sys
from importlib.metadata import version as _version
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "bcart"
author = "The bcart developers"
project_copyright = author
release = version = _version("bcart")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
    "shell",  # commands that are run, see _extensions
]
html_theme = "furo"
html_title = f"bcart {release}"
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"

plot_include_source = True  # pictures are made by the code that is shown above them
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 130)]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what goes in and what comes out
autodoc_inherit_docstrings = False
autoclass_content = "class"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # as parameters are shown, without links to half words
default_role = "py:obj"  # `Posterior` in a docstring is a link if there is such a thing, else code


def link_or_code(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve what docstrings write: names within bcart, or plain words that are no names of ours at all.

    What a page calls ``bcart.…`` has to exist, and is left to Sphinx to complain about.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or target.startswith("bcart."):
        return None
    domain = env.get_domain("py")
    found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"bcart.{target}", node, contnode)
    return contnode if found is None else found


def keep_sentence(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo what napoleon does to a property: it takes the words before a colon for a type."""
    taken = [line for line in lines if line.startswith(":type: ")]
    if what == "property" and taken:
        lines[:] = [
            f"{taken[0].removeprefix(':type: ')}: {lines[0]}",
            *(line for line in lines[1:] if line not in taken),
        ]


def setup(app: Any) -> None:
    """Register the above."""
    app.connect("missing-reference", link_or_code)
    app.connect("autodoc-process-docstring", keep_sentence, priority=900)  # after napoleon
