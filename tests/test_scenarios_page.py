"""Every line of `docs/scenarios.md` runs, and gives the number that stands behind it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "scenarios.md"
MECHANISMS = 15


def sections():
    """(heading, Python) of each section; the first has none, and prepares for the others."""
    parts = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    headings = ["", *parts[1::2]]
    blocks = [re.findall(r"^```python\n(.*?)^```", part, re.M | re.S) for part in parts[::2]]
    return [(heading, "\n".join(block)) for heading, block in zip(headings, blocks, strict=True)]


SECTIONS = sections()


def promised(source):
    """(line, what it gives) of each line with a value behind it, after all others have run."""
    values = dict(SHARED)
    found = []
    for statement in ast.parse(source).body:
        code = ast.unparse(statement)
        if not isinstance(statement, ast.Expr):
            exec(compile(code, str(PAGE), "exec"), values)
            continue
        line = source.splitlines()[statement.end_lineno - 1]
        _, _, comment = line.partition("  # ")
        assert comment, f"without its value: {line}"
        found.append((code, eval(code, values), ast.literal_eval(comment)))
    return found


SHARED: dict[str, object] = {}
exec(compile(SECTIONS[0][1], str(PAGE), "exec"), SHARED)


@pytest.mark.parametrize(("heading", "source"), SECTIONS[1:], ids=lambda text: text[:30])
def test_every_example_gives_what_stands_behind_it(heading, source):
    """Each section has one at least."""
    found = promised(source)
    assert found, heading
    for code, given, expected in found:
        assert given == expected, code


def test_every_kind_of_fault_has_its_section():
    """Fifteen, each with its own heading."""
    headings = [heading for heading, _ in SECTIONS[1:]]
    assert len(set(headings)) == len(headings) == MECHANISMS
