"""The README's example runs as printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_of_the_readme_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(example.strip().splitlines()) <= 12
    exec(compile(example, str(README), "exec"), {})
    shown = capsys.readouterr().out
    assert shown.startswith("Tree with")
    assert "<Posterior over all" in shown
