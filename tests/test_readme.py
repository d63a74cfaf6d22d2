"""The README's examples run as printed."""

import re
from pathlib import Path

from benchmarks import short

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def shown_by(example, capsys):
    exec(compile(example, str(README), "exec"), {})
    return capsys.readouterr().out


def test_the_first_example_is_short_and_runs(capsys):
    assert len(EXAMPLES[0].strip().splitlines()) <= 12
    shown = shown_by(EXAMPLES[0], capsys)
    assert shown.startswith("Tree with")
    assert "<Posterior over all" in shown


def test_the_other_examples_run(capsys):
    assert len(EXAMPLES) > 1
    for example in EXAMPLES[1:]:
        assert shown_by(example, capsys)


def test_the_tables_are_those_of_the_committed_results():
    page = README.read_text(encoding="utf-8")
    for name, table in short.sections().items():
        section = f"<!-- {name}: begin -->\n{table}\n<!-- {name}: end -->"
        assert section in page, "python -m benchmarks.short writes it"
