"""The lessons: where they are, and what each one asks, read from its notebook.

Nothing about a lesson stands anywhere else: its title is its first heading, its guesses, quizzes
and goals are those in its code, its exercises those that it checks or names.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simqueue.grading.exercise import all_exercises, find_root

FOLDER = "notebooks"
START = "00_start_here.ipynb"
"""The first lesson; a folder without it holds somebody's other notebooks."""
_NAMES = "[0-9][0-9]_*.ipynb"
_EXERCISE = re.compile(r"`(?:exercises/)?(\d\d_[a-z0-9_]+)[`/]")


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A lesson: its notebook, its title, and what it asks of a learner.

    Attributes
    ----------
    guesses
        The questions of its `predict`.
    quizzes
        The questions of its `quiz`, each with the choice that is right.
    goals
        The texts of the goals of its sliders.
    exercises
        The names of its exercises, such as "06_atomic_claim".
    """

    path: Path
    title: str
    guesses: tuple[str, ...] = ()
    quizzes: Mapping[str, str] = field(default_factory=dict)
    goals: tuple[str, ...] = ()
    exercises: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """Such as "06"."""
        return self.path.name[:2]


def lessons(folder: Path | None = None) -> list[Lesson]:
    """Return the lessons in `folder` (default: `find_notebooks`), by number.

    An exercise belongs to the first lesson that names it. Raises ValueError if there are none.
    """
    folder = folder or find_notebooks()
    names = _names_of_exercises(folder)
    found: list[Lesson] = []
    for path in sorted(folder.glob(_NAMES)):
        lesson = read(path, names)
        taken = {name for each in found for name in each.exercises}
        own = tuple(name for name in lesson.exercises if name not in taken)
        found.append(replace(lesson, exercises=own))
    if not found:
        raise ValueError(f"folder must hold the notebooks of the course, not {str(folder)!r}.")
    return found


def find_notebooks() -> Path:
    """Return the folder of the course: here, or in a folder above, or beside the package.

    Raises ValueError if there is none.
    """
    here = Path.cwd()
    beside = Path(__file__).resolve().parents[2]
    for place in (here, *(each / FOLDER for each in (here, *here.parents, beside))):
        if (place / START).is_file():
            return place
    raise ValueError(
        "The notebooks of the course are not here: run this in the folder of a clone of simqueue."
    )


def find_lesson(wanted: str, folder: Path) -> Path:
    """Return the notebook in `folder` called "2", "02", "02_visibility_timeout", or with ".ipynb".

    Raises ValueError, which lists what there is, if there is no such lesson.
    """
    paths = sorted(folder.glob(_NAMES))
    stem = f"{int(wanted):02}" if wanted.isascii() and wanted.isdigit() else wanted
    for path in paths:
        if stem.removesuffix(".ipynb") in (path.stem, path.name[:2]):
            return path
    listed = ", ".join(path.name[:2] for path in paths)
    raise ValueError(f"lesson must be one of {listed}, not {wanted!r}.")


def read(path: Path, names_of_exercises: Collection[str]) -> Lesson:
    """Return what the notebook at `path` asks; nothing where it can't be read."""
    cells = _cells(path)
    prose = "\n".join(text for kind, text in cells if kind == "markdown")
    heading = re.search(r"^# +(.+)$", prose, flags=re.MULTILINE)
    guesses: list[str] = []
    quizzes: dict[str, str] = {}
    goals: list[str] = []
    exercises = [name for name in _EXERCISE.findall(prose) if name in names_of_exercises]
    for called, call in _calls(text for kind, text in cells if kind == "code"):
        given = {each.arg: _constant(each.value) for each in call.keywords if each.arg}
        asked = _constant(call.args[0]) if call.args else None
        if called.endswith("widgets.predict") and isinstance(asked, str):
            guesses.append(asked)
        elif called.endswith("widgets.quiz") and isinstance(asked, str):
            quizzes[asked] = str(given.get("right"))
        elif called.endswith("exercises.check"):
            exercises += [name for name in names_of_exercises if _is_called(name, asked)]
        if "widgets." in called:
            goals += _keys(
                next((each.value for each in call.keywords if each.arg == "goals"), None)
            )
    return Lesson(
        path=path,
        title=heading[1].strip() if heading else path.stem[3:].replace("_", " "),
        guesses=_each_once(guesses),
        quizzes=quizzes,
        goals=_each_once(goals),
        exercises=tuple(sorted(set(exercises))),
    )


def _names_of_exercises(folder: Path) -> list[str]:
    try:
        return [each.name for each in all_exercises(find_root(folder.parent))]
    except ValueError:  # a course without exercises is one, too
        return []


def _cells(path: Path) -> list[tuple[str, str]]:
    """The kind and the text of each cell."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return [(str(cell["cell_type"]), "".join(cell["source"])) for cell in notebook["cells"]]
    except (OSError, ValueError, KeyError, TypeError):  # damaged: the others are to be shown
        return []


def _calls(sources: Iterator[str]) -> Iterator[tuple[str, ast.Call]]:
    """Every call in these cells, with the name that is called, such as "sq.widgets.quiz"."""
    for source in sources:
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # the reader is still at it
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func), node


def _constant(node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _keys(node: ast.expr | None) -> list[str]:
    if not isinstance(node, ast.Dict):
        return []
    keys = [_constant(key) for key in node.keys if key is not None]
    return [key for key in keys if isinstance(key, str)]


def _is_called(name: str, wanted: Any) -> bool:
    return str(wanted).zfill(2) == name[:2] or wanted == name


def _each_once(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
