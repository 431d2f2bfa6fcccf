"""Grading within this process, by the same checks as pytest's: quick, for testing the graders.

The submission still runs in a process of its own.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from simqueue.context import HandlerError
from simqueue.grading.exercise import Exercise
from simqueue.grading.failure import CheckFailed, SubmissionFailed
from simqueue.grading.process import Limits
from simqueue.grading.results import Check, Graded
from simqueue.grading.submission import Submission


def grade_here(
    exercise: Exercise,
    file: Path | None,
    limits: Limits | None = None,
    *,
    until_first_failure: bool = False,
) -> Graded:
    """Return what the checks of `exercise` say about `file`.

    `until_first_failure`: leave out the checks after the first one that fails.

    A grader's test may take nothing but the fixture `submission`, and no parameters.
    """
    submission = Submission(file, limits)
    try:
        checks = []
        for name, points, test in _tests(exercise):
            checks.append(outcome(name, points, partial(test, submission)))
            if until_first_failure and not checks[-1].passed:
                break
        printed = submission.printed()
    finally:
        submission.close()
    return Graded(exercise=exercise.name, checks=tuple(checks), printed=printed)


def outcome(name: str, of: int, test: Callable[[], Any]) -> Check:
    """Run one `test` and return what it came to."""
    try:
        test()
    except CheckFailed as error:
        return Check(name=name, of=of, passed=False, reason=error.reason, story=error.story)
    except SubmissionFailed as error:
        return Check(name=name, of=of, passed=False, reason=error.reason, verdict=error.verdict)
    except HandlerError as error:
        return Check(name=name, of=of, passed=False, reason=str(error), verdict="not a handler")
    return Check(name=name, of=of, passed=True)


def name_of(test: str) -> str:
    """Return the name of a check, in words: that of its test."""
    return test.removeprefix("test_").replace("_", " ")


def _tests(exercise: Exercise) -> Iterator[tuple[str, int, Callable[[Submission], Any]]]:
    for name, test in vars(_module(exercise.grader)).items():
        if name.startswith("test_") and inspect.isfunction(test):
            marks = {mark.name: mark for mark in getattr(test, "pytestmark", ())}
            points = int(marks["points"].args[0]) if "points" in marks else 1
            yield name_of(name), points, test


@cache
def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_grader_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
