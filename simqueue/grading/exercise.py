"""The exercises: where they are, and what each folder holds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = "exercises"
_NAME = re.compile(r"(\d\d)_([a-z0-9_]+)")
_POINTS = re.compile(r"^@pytest\.mark\.points\((\d+)\)", flags=re.MULTILINE)


@dataclass(frozen=True)
class Hint:
    """A hint: its text, and the names of the checks that it helps with."""

    text: str
    helps_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """An exercise, by its folder: ``NN_name/`` with a README, a stub, a grader and hints."""

    folder: Path

    @property
    def name(self) -> str:
        """Such as "06_atomic_claim"."""
        return self.folder.name

    @property
    def number(self) -> str:
        """Such as "06"."""
        return self.name[:2]

    @property
    def title(self) -> str:
        """Such as "06 atomic claim"."""
        return self.name.replace("_", " ")

    @cached_property
    def stub(self) -> Path:
        """The learner's file: the only Python file beside the grader."""
        found = [
            path
            for path in sorted(self.folder.glob("*.py"))
            if not path.name.startswith(("test_", "conftest", "_"))
        ]
        if len(found) != 1:
            names = ", ".join(path.name for path in found) or "none"
            raise ValueError(
                f"{self.name} must hold one Python file beside its grader, not {names}."
            )
        return found[0]

    @property
    def grader(self) -> Path:
        """The file with the checks."""
        return self.folder / f"test_{self.name}.py"

    @cached_property
    def points(self) -> int:
        """The points that all of its checks give together."""
        return sum(int(each) for each in _POINTS.findall(self.grader.read_text(encoding="utf-8")))

    @property
    def solution(self) -> Path:
        """The reference solution."""
        return self.folder.parent / "solutions" / f"{self.name}.py"

    @cached_property
    def hints(self) -> tuple[Hint, ...]:
        """The hints, in order, out of ``hints.toml``."""
        path = self.folder / "hints.toml"
        if not path.exists():
            return ()
        with path.open("rb") as file:
            listed = tomllib.load(file).get("hint", [])
        return tuple(Hint(each["text"].strip(), tuple(each.get("for", ()))) for each in listed)

    def find_in(self, submission: Path) -> Path | None:
        """Return the file that `submission` has for this exercise; None if it has none.

        `submission` is that file itself, or a folder with ``NN_name/handler.py`` (or what the stub
        is called) or ``NN_name.py`` in it. A name may go on differently after the number.
        """
        if submission.is_file():
            return submission
        places = [submission / self.name / self.stub.name, submission / f"{self.name}.py"]
        places += sorted(submission.glob(f"{self.number}_*/{self.stub.name}"))
        places += sorted(submission.glob(f"{self.number}_*.py"))
        places += [submission / f"{self.number}.py"]
        home = submission.resolve()
        # A link may lead to somebody else's file.
        sound = (each for each in places if each.is_file() and home in each.resolve().parents)
        return next(sound, None)


def find_root(start: Path | None = None) -> Path:
    """Return the folder ``exercises``: in `start` (default: where we are), or above, or beside us.

    Raises ValueError if there is none.
    """
    start = (start or Path.cwd()).resolve()
    above = [start, *start.parents]
    beside = Path(__file__).resolve().parents[2]
    for place in [*above, *(folder / FOLDER for folder in (*above, beside))]:
        if place.name == FOLDER and any(_folders(place)):
            return place
    raise ValueError(f"There is no folder {FOLDER!r} here ({start}) or above it.")


def all_exercises(root: Path) -> list[Exercise]:
    """Return the exercises in `root`, by number."""
    return [Exercise(folder) for folder in sorted(_folders(root))]


def find(number: str | int, root: Path | None = None) -> Exercise:
    """Return the exercise that is called so: 6, "06", "06_atomic_claim" or "atomic_claim"."""
    exercises = all_exercises(root or find_root())
    wanted = f"{int(number):02}" if str(number).isdigit() else str(number).rstrip("/")
    for each in exercises:
        if wanted in (each.number, each.name, each.name[3:]):
            return each
    numbers = ", ".join(each.number for each in exercises)
    raise ValueError(f"exercise must be one of {numbers}, not {number!r}.")


def _folders(root: Path) -> Iterator[Path]:
    return (path for path in root.glob("[0-9][0-9]_*") if _is_exercise(path))


def _is_exercise(path: Path) -> bool:
    return bool(_NAME.fullmatch(path.name)) and (path / f"test_{path.name}.py").exists()
