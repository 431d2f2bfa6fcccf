"""The lessons, played in this process: what they name, print, show and say."""

from __future__ import annotations

import ast
import contextlib
import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
STEMS = sorted(path.stem[:2] for path in NOTEBOOKS.glob("*.ipynb"))


class Played(NamedTuple):
    """A lesson after its run: its names, and by the id of each cell what it printed and showed."""

    names: dict[str, Any]
    printed: dict[str, str]
    shown: dict[str, Any]
    prose: str


def code_cells(stem: str) -> dict[str, str]:
    """The code of the lesson with that number, by the id of the cell."""
    return {cell.id: cell.source for cell in read(stem) if cell.cell_type == "code"}


def read(stem: str) -> list[Any]:
    """The cells of the lesson with that number."""
    (path,) = NOTEBOOKS.glob(f"{stem}_*.ipynb")
    return list(nbformat.read(path, as_version=4).cells)  # type: ignore[no-untyped-call]


@cache
def play(stem: str) -> Played:
    """Run the code of the lesson with that number, but for the exercises' checks."""
    cells = read(stem)
    names: dict[str, Any] = {"__name__": "lesson"}
    printed: dict[str, str] = {}
    shown: dict[str, Any] = {}
    for cell in cells:
        if cell.cell_type != "code" or cell.id.startswith("exercise-check"):
            continue
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            value = run_cell(cell.source, f"{stem}:{cell.id}", names)
        printed[cell.id] = said.getvalue()
        if value is not None:
            shown[cell.id] = value
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return Played(names, printed, shown, prose)


def run_cell(source: str, name: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and return what it shows: the value of its last line."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, name, "exec"), names)
        return None
    tree.body.pop()
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names)
