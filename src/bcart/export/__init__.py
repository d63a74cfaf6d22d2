"""A tree, written in the language of the place where it is needed."""

from bcart.export.c import write_c
from bcart.export.dot import write_dot
from bcart.export.html import write_html, write_posterior_html
from bcart.export.plain import read_dict, read_json, write_dict, write_json
from bcart.export.scikit import build_sklearn
from bcart.export.sql import write_sql
from bcart.export.text import write_text

__all__ = [
    "build_sklearn",
    "read_dict",
    "read_json",
    "write_c",
    "write_dict",
    "write_dot",
    "write_html",
    "write_json",
    "write_posterior_html",
    "write_sql",
    "write_text",
]
