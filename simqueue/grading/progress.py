"""How far a learner is with each exercise: its last result, and the hints they have seen.

It is kept in the learner's file (`simqueue.learner`), under the exercise's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from simqueue import learner
from simqueue.grading.exercise import Exercise, Hint
from simqueue.grading.results import Graded


@dataclass
class Progress:
    """Of one exercise: the checks that failed last, the hints shown, and the points got last.

    Hints are given by their place from 0. `points` is None until all checks have been run together.
    """

    failed: list[str] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    points: int | None = None

    def next_hint(self, exercise: Exercise) -> int | None:
        """The place of the hint to show next: first one that helps with a check that failed.

        None if all have been shown.
        """
        left = [place for place in range(len(exercise.hints)) if place not in self.shown]
        for failed in self.failed:
            for place in left:
                if failed in exercise.hints[place].helps_with:
                    return place
        return left[0] if left else None


def load(exercise: Exercise) -> Progress:
    """Return the progress of `exercise`; an empty one where nothing is kept, or nothing sound."""
    found = learner.load().get(exercise.name)
    if not isinstance(found, dict):
        return Progress()
    failed, shown, points = found.get("failed", []), found.get("shown", []), found.get("points")
    if not isinstance(failed, list) or not isinstance(shown, list):
        return Progress()
    return Progress(
        [str(name) for name in failed],
        [n for n in shown if isinstance(n, int)],
        points if isinstance(points, int) else None,
    )


def save(exercise: Exercise, progress: Progress) -> None:
    """Keep `progress`. Where it can't be written, it isn't: nobody is to fail for a hint."""
    learner.save(exercise.name, asdict(progress))


def note(exercise: Exercise, graded: Graded) -> None:
    """Remember which checks failed, so that the next hint is about them, and the points.

    When only some of the checks were run, the points stay as they were.
    """
    progress = load(exercise)
    progress.failed = [check.name for check in graded.failed]
    if graded.of == exercise.points:
        progress.points = graded.points
    save(exercise, progress)


def unfold(exercise: Exercise) -> tuple[int, Hint] | None:
    """Return the next hint and its place, and remember that it was shown; None: no more."""
    progress = load(exercise)
    place = progress.next_hint(exercise)
    if place is None:
        return None
    progress.shown.append(place)
    save(exercise, progress)
    return place, exercise.hints[place]


def forget_hints(exercises: Sequence[Exercise]) -> None:
    """Fold the hints of these exercises up again."""
    for exercise in exercises:
        progress = load(exercise)
        progress.shown = []
        save(exercise, progress)
