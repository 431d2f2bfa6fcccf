"""pytest for exercises: which file is graded, points, and a summary instead of tracebacks.

``exercises/conftest.py`` takes its hooks and its fixture from here. What one check came to travels
in the report's `user_properties`, so it is also there with several processes (pytest-xdist), and in
JUnit XML.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import pytest

from simqueue.context import HandlerError
from simqueue.grading import progress
from simqueue.grading.exercise import Exercise
from simqueue.grading.failure import CheckFailed
from simqueue.grading.grader import name_of, outcome
from simqueue.grading.process import Limits
from simqueue.grading.results import Check, Graded, total
from simqueue.grading.submission import Submission

_KEY: Final = "simqueue"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of grading."""
    group = parser.getgroup("exercises")
    group.addoption(
        "--solutions", action="store_true", help="grade the reference solutions, not your files"
    )
    group.addoption(
        "--submission", metavar="PATH", help="grade this file, or the files in this folder"
    )
    group.addoption("--grades", metavar="FILE", help="write what was found as JSON")
    group.addoption("--limits", metavar="JSON", help="what a submission may use: see Limits")


def pytest_configure(config: pytest.Config) -> None:
    """Say what `points` means."""
    config.addinivalue_line("markers", "points(n): the points that a check is worth")


@pytest.fixture(scope="module")
def submission(request: pytest.FixtureRequest) -> Iterator[Submission]:
    """The code to be graded, in a process that lives as long as the checks of its exercise."""
    config = request.config
    exercise = Exercise(Path(str(request.path)).parent)
    limits = Limits(**json.loads(config.getoption("--limits", None) or "{}"))
    graded = Submission(_file_of(exercise, config), limits)
    yield graded
    graded.close()


def _file_of(exercise: Exercise, config: pytest.Config) -> Path | None:
    if config.getoption("--solutions", default=False):
        return exercise.solution
    given = config.getoption("--submission", default=None)
    return exercise.find_in(Path(given)) if given else exercise.stub


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a failed check say its sentence and its story, and nothing of the grader's code."""
    report = yield
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return report
    error = None if call.excinfo is None else call.excinfo.value
    check = _check_of(item, error)
    report.user_properties.append((_KEY, json.dumps([item.path.parent.name, asdict(check)])))
    if isinstance(error, CheckFailed | HandlerError):
        printed = _printed_by(item)
        told = [check.reason, check.story, printed and f"Your code printed:\n{printed}"]
        report.longrepr = "\n\n".join(part for part in told if part)
    return report


def _check_of(item: pytest.Item, error: BaseException | None) -> Check:
    marker = item.get_closest_marker("points")
    name, of = name_of(item.name), int(marker.args[0]) if marker else 1

    def fail_again() -> None:
        if error is not None:
            raise error

    try:
        return outcome(name, of, fail_again)
    except BaseException:
        reason = f"The grader stumbled: {type(error).__name__}: {error}"
        return Check(name=name, of=of, passed=False, reason=reason, verdict="grader stumbled")


def _printed_by(item: pytest.Item) -> str:
    graded = getattr(item, "funcargs", {}).get("submission")
    return str(graded.printed())[:2_000].rstrip() if isinstance(graded, Submission) else ""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what each check came to (in the process that prints the summary)."""
    for key, value in report.user_properties:
        if key == _KEY and report.when in ("setup", "call"):
            exercise, check = json.loads(str(value))
            _collected.setdefault(exercise, []).append(Check(**check))


_collected: dict[str, list[Check]] = {}


def graded_exercises() -> list[Graded]:
    """Return what has been graded in this process so far."""
    return [
        Graded(exercise=name, checks=tuple(checks)) for name, checks in sorted(_collected.items())
    ]


def pytest_sessionstart() -> None:
    """Forget an earlier session in this process."""
    _collected.clear()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the grades where they are wanted, and remember what failed, for the hints."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    target = config.getoption("--grades", default=None)
    if target:
        data = [graded.as_data() for graded in graded_exercises()]
        part = Path(f"{target}.{os.getpid()}")
        part.write_text(json.dumps(data), encoding="utf-8")
        part.replace(target)
    if _is_own_work(config):
        for exercise, graded in _with_exercises(config):
            progress.note(exercise, graded)


def _is_own_work(config: pytest.Config) -> bool:
    return not (
        config.getoption("--solutions", default=False)
        or config.getoption("--submission", default=None)
    )


def _with_exercises(config: pytest.Config) -> Iterator[tuple[Exercise, Graded]]:
    del config
    root = _root_of_exercises
    for graded in graded_exercises():
        if root is not None and (root / graded.exercise).is_dir():
            yield Exercise(root / graded.exercise), graded


_root_of_exercises: Path | None = None


def set_root(root: Path) -> None:
    """Say where the exercises are: ``exercises/conftest.py`` does."""
    global _root_of_exercises  # noqa: PLW0603 - hooks have no other way to it
    _root_of_exercises = root


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the points, which check failed and why, and where to get a hint."""
    graded = graded_exercises()
    if not graded:
        return
    terminalreporter.section("points")
    own = _is_own_work(config)
    for exercise, each in _with_exercises(config):
        terminalreporter.write_line(each.as_text())
        if own and not each.passed:
            left = progress.load(exercise).next_hint(exercise)
            more = "All hints are out" if left is None else "Stuck? The next hint"
            option = " --all" if left is None else ""
            terminalreporter.write_line(f"  {more}: simqueue hint {exercise.number}{option}")
        terminalreporter.write_line("")
    points, of = total(graded)
    terminalreporter.write_line(f"Together: {points} of {of} points.")
