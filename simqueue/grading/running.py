"""Grading one exercise of one submission: pytest, in a process of its own, and what it found."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Final

from simqueue.grading.exercise import Exercise
from simqueue.grading.process import Limits
from simqueue.grading.results import Check, Graded

TIMEOUT: Final = 120.0
_ROOT: Final = Path(__file__).resolve().parents[2]


def grade(
    exercise: Exercise,
    submission: Path | None = None,
    *,
    solutions: bool = False,
    limits: Limits | None = None,
    timeout: float = TIMEOUT,
) -> Graded:
    """Grade `exercise` and return what was found. It takes a second or two.

    Parameters
    ----------
    exercise
        The exercise.
    submission
        A file, or a folder with one; default: the learner's own file, beside the grader.
    solutions
        Grade the reference solution instead.
    limits
        What the submission may use.
    timeout
        Seconds, by the clock on the wall, for the whole grading.

    Raises
    ------
    ImportError
        Without pytest.
    """
    if importlib.util.find_spec("pytest") is None:
        raise ImportError("Grading needs pytest: pip install 'simqueue[course]'.")
    with tempfile.TemporaryDirectory(prefix="grading-") as folder:
        grades = Path(folder) / "grades.json"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
        command += [
            str(exercise.folder),
            f"--confcutdir={exercise.folder.parent}",
            f"--grades={grades}",
        ]
        command += [f"--limits={json.dumps(asdict(limits or Limits()))}"]
        if solutions:
            command.append("--solutions")
        elif submission is not None:
            command.append(f"--submission={submission}")
        said = _run(command, exercise.folder, timeout)
        if said is None:
            return nothing_checked(
                exercise, "too slow", f"The grading took longer than {timeout:g} s."
            )
        if not grades.exists():
            return nothing_checked(exercise, "grader stumbled", f"pytest said: {said[-500:]}")
        found = json.loads(grades.read_text(encoding="utf-8"))
    if len(found) != 1:
        return nothing_checked(exercise, "grader stumbled", f"pytest said: {said[-500:]}")
    return Graded.from_data(found[0])


def nothing_checked(exercise: Exercise, verdict: str, reason: str) -> Graded:
    """Return the zero of a submission of which nothing could be checked."""
    check = Check(name="everything", of=0, passed=False, reason=reason, verdict=verdict)
    return Graded(exercise=exercise.name, checks=(check,))


def _run(command: list[str], folder: Path, timeout: float) -> str | None:
    """Run pytest and return what it printed; None if it took too long."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:
            _end(process)
    return said


def _end(process: subprocess.Popen[str]) -> None:
    """End the grader; the submission's process ends by itself as its pipe closes, or is slain."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.communicate()
