"""What a learner has done so far: the last result of each exercise, and the hints they have seen.

Kept in one small file of the user's, which may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simqueue.grading.exercise import Exercise, Hint
from simqueue.grading.results import Graded


def state_file() -> Path:
    """Where progress is kept; the environment variable SIMQUEUE_STATE names another folder."""
    if given := os.environ.get("SIMQUEUE_STATE"):
        return Path(given) / "progress.json"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    else:
        base = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state"))
    return base / "simqueue" / "progress.json"


@dataclass
class Progress:
    """Of one exercise: the checks that failed last, and the hints shown, by their place from 0."""

    failed: list[str] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)

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
    found = _all().get(exercise.name)
    if not isinstance(found, dict):
        return Progress()
    failed, shown = found.get("failed", []), found.get("shown", [])
    if not isinstance(failed, list) or not isinstance(shown, list):
        return Progress()
    return Progress([str(name) for name in failed], [n for n in shown if isinstance(n, int)])


def save(exercise: Exercise, progress: Progress) -> None:
    """Keep `progress`. Where it can't be written, it isn't: nobody is to fail for a hint."""
    kept = {**_all(), exercise.name: {"failed": progress.failed, "shown": progress.shown}}
    path = state_file()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        part.replace(path)


def note(exercise: Exercise, graded: Graded) -> None:
    """Remember which checks failed, so that the next hint is about them."""
    progress = load(exercise)
    progress.failed = [check.name for check in graded.failed]
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


def _all() -> dict[str, object]:
    try:
        found = json.loads(state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
