"""What a learner has done is kept over restarts, and no lesson ever fails for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import simqueue as sq
from simqueue import learner
from simqueue.grading import progress
from simqueue.grading.exercise import Exercise, all_exercises
from simqueue.grading.results import Check, Graded

EXERCISES = Path(__file__).parents[1] / "exercises"
ATOMIC = Exercise(EXERCISES / "06_atomic_claim")
ANSWERS = {"Yes, always.": "Not if the ack is lost.", "No.": "The ack may be lost."}


def asked(high: float = 10, low: float = 0):
    """The box of a question, as after a start of the kernel."""
    return sq.widgets.predict("How often?", low=low, high=high)


def keep(guess, value):
    """Make a guess as a reader does."""
    guess.box.value = value
    guess.button.click()


def quizzed():
    """A quiz, as after a start of the kernel."""
    return sq.widgets.quiz("Is it done?", ANSWERS, right="No.")


def damage(text: str) -> None:
    """Put this into the learner's file."""
    learner.state_file().parent.mkdir(parents=True, exist_ok=True)
    learner.state_file().write_text(text, encoding="utf-8")


# Guesses and answers


def test_a_guess_is_there_again_after_a_restart():
    """Its value, its words, what it is compared with; and it can be changed."""
    keep(asked(), 3)
    again = asked()
    assert again.value == 3
    assert again.box.value == 3
    assert "Kept: 3." in again.children[2].value
    assert "You guessed 3; it is 5." in again.compared_with(5).value
    keep(again, 4)
    assert asked().value == 4


def test_a_number_in_the_box_alone_is_no_guess():
    """Only the button keeps it."""
    asked().box.value = 3
    assert asked().value is None


def test_another_question_has_its_own_guess():
    """They are told apart by their text."""
    keep(asked(), 3)
    assert sq.widgets.predict("How often not?", low=0, high=10).value is None


@pytest.mark.parametrize(("low", "high"), [(0, 2), (4, 9), (2, 10)])
def test_a_guess_that_cannot_be_made_any_more_is_dropped(low, high):
    """Out of a new range; or a fraction, where the question now asks for a whole number."""
    keep(asked(high=10.0), 3 if low != 2 else 2.5)
    assert asked(low=low, high=high).value is None


def test_an_answer_is_there_again_after_a_restart():
    """The choice, and what it says, right or not."""
    first = quizzed()
    first.choices.value = "Yes, always."
    assert "Not quite. Not if the ack is lost." in quizzed().children[2].value
    first.choices.value = "No."
    again = quizzed()
    assert again.is_right
    assert again.choices.value == "No."
    assert "Yes. The ack may be lost." in again.children[2].value


def test_an_answer_that_is_no_choice_any_more_is_dropped():
    """The quiz begins anew."""
    learner.keep_answer("Is it done?", "Perhaps.")
    assert quizzed().choices.value is None
    assert "Choose" in quizzed().children[2].value


# Goals and exercises


def test_goals_are_kept_once_found():
    """Each once, by its text."""
    for text in ("Few twice.", "Quick.", "Few twice."):
        learner.goal_found(text)
    assert learner.goals_found() == {"Few twice.", "Quick."}


def graded(*points: tuple[int, bool]) -> Graded:
    """A grading of exercise 06 with these checks."""
    checks = [Check(name=str(of), of=of, passed=passed) for of, passed in points]
    return Graded(exercise=ATOMIC.name, checks=tuple(checks))


def test_points_of_the_last_full_grading_are_kept():
    """None at first; those of one check alone are not those of the exercise."""
    assert progress.load(ATOMIC).points is None
    progress.note(ATOMIC, graded((6, True), (4, False)))
    progress.note(ATOMIC, graded((4, True)))
    assert progress.load(ATOMIC).points == 6


def test_hints_leave_the_points_alone():
    """Unfolded, and folded up again."""
    progress.note(ATOMIC, graded((6, True), (4, False)))
    progress.unfold(ATOMIC)
    progress.forget_hints([ATOMIC])
    assert progress.load(ATOMIC).points == 6


@pytest.mark.parametrize("exercise", all_exercises(EXERCISES), ids=lambda each: each.name)
def test_every_exercise_has_ten_points(exercise):
    """As its grader's marks add up."""
    assert exercise.points == 10


def test_a_check_in_a_notebook_is_remembered():
    """Also the zero points of a stub, for which `check` starts a process of its own."""
    points = sq.exercises.check("06", EXERCISES).points
    assert points < 10
    assert progress.load(ATOMIC).points == points


# The file


def test_everything_lies_in_one_file():
    """A guess, an answer, a goal and an exercise, side by side, as plain JSON."""
    keep(asked(), 3)
    quizzed().choices.value = "No."
    learner.goal_found("Few twice.")
    progress.note(ATOMIC, graded((6, True), (4, False)))
    assert [path.name for path in learner.state_file().parent.iterdir()] == ["progress.json"]
    assert json.loads(learner.state_file().read_text(encoding="utf-8")) == {
        "guesses": {"How often?": 3},
        "answers": {"Is it done?": "No."},
        "goals": ["Few twice."],
        "06_atomic_claim": {"failed": ["4"], "shown": [], "points": 6},
    }


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "3", "[" * 100_000, '{"guesses": 3, "answers": [], "goals": {}}'),
        '{"guesses": {"How often?": "3"}, "answers": {"Is it done?": 3}, "goals": [3]}',
        '{"guesses": {"How often?": NaN}, "answers": {"Is it done?": null}, "goals": null}',
        '{"guesses": {"How often?": true}, "06_atomic_claim": {"points": "6"}}',
    ],
)
def test_a_damaged_file_counts_as_empty_and_is_mended(text):
    """Nothing fails, nothing is made up, and what comes next is kept."""
    damage(text)
    assert asked().value is None
    assert quizzed().choices.value is None
    assert learner.goals_found() == set()
    assert progress.load(ATOMIC).points is None
    keep(asked(), 3)
    quizzed().choices.value = "No."
    learner.goal_found("Few twice.")
    assert asked().value == 3
    assert quizzed().is_right
    assert learner.goals_found() == {"Few twice."}


def test_bytes_that_are_no_text_count_as_empty():
    """Such as those of a disk gone wrong."""
    learner.state_file().write_bytes(b"\xff\xfe\x00")
    assert asked().value is None


def test_where_nothing_can_be_written_nothing_is_said(tmp_path, monkeypatch, capfd):
    """A file stands where the folder should be: the guess holds until the kernel ends."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("SIMQUEUE_STATE", str(tmp_path / "file"))
    guess = asked()
    keep(guess, 3)
    quizzed().choices.value = "No."
    learner.goal_found("Few twice.")
    assert guess.value == 3
    assert asked().value is None
    assert learner.goals_found() == set()
    assert capfd.readouterr() == ("", "")


def test_an_account_without_a_home_keeps_nothing(monkeypatch):
    """Some containers have such accounts."""

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    for name in ("SIMQUEUE_STATE", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    keep(asked(), 3)
    assert asked().value is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another place for it")
def test_without_a_wish_the_file_lies_in_the_users_own_folder(tmp_path, monkeypatch):
    """Where programs keep their state."""
    monkeypatch.delenv("SIMQUEUE_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert learner.state_file() == tmp_path / "simqueue" / "progress.json"


def test_starting_over_forgets_everything():
    """Guesses and answers; a second time does no harm."""
    keep(asked(), 3)
    quizzed().choices.value = "No."
    learner.forget_all()
    learner.forget_all()
    assert asked().value is None
    assert quizzed().choices.value is None
