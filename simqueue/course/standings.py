"""How far a learner is: a map of the course, as a table for notebooks and as text."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simqueue import learner
from simqueue.course.notebooks import Lesson, find_notebooks, lessons
from simqueue.grading import progress
from simqueue.grading.exercise import Exercise, find_root

NONE = "-"
HEADINGS = ("Lesson", "Guesses made", "Questions right", "Goals found", "Exercises", "So far")


@dataclass(frozen=True)
class Share:
    """So many `got`, `of` so many there are."""

    got: int
    of: int

    def __str__(self) -> str:
        return f"{self.got} of {self.of}" if self.of else NONE


@dataclass(frozen=True)
class Solved:
    """An exercise by its number: the points got last (None: never begun), of how many."""

    number: str
    points: int | None
    of: int

    @property
    def done(self) -> bool:
        """Whether all points were got."""
        return self.points == self.of

    def __str__(self) -> str:
        got = "not started" if self.points is None else f"{self.points} of {self.of} points"
        return f"{self.number}: {got}"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a learner is with one lesson."""

    lesson: Lesson
    guesses: Share
    quizzes: Share
    goals: Share
    exercises: tuple[Solved, ...]

    @property
    def title(self) -> str:
        """Number and title of the lesson."""
        return f"{self.lesson.number} {self.lesson.title}"

    @property
    def done(self) -> bool:
        """Whether all guesses are made, all questions right, and all goals found.

        Exercises count by themselves.
        """
        shares = (self.guesses, self.quizzes, self.goals)
        return any(each.of for each in shares) and all(each.got == each.of for each in shares)

    @property
    def begun(self) -> bool:
        """Whether anything of it was done."""
        shares = (self.guesses, self.quizzes, self.goals)
        return any(each.got for each in shares) or any(
            each.points is not None for each in self.exercises
        )

    @property
    def word(self) -> str:
        """How far, in one word: "done", "begun", or "-"."""
        return "done" if self.done else "begun" if self.begun else NONE


@dataclass(frozen=True)
class Overview:
    """The map of the course at one moment: all lessons, and how far a learner is with each."""

    standings: tuple[Standing, ...]

    @property
    def next(self) -> Standing | None:
        """The first lesson that is not done; None if all are."""
        return next((each for each in self.standings if not each.done), None)

    @property
    def headline(self) -> str:
        """How many lessons and exercises are done, in one sentence."""
        exercises = [each for standing in self.standings for each in standing.exercises]
        done = _count([each.done for each in self.standings], "lesson")
        solved = _count([each.done for each in exercises], "exercise")
        return f"You have done {done}" + (f" and {solved}." if exercises else ".")

    def __str__(self) -> str:
        lines = [self.headline, *([f"Next: {self.next.title}"] if self.next else []), ""]
        for each in self.standings:
            lines += [each.title, f"   {', '.join(_in_words(each))}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        left = "style='text-align: left; vertical-align: top'"
        short = "style='text-align: left; vertical-align: top; white-space: nowrap'"
        columns = "".join(f"<th scope='col' {left}>{heading}</th>" for heading in HEADINGS)
        rows = "".join(
            f"<tr><th scope='row' {left}>{_link(each)}</th>"
            + "".join(f"<td {short}>{cell}</td>" for cell in _cells(each))
            + "</tr>"
            for each in self.standings
        )
        more = f" Next: {_link(self.next)}" if self.next else ""
        return (
            f"<p><b>{self.headline}</b>{more}</p>"
            f"<table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table>"
        )


def overview(folder: str | Path | None = None) -> Overview:
    """Return the map of the course with what you have done: guesses, questions, goals, exercises.

    It is of this moment; call it again later. As the value of a cell it is shown as a table.

    Parameters
    ----------
    folder
        The folder ``notebooks``; default: the one beside the package, or here, or above.

    Raises
    ------
    ValueError
        If the notebooks are not there.
    """
    place = find_notebooks() if folder is None else Path(folder)
    return Overview(tuple(_standing(each) for each in lessons(place)))


def _standing(lesson: Lesson) -> Standing:
    right = [learner.answer_to(asked) == answer for asked, answer in lesson.quizzes.items()]
    return Standing(
        lesson=lesson,
        guesses=_share(lesson.guesses, learner.guesses()),
        quizzes=Share(sum(right), len(right)),
        goals=_share(lesson.goals, learner.goals_found()),
        exercises=tuple(_solved(lesson, name) for name in lesson.exercises),
    )


def _share(wanted: tuple[str, ...], found: frozenset[str]) -> Share:
    return Share(len(found.intersection(wanted)), len(wanted))


def _solved(lesson: Lesson, name: str) -> Solved:
    exercise = Exercise(find_root(lesson.path.parents[1]) / name)
    return Solved(exercise.number, progress.load(exercise).points, exercise.points)


def _count(done: list[bool], word: str) -> str:
    if done and all(done):
        return f"all {len(done)} {word}s"
    return f"{sum(done)} of {len(done)} {word}s"


def _cells(standing: Standing) -> Iterator[str]:
    yield from (str(share) for share in (standing.guesses, standing.quizzes, standing.goals))
    yield "<br>".join(str(each) for each in standing.exercises) or NONE
    yield standing.word


def _in_words(standing: Standing) -> Iterator[str]:
    if standing.begun:
        yield standing.word
    for name in ("guesses", "quizzes", "goals"):
        share = getattr(standing, name)
        if share.of:
            yield f"{'questions' if name == 'quizzes' else name} {share}"
    yield from (f"exercise {each}" for each in standing.exercises)


def _link(standing: Standing) -> str:
    path = standing.lesson.path
    try:
        address = os.path.relpath(path).replace(os.sep, "/")
    except ValueError:  # on Windows, from another drive
        address = path.name
    return f"<a href='{html.escape(address)}'>{html.escape(standing.title)}</a>"
