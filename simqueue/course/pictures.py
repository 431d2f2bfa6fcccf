"""`python -m simqueue.course.pictures`: what the sliders show, for where no notebook runs.

A page on which nothing runs, such as a notebook on GitHub, has no sliders. There the picture that
they start with stands in their place: a file beside the notebooks, and a cell that shows it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simqueue.course.notebooks import find_notebooks, lessons
from simqueue.course.playing import play

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FOLDER = "pictures"
SUFFIX = "-at-rest"
TAG = "at-rest"
"""On the cells that show a picture, so that pages with sliders can leave them out."""


@dataclass(frozen=True)
class Picture:
    """The picture of one cell with sliders, as it stands when nobody has moved them."""

    notebook: Path
    cell: str
    svg: str
    alt: str

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return self.notebook.parent / FOLDER / f"{self.notebook.stem[:2]}-{self.cell}.svg"

    @property
    def markdown(self) -> str:
        """The text of the cell that shows it."""
        return (
            "<details><summary>Nothing moves here? The picture at the start</summary>\n\n"
            f"![{self.alt}]({FOLDER}/{self.file.name})\n\n</details>"
        )


def pictures_of(notebook: Path, shown: Mapping[str, Any]) -> Iterator[Picture]:
    """Yield a picture for each cell of a played lesson that shows sliders on a curve."""
    from simqueue.widgets import Tune

    for cell, value in shown.items():
        if isinstance(value, Tune):
            value.reset()
            value.settle()
            yield Picture(notebook, cell, value.picture_at_rest, value.alt_text)


def keep(picture: Picture) -> None:
    """Write the picture, and the cell that shows it below the sliders."""
    picture.file.parent.mkdir(exist_ok=True)
    picture.file.write_text(picture.svg, encoding="utf-8")
    book = json.loads(picture.notebook.read_text(encoding="utf-8"))
    own = picture.cell + SUFFIX
    cells = [cell for cell in book["cells"] if cell["id"] != own]
    place = [cell["id"] for cell in cells].index(picture.cell)
    source = picture.markdown.splitlines(keepends=True)
    shows = {"cell_type": "markdown", "id": own, "metadata": {"tags": [TAG]}, "source": source}
    cells.insert(place + 1, shows)
    book["cells"] = cells
    picture.notebook.write_text(
        json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def main() -> None:
    """Draw all of them anew, or those of the lessons whose numbers are given."""
    for lesson in lessons(find_notebooks()):
        if sys.argv[1:] and lesson.number not in sys.argv[1:]:
            continue
        for picture in pictures_of(lesson.path, play(lesson.path).shown):
            keep(picture)
            print(picture.file.name)


if __name__ == "__main__":
    main()
