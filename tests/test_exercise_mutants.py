"""Each statement of each reference solution is deleted or altered: some check must see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simqueue.grading.exercise import Exercise, all_exercises
from simqueue.grading.mutation import excused, mutants, survivors

EXERCISES = all_exercises(Path(__file__).parents[1] / "exercises")
ANSWERS = Path(__file__).parent / "exercises"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_mutants_that_live_have_an_excuse(exercise: Exercise) -> None:
    """Each change to the reference is seen by some check, or is known to be as good as before."""
    alive = {mutant.change for mutant in survivors(exercise)}
    assert alive == excused(ANSWERS / exercise.name / "survivors.toml").keys()
    assert len(mutants(exercise.solution.read_text(encoding="utf-8"))) >= 10


def test_mutants_are_what_they_are_called() -> None:
    """One change each: a statement deleted, a comparison or a number altered, SQL cut off."""
    source = '''
def f(x):
    """Say."""
    if x == 1:
        raise ValueError(x)
    return g("SELECT a WHERE b", key=x + 1)
'''
    found = {mutant.change: mutant.source for mutant in mutants(source)}
    assert set(found) == {
        "delete if x == 1: raise ValueError(x)",
        "delete raise ValueError(x)",
        "delete return g('SELECT a WHERE b', key=x + 1)",
        "negate x == 1",
        "alter the comparison of x == 1",
        "add 1 to 1",
        "return instead of raise ValueError(x)",
        "cut off ' WHERE b'",
        "leave out key= of g('SELECT a WHERE b', key=x + 1)",
        "alter the operator of x + 1",
    }
    assert "if x != 1" in found["alter the comparison of x == 1"]
    assert "g('SELECT a', key" in found["cut off ' WHERE b'"]
