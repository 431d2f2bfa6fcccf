"""A lesson played in this process: what its cells name, print and show, without a notebook."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXERCISE_CHECK = "exercise-check"
"""Cells whose id begins so grade a learner's file: they are not part of the story."""


class Played(NamedTuple):
    """A lesson after its run: its names, and by the id of each cell what it printed and showed."""

    names: dict[str, Any]
    printed: dict[str, str]
    shown: dict[str, Any]


def play(notebook: Path) -> Played:
    """Run all code of `notebook` but the exercises' checks; what fails there is raised."""
    names: dict[str, Any] = {"__name__": "lesson"}
    printed: dict[str, str] = {}
    shown: dict[str, Any] = {}
    for cell, source in code_cells(notebook):
        if cell.startswith(EXERCISE_CHECK):
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            value = _run(source, f"{notebook.stem}:{cell}", names)
        printed[cell] = said.getvalue()
        if value is not None:
            shown[cell] = value
    return Played(names, printed, shown)


def code_cells(notebook: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and the source of each cell of code."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield cell["id"], "".join(cell["source"])


def _run(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and return what it shows: the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), names)
