"""Trees and posteriors as notebooks show them: tables with inline styles, for light and dark pages alike."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from bcart.colours import colour_of
from bcart.export.wording import Wording
from bcart.limits import format_count
from bcart.memory import within_memory
from bcart.posterior import Posterior
from bcart.tree import Tree

_MOST_NODES = 199  # that are shown
_MOST_LETTERS = 200  # of a leaf model, which may have a parameter for each of many classes
_TABLE = "border-collapse:collapse;border:none;font-size:13px;line-height:1.5;margin:4px 0 8px 0"
_CELL = "text-align:left;white-space:nowrap;border:none;padding:1px 14px 1px 0"
_WRAPPED = f"{_CELL};white-space:normal"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_FAINT = "font-weight:normal;opacity:0.65"
_GUIDE = "font-family:monospace;white-space:pre;opacity:0.55"
_TRACK = "position:relative;width:140px;height:12px;background:rgba(128,128,128,0.2);border-radius:2px"
_WHISKER = "position:absolute;top:5px;height:2px;background:currentColor"
_END = "position:absolute;top:3px;height:6px;width:2px;margin-left:-1px;background:currentColor"


@within_memory()
def write_html(tree: Tree, level: float = 0.95) -> str:
    """Return a table of the nodes of a tree: questions, predictions, bars with credible intervals of a level, rows."""
    wording = Wording(tree, level)
    lines = [_row(wording, node, lead) for node, lead in _leads(tree)[:_MOST_NODES]]
    more = tree.n_nodes - len(lines)
    if more > 0:
        lines.append(f'<tr><td colspan="6" style="{_CELL}">… and {more:,} more nodes</td></tr>')
    return (
        f'<div><div style="margin-top:4px"><b>Tree</b> with {escape(tree._summary())}</div>'
        f'<table style="{_TABLE}">{_head(wording)}<tbody>{"".join(lines)}</tbody></table></div>'
    )


@within_memory()
def write_posterior_html(posterior: Posterior) -> str:
    """Return a table of facts about a posterior, and its most probable tree where that is quick to find."""
    facts = "".join(
        f'<tr><td style="{_CELL};{_FAINT}">{escape(name)}</td><td style="{_WRAPPED}">{escape(fact)}</td></tr>'
        for name, fact in _facts(posterior)
    )
    is_quick = not posterior.graph.is_folded or "_maxima" in vars(posterior)
    best = write_html(posterior.map_tree()).replace("<b>Tree</b>", "<b>Most probable tree</b>,", 1) if is_quick else ""
    return (
        f'<div><b>Posterior over decision trees</b><table style="{_TABLE}"><tbody>{facts}</tbody></table>{best}</div>'
    )


def _facts(posterior: Posterior) -> Iterator[tuple[str, str]]:
    graph, depth = posterior.graph, posterior.max_depth
    yield "exact for", "all trees" if depth is None else f"all trees up to depth {depth}"
    if not graph.is_folded or "log_n_trees" in vars(posterior):
        yield "trees", format_count(posterior.log_n_trees)
    yield "log evidence", f"{posterior.log_evidence:.4f}"
    yield "prior", str(posterior.prior)
    leaf = str(posterior.leaf)
    yield "leaves", leaf if len(leaf) <= _MOST_LETTERS else f"{leaf[:_MOST_LETTERS]}…"
    yield "features", f"{len(posterior.grid.feature_names):,}: {_listed(posterior.grid.feature_names)}"
    if posterior.classes is not None:
        yield "classes", f"{len(posterior.classes):,}: {_listed(posterior.classes.tolist())}"
    yield "cells", f"{graph.cells.n_cells:,}"
    yield "boxes", f"{posterior.n_boxes:,}" + (" (folded)" if graph.is_folded else "")
    yield "splits", f"{posterior.n_splits:,}"


def _listed(names: tuple[str, ...] | list[object], most: int = 12) -> str:
    return ", ".join(map(str, names[:most])) + (", …" if len(names) > most else "")


def _leads(tree: Tree) -> list[tuple[int, str]]:
    """Return the nodes in order, each with the lines that lead to it."""
    found, waiting = [], [(0, "", "")]
    while waiting:
        node, lead, indent = waiting.pop()
        found.append((node, lead))
        if tree.feature[node] >= 0:
            waiting.append((int(tree.right[node]), f"{indent}└─ no  ", f"{indent}   "))
            waiting.append((int(tree.left[node]), f"{indent}├─ yes ", f"{indent}│  "))
    return found


def _head(wording: Wording) -> str:
    is_regression = wording.tree.classes is None
    names = ["", "expected", "", wording.percent, "sd"] if is_regression else ["", "class", "", "p", wording.percent]
    cells = [f'<th style="{_CELL};{_FAINT}">{escape(name)}</th>' for name in names]
    return f'<thead><tr>{"".join(cells)}<th style="{_NUMBER};{_FAINT}">n</th></tr></thead>'


def _row(wording: Wording, node: int, lead: str) -> str:
    is_leaf = wording.tree.feature[node] < 0
    asked = "" if is_leaf else escape(wording.tree.describe_test(node))
    first = f'<td style="{_CELL}"><span style="{_GUIDE}">{lead}</span>{asked}</td>'
    cells = _leaf_cells(wording, node) if is_leaf else f'<td colspan="4" style="{_CELL}"></td>'
    return f'<tr>{first}{cells}<td style="{_NUMBER};{_FAINT}">{wording.rows(node)}</td></tr>'


def _leaf_cells(wording: Wording, leaf: int) -> str:
    tree, ends = wording.tree, wording.ends(leaf)
    interval = "" if ends is None else f"{ends[0]} to {ends[1]}"
    if tree.classes is None:
        numbers = [interval, f"{tree.std[leaf]:.3g}" if np.isfinite(tree.std[leaf]) else ""]
    else:
        numbers = [wording.number(tree.predictive[leaf].max()), interval]
    cells = "".join(f'<td style="{_CELL};font-variant-numeric:tabular-nums">{text}</td>' for text in numbers)
    name = f'<td style="{_CELL}"><b>{escape(wording.name(leaf))}</b></td>'
    return f'{name}<td style="{_CELL}">{_bar(wording, leaf)}</td>{cells}'


def _bar(wording: Wording, leaf: int) -> str:
    """Draw the probability of the class as a bar, or the expected target as a point, and the interval across."""
    best = wording.best(leaf)
    least, most = _scale(wording)

    def place(value: float) -> float:
        return round(100 * min(max((value - least) / (most - least), 0.0), 1.0), 2)

    value = place(float(wording.tree.predictive[leaf, best]))
    colour = colour_of(best)
    if wording.tree.classes is None:
        shape = f"left:{value}%;width:8px;margin-left:-4px;border-radius:4px;top:2px;height:8px"
    else:
        shape = f"left:0;width:{value}%;top:0;height:12px;border-radius:2px"
    parts = [f'<div style="position:absolute;{shape};background:{colour}"></div>']
    if wording.interval is not None:
        low, high = (place(float(end[leaf, best])) for end in wording.interval)
        parts += [f'<div style="{_WHISKER};left:{low}%;width:{round(high - low, 2)}%"></div>']
        parts += [f'<div style="{_END};left:{end}%"></div>' for end in (low, high)]
    return f'<div style="{_TRACK}">{"".join(parts)}</div>'


def _scale(wording: Wording) -> tuple[float, float]:
    """Return the values at the ends of all bars."""
    tree = wording.tree
    if tree.classes is not None:
        return 0.0, 1.0
    ends = wording.interval or (tree.predictive, tree.predictive)
    is_leaf = tree.feature < 0
    least, most = float(ends[0][is_leaf].min()), float(ends[1][is_leaf].max())
    return (least, most) if most > least else (least - 1, least + 1)
