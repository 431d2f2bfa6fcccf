"""The lessons, each played once in this process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import nbformat

from simqueue.course import playing

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
STEMS = sorted(path.stem[:2] for path in NOTEBOOKS.glob("*.ipynb"))


class Played(NamedTuple):
    """A lesson after its run: its names, what each cell printed and showed, and all its prose."""

    names: dict[str, Any]
    printed: dict[str, str]
    shown: dict[str, Any]
    prose: str


def path_of(stem: str) -> Path:
    """The notebook with that number."""
    (path,) = NOTEBOOKS.glob(f"{stem}_*.ipynb")
    return path


def read(stem: str) -> list[Any]:
    """The cells of the lesson with that number."""
    return list(nbformat.read(path_of(stem), as_version=4).cells)  # type: ignore[no-untyped-call]


def code_cells(stem: str) -> dict[str, str]:
    """The code of the lesson with that number, by the id of the cell."""
    return dict(playing.code_cells(path_of(stem)))


@cache
def play(stem: str) -> Played:
    """Run the code of the lesson with that number, but for the exercises' checks."""
    prose = "\n".join(cell.source for cell in read(stem) if cell.cell_type == "markdown")
    return Played(*playing.play(path_of(stem)), prose)
