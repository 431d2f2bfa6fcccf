"""Each statement of each reference solution is deleted or altered: some check must see it.

Those of a few quick exercises. Of all, in some minutes:
``SIMQUEUE_MUTANTS=all pytest tests/test_exercise_mutants.py``.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from simqueue.grading.exercise import Exercise, all_exercises
from simqueue.grading.mutation import excused, mutants, survivors

EXERCISES = all_exercises(Path(__file__).parents[1] / "exercises")
ANSWERS = Path(__file__).parent / "exercises"
ALL = os.environ.get("SIMQUEUE_MUTANTS") == "all"
QUICK = ("06",)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


MUTATED = [exercise for exercise in EXERCISES if ALL or exercise.number in QUICK]


@pytest.mark.parametrize("exercise", MUTATED, ids=lambda exercise: exercise.name)
def test_mutants_that_live_have_an_excuse(exercise: Exercise) -> None:
    """Each change to the reference is seen by some check, or is known to be as good as before."""
    alive = {mutant.change for mutant in survivors(exercise)}
    assert alive == excused(ANSWERS / exercise.name / "survivors.toml").keys()
    source = exercise.solution.read_text(encoding="utf-8")
    assert len(mutants(source)) >= statements(source)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_the_readme_counts_the_statements_of_the_reference(exercise: Exercise) -> None:
    """Those in its functions, without docstrings and constants."""
    count = statements(exercise.solution.read_text(encoding="utf-8"))
    readme = (exercise.folder / "README.md").read_text(encoding="utf-8")
    assert f"The reference solution has {count} statements." in readme


def statements(source: str) -> int:
    """How many statements the functions of `source` have, without their docstrings."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTIONS)]
    inside = [node for function in functions for each in function.body for node in ast.walk(each)]
    return sum(isinstance(node, ast.stmt) for node in inside) - sum(
        ast.get_docstring(function) is not None for function in functions
    )


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
