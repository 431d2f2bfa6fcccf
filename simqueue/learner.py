"""What a learner has done so far: guesses, answers, goals found, and how the exercises went.

Kept in one small file of the user's, which may be deleted at any time. Where it can't be written,
nothing is kept, and where it is damaged, it counts as empty: no lesson is to fail for it. A guess
is found again by the text of its question, so no two questions of the course are alike.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Final

GUESSES: Final = "guesses"
ANSWERS: Final = "answers"
GOALS: Final = "goals"


def state_file() -> Path:
    """Where progress is kept; the environment variable SIMQUEUE_STATE names another folder.

    Raises RuntimeError for an account that has no home.
    """
    if given := os.environ.get("SIMQUEUE_STATE"):
        return Path(given) / "progress.json"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "simqueue" / "progress.json"


def keep_guess(question: str, guess: float) -> None:
    """Remember the guess at `question`, a finite number."""
    save(GUESSES, {**_part(GUESSES), question: guess})


def guess_at(question: str) -> float | None:
    """Return the guess that was made at `question`; None without one."""
    kept = _part(GUESSES).get(question)
    if isinstance(kept, bool) or not isinstance(kept, int | float) or not math.isfinite(kept):
        return None
    return kept


def guesses() -> frozenset[str]:
    """Return the questions at which a guess was made."""
    return frozenset(question for question in _part(GUESSES) if guess_at(question) is not None)


def keep_answer(question: str, choice: str) -> None:
    """Remember the choice that was made last at the quiz `question`."""
    save(ANSWERS, {**_part(ANSWERS), question: choice})


def answer_to(question: str) -> str | None:
    """Return the choice that was made last at the quiz `question`; None without one."""
    kept = _part(ANSWERS).get(question)
    return kept if isinstance(kept, str) else None


def goal_found(text: str) -> None:
    """Remember that the goal with this text was found."""
    if text not in goals_found():
        save(GOALS, sorted({*goals_found(), text}))


def goals_found() -> frozenset[str]:
    """Return the texts of all goals that were found."""
    kept = load().get(GOALS)
    if not isinstance(kept, list):
        return frozenset()
    return frozenset(text for text in kept if isinstance(text, str))


def forget_all() -> None:
    """Start over: forget guesses, answers, goals, points, and which hints were shown.

    Raises OSError if the file is there and can't be deleted, RuntimeError without a home.
    """
    state_file().unlink(missing_ok=True)


def load() -> dict[str, object]:
    """Return all that is kept; nothing if there is no file, or no sound one."""
    try:
        found = json.loads(state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # the last for no home, or too deep a nesting
        return {}
    return found if isinstance(found, dict) else {}


def save(name: str, value: object) -> None:
    """Keep the plain data `value` under `name`, beside all the rest; or not, if that can't be."""
    kept = load()
    if kept.get(name) == value:
        return
    with contextlib.suppress(OSError, RuntimeError):
        path = state_file()
        part = path.with_name(f"{path.name}.{os.getpid()}")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whoever reads meanwhile finds the old file or the new one, and no half of one.
        part.write_text(json.dumps({**kept, name: value}, indent=1), encoding="utf-8")
        part.replace(path)


def _part(name: str) -> dict[str, object]:
    kept = load().get(name)
    return kept if isinstance(kept, dict) else {}
