"""Grading a folder of submissions: who handed in what, everybody in parallel, nobody in the way."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from simqueue.grading.exercise import Exercise
from simqueue.grading.process import Limits
from simqueue.grading.results import Graded
from simqueue.grading.running import TIMEOUT, grade, nothing_checked

COLUMNS: Final = ("student", "exercise", "points", "of", "verdict", "reason")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What one student got for one exercise."""

    student: str
    graded: Graded

    @property
    def row(self) -> tuple[str, str, int, int, str, str]:
        """The mark as a row of `COLUMNS`."""
        graded = self.graded
        return (
            self.student,
            graded.exercise,
            graded.points,
            graded.of,
            graded.verdict,
            graded.reason,
        )


class Tampered(RuntimeError):  # noqa: N818 - it says what happened
    """Files of the grader, of the library or of a submission changed while submissions ran."""


def students_in(folder: Path) -> dict[str, Path]:
    """Return each student's folder by name; a folder with exercises in it is a single student's."""
    if not folder.is_dir():
        raise ValueError(f"SUBMISSIONS must be a folder, not {str(folder)!r}.")
    if any(folder.glob("[0-9][0-9][_.]*")):
        return {folder.resolve().name: folder}
    found = {
        path.name: path
        for path in sorted(folder.iterdir())
        if path.is_dir() and not path.is_symlink() and not path.name.startswith((".", "_"))
    }
    if not found:
        raise ValueError(
            f"SUBMISSIONS must hold a folder for each student, or files NN_name.py; "
            f"{str(folder)!r} has neither."
        )
    return found


def handed_in(students: dict[str, Path], exercises: Iterable[Exercise]) -> list[Exercise]:
    """Return the exercises that at least one student has handed in."""
    return [
        exercise
        for exercise in exercises
        if any(exercise.find_in(folder) is not None for folder in students.values())
    ]


def grade_all(
    students: dict[str, Path],
    exercises: Sequence[Exercise],
    *,
    limits: Limits | None = None,
    timeout: float = TIMEOUT,
    processes: int | None = None,
    done: Callable[[Mark], object] = lambda _: None,
) -> list[Mark]:
    """Grade every exercise of every student, and return the marks by student and exercise.

    Parameters
    ----------
    students, exercises
        Who, and what. A student without a file for an exercise gets zero points for it.
    limits, timeout
        For each submission; see `Limits` and `simqueue.grading.running.grade`.
    processes
        How many at a time; default: one for each processor.
    done
        Called with each mark as it comes.

    Raises
    ------
    Tampered
        If files of the grader, the library or a submission are not what they were.
    """
    places = [*students.values(), *{exercise.folder.parent for exercise in exercises}]
    places.append(Path(__file__).resolve().parents[1])
    before = dict(_digests(places))
    points = {exercise.name: grade(exercise, solutions=True).of for exercise in exercises}

    def grade_one(student: str, exercise: Exercise) -> Mark:
        file = exercise.find_in(students[student])
        if file is None:
            graded = nothing_checked(exercise, "nothing handed in", "There is no file for it.")
        elif _digest(file) != before.get(file.resolve()):
            graded = nothing_checked(exercise, "changed", "The file was changed during grading.")
        else:
            graded = grade(exercise, file, limits=limits, timeout=timeout)
        mark = Mark(student=student, graded=_with_points(graded, points[exercise.name]))
        done(mark)
        return mark

    pairs = [(student, exercise) for student in students for exercise in exercises]
    with ThreadPoolExecutor(processes or os.cpu_count() or 1) as pool:
        marks = list(pool.map(lambda pair: grade_one(*pair), pairs))
    after = dict(_digests(places))
    changed = sorted(
        path.name for path in before.keys() | after.keys() if before.get(path) != after.get(path)
    )
    if changed:
        raise Tampered(
            "These files changed while submissions ran, so the marks are worth nothing: "
            f"{', '.join(changed[:5])}."
        )
    return marks


def _with_points(graded: Graded, of: int) -> Graded:
    """Where nothing could be checked, all points are missing; where all was, it stays."""
    if graded.of == of:
        return graded
    from dataclasses import replace

    first = replace(graded.checks[0], of=of, passed=False)
    return replace(graded, checks=(first,))


def as_csv(marks: Iterable[Mark]) -> str:
    """Return the marks as CSV: a row for each student and exercise."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_harmless(cell) for cell in mark.row] for mark in marks)
    return file.getvalue()


def _harmless(cell: str | int) -> str | int:
    """A cell that no spreadsheet takes for a formula."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return cell


def _digests(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for place in places:
        for path in sorted(place.rglob("*.py")):
            if path.is_file():
                yield path.resolve(), _digest(path)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
