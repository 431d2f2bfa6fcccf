"""The graders of the exercises, graded: what they let pass, what not, and for which reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from simqueue.grading.exercise import Exercise, all_exercises
from simqueue.grading.grader import grade_here
from simqueue.grading.results import Graded

ROOT = Path(__file__).parents[1]
EXERCISES = all_exercises(ROOT / "exercises")
ANSWERS = Path(__file__).parent / "exercises"


def answers(kind: str) -> list[object]:
    """All answers of a kind, beside the exercise that they are to."""
    return [
        pytest.param(exercise, path, id=f"{exercise.name}/{path.stem}")
        for exercise in EXERCISES
        for path in sorted((ANSWERS / exercise.name).glob(f"{kind}_*.py"))
    ]


@cache
def graded(exercise: Exercise, path: Path) -> Graded:
    """The grades of an answer."""
    return grade_here(exercise, path)


def failed(graded: Graded) -> set[str]:
    """The names of the checks that failed."""
    return {check.name for check in graded.failed}


def stated(path: Path) -> set[str]:
    """The checks that a wrong answer says it fails."""
    (said,) = re.findall(r"^# fails: (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {name.strip() for name in said.split(";")}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_reference_gets_full_points(exercise: Exercise) -> None:
    """All of them, and there are ten."""
    found = graded(exercise, exercise.solution)
    assert failed(found) == set(), str(found)
    assert found.of == 10


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_stub_runs_and_fails(exercise: Exercise) -> None:
    """It gets at most half of the points, by checks that say why, not by an error of its own."""
    found = graded(exercise, exercise.stub)
    assert 2 * found.points <= found.of
    assert all(check.reason and not check.verdict for check in found.failed), str(found)


@pytest.mark.parametrize(("exercise", "path"), answers("wrong"))
def test_a_wrong_answer_fails_for_its_stated_reason(exercise: Exercise, path: Path) -> None:
    """It fails exactly the checks that its first lines name."""
    found = graded(exercise, path)
    assert failed(found) == stated(path), str(found)
    assert all(not check.verdict for check in found.failed), str(found)


@pytest.mark.parametrize(("exercise", "path"), answers("right"))
def test_another_right_answer_passes(exercise: Exercise, path: Path) -> None:
    """Other names and other designs are as good as the reference."""
    found = graded(exercise, path)
    assert failed(found) == set(), str(found)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_each_exercise_is_whole(exercise: Exercise) -> None:
    """A README that names every check, three hints for checks that exist, three wrong answers."""
    names = {check.name for check in graded(exercise, exercise.solution).checks}
    readme = (exercise.folder / "README.md").read_text(encoding="utf-8")
    assert [name for name in names if name not in readme] == []
    assert f"simqueue hint {exercise.number}" in readme
    assert len(exercise.hints) == 3
    assert {name for hint in exercise.hints for name in hint.helps_with} <= names
    assert len(list((ANSWERS / exercise.name).glob("wrong_*.py"))) >= 3
    two = exercise.number in ("06", "09", "10", "12")
    assert len(list((ANSWERS / exercise.name).glob("right_*.py"))) >= (2 if two else 0)


def test_answers_belong_to_exercises() -> None:
    """No folder of answers is left over from an exercise that has another name now."""
    names = {exercise.name for exercise in EXERCISES}
    assert {path.name for path in ANSWERS.iterdir() if re.match(r"\d\d_", path.name)} <= names
