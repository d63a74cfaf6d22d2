"""Put what a benchmark found into its place in benchmarks/README.md."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent / "README.md"


def replace_section(name: str, text: str, path: Path = README) -> None:
    """Write `text` between the lines ``<!-- name: begin -->`` and ``<!-- name: end -->`` of a page."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    page = path.read_text()
    if begin not in page or end not in page:
        raise ValueError(f"{path.name} has no lines {begin.strip()} and {end}")
    inside = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    path.write_text(inside.sub(lambda _: f"{begin}{text.strip()}\n{end}", page, count=1))


def markdown(lines: list[list[str]]) -> str:
    """Return lines, the first of which is the head, as a table."""
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, "|---" * len(lines[0]) + "|", *body])
