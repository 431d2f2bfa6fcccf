"""Exercises from a notebook: ``sq.exercises.check("06")`` grades the file that you have saved."""

from __future__ import annotations

from pathlib import Path

from simqueue.grading import progress
from simqueue.grading.exercise import find, find_root
from simqueue.grading.results import Graded
from simqueue.grading.running import grade


def check(number: str | int, folder: str | Path | None = None) -> Graded:
    """Grade your file for exercise `number`, and return a small table of what was found.

    Parameters
    ----------
    number
        Such as "06", 6, or "06_atomic_claim".
    folder
        The folder ``exercises``; default: the one here, or in a folder above.

    Raises
    ------
    ValueError
        If there is no such exercise, or no folder with exercises.
    ImportError
        Without pytest.
    """
    root = find_root(Path(folder) if folder is not None else None)
    return grade(find(number, root))


def hint(number: str | int, folder: str | Path | None = None) -> str:
    """Return the next hint for exercise `number`; parameters and errors as for `check`."""
    root = find_root(Path(folder) if folder is not None else None)
    exercise = find(number, root)
    unfolded = progress.unfold(exercise)
    if unfolded is None:
        return "\n\n".join(each.text for each in exercise.hints) or "There is no hint for it."
    return unfolded[1].text
