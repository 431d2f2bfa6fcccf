"""The map of the course: read from the notebooks, and what a learner has done of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import simqueue as sq
from simqueue import learner
from simqueue.cli.app import cli
from simqueue.course import notebooks as module
from simqueue.course.notebooks import find_lesson, lessons
from simqueue.grading import progress
from simqueue.grading.exercise import Exercise, all_exercises
from simqueue.grading.results import Check, Graded

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
COURSE = lessons(NOTEBOOKS)


def sources(path: Path, kind: str = "code") -> list[str]:
    """The text of each cell of one kind."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == kind]


def written(folder: Path, name: str, *code: str, prose: str = "# What for?") -> Path:
    """A notebook of one piece of prose and some code."""
    cells = [{"cell_type": "markdown", "source": [prose]}]
    cells += [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in code]
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


# What the lessons ask


def test_there_are_as_many_lessons_as_notebooks():
    """By number, each with the title that stands on its first line."""
    assert [each.path for each in COURSE] == sorted(NOTEBOOKS.glob("*.ipynb"))
    for each in COURSE:
        assert sources(each.path, "markdown")[0].splitlines()[0] == f"# {each.title}"


@pytest.mark.parametrize("lesson", COURSE, ids=lambda each: each.number)
def test_nothing_that_a_lesson_asks_is_overlooked(lesson):
    """As many guesses, quizzes and goals as its code has, counted in another way."""
    code = "\n".join(sources(lesson.path))
    assert len(lesson.guesses) == code.count("widgets.predict(")
    assert len(lesson.quizzes) == code.count("widgets.quiz(")
    assert bool(lesson.goals) == ("goals=" in code)
    checked = re.findall(r'exercises\.check\("(\d+)"\)', code)
    assert set(checked) <= {name[:2] for each in COURSE for name in each.exercises}


def test_the_right_answer_of_each_quiz_is_one_of_its_choices():
    """So that it can be got right."""
    for lesson in COURSE:
        code = "\n".join(sources(lesson.path))
        for right in lesson.quizzes.values():
            assert code.count(f'"{right}"') >= 2


@pytest.mark.parametrize("asked", ["guesses", "quizzes", "goals"])
def test_no_two_questions_of_the_course_are_alike(asked):
    """They are found again by their text: a guess in one lesson must not answer another."""
    texts = [text for lesson in COURSE for text in getattr(lesson, asked)]
    assert texts
    assert [text for text in texts if texts.count(text) > 1] == []


def test_every_exercise_belongs_to_one_lesson():
    """To the first that names it."""
    names = [name for lesson in COURSE for name in lesson.exercises]
    assert sorted(names) == [each.name for each in all_exercises(ROOT / "exercises")]


def test_the_map_for_paper_says_the_same():
    """The table in the first lesson has each lesson's link, title and exercises."""
    (table,) = [text for text in sources(COURSE[0].path, "markdown") if "| question |" in text]
    rows = re.findall(r"^\| \[(\d\d)\]\((.+?)\) \| (.+?) \| (.*?) ?\|$", table, flags=re.M)
    found = [(number, link, title, re.findall(r"\d\d", last)) for number, link, title, last in rows]
    assert found == [
        (each.number, each.path.name, each.title, [name[:2] for name in each.exercises])
        for each in COURSE[1:]
    ]


def test_a_lesson_is_read_from_its_notebook(tmp_path):
    """Its first heading, its calls, and the exercises that its prose names in code marks."""
    written(
        tmp_path,
        "03_what.ipynb",
        'guess = sq.widgets.predict("How\\n" "often?", high=3)\nguess',
        'sq.widgets.quiz("Why?", {"So.": "", "No.": ""}, right="So.")',
        'sq.widgets.tune(world, {}, goals={"Few.": {}, "Quick.": {}})',
        'sq.exercises.check("06")',
        prose="# What for?\n\n## Not this\n\n`exercises/07_set_nx/README.md`, `08_no`, 09_fencing",
    )
    (found,) = lessons(tmp_path)
    assert found.title == "What for?"
    assert found.guesses == ("How\noften?",)
    assert found.quizzes == {"Why?": "So."}
    assert found.goals == ("Few.", "Quick.")
    assert found.exercises == ("06_atomic_claim", "07_set_nx")


def test_a_cell_that_is_no_python_and_a_file_that_is_no_notebook_are_passed_over(tmp_path):
    """A reader is in the middle of an edit: the map shows all the rest."""
    written(tmp_path, "01_a.ipynb", "def half(", 'sq.widgets.predict("How often?")')
    (tmp_path / "02_the_other.ipynb").write_text("<<<<<<<", encoding="utf-8")
    first, second = lessons(tmp_path)
    assert first.guesses == ("How often?",)
    assert second.title == "the other"
    assert second.guesses == ()


# What was done


@pytest.fixture
def small(tmp_path) -> Path:
    """A course of two lessons: one with a guess, a quiz and a goal, one with an exercise."""
    folder = tmp_path / "notebooks"
    written(
        folder,
        "00_start_here.ipynb",
        'sq.widgets.predict("How often?", high=3)',
        'sq.widgets.quiz("Why?", {"So.": "", "No.": ""}, right="So.")',
        'sq.widgets.tune(world, {}, goals={"Few.": {}})',
        prose="# First <thing>",
    )
    written(
        folder,
        "01_b.ipynb",
        'sq.widgets.predict("When?", high=3)',
        'sq.exercises.check("06")',
        prose="# Second",
    )
    return folder


def do_the_first() -> None:
    """All that the first lesson of the small course asks."""
    learner.keep_guess("How often?", 2)
    learner.keep_answer("Why?", "So.")
    learner.goal_found("Few.")


def test_at_first_nothing_is_done(small):
    """The next lesson is the first one; an exercise is not started."""
    overview = sq.course.overview(small)
    assert overview.headline == "You have done 0 of 2 lessons and 0 of 1 exercises."
    assert overview.next is overview.standings[0]
    assert [each.word for each in overview.standings] == ["-", "-"]
    assert [str(each) for each in overview.standings[1].exercises] == ["06: not started"]


def test_a_lesson_is_done_when_all_it_asks_is_done(small):
    """Begun before; and then the next one is next."""
    learner.keep_guess("How often?", 2)
    learner.keep_answer("Why?", "No.")
    first = sq.course.overview(small).standings[0]
    assert (str(first.guesses), str(first.quizzes), str(first.goals)) == (
        "1 of 1",
        "0 of 1",
        "0 of 1",
    )
    assert first.word == "begun"
    do_the_first()
    overview = sq.course.overview(small)
    assert overview.standings[0].word == "done"
    assert overview.headline == "You have done 1 of 2 lessons and 0 of 1 exercises."
    assert overview.next is overview.standings[1]


def test_exercises_count_by_themselves(small):
    """Points make a lesson begun; only guesses, questions and goals make it done."""
    checks = (Check(name="a", of=10, passed=True),)
    exercise = Exercise(ROOT / "exercises" / "06_atomic_claim")
    progress.note(exercise, Graded(exercise=exercise.name, checks=checks))
    overview = sq.course.overview(small)
    assert [str(each) for each in overview.standings[1].exercises] == ["06: 10 of 10 points"]
    assert overview.standings[1].word == "begun"
    assert overview.headline == "You have done 0 of 2 lessons and all 1 exercises."


def test_after_the_last_lesson_nothing_is_next(small):
    """All are done, and the map says so."""
    do_the_first()
    learner.keep_guess("When?", 2)
    overview = sq.course.overview(small)
    assert overview.next is None
    assert overview.headline == "You have done all 2 lessons and 0 of 1 exercises."
    assert "Next" not in str(overview)


def test_the_table_is_made_for_screen_readers_too(small, monkeypatch):
    """Headings of columns and rows, links to the notebooks, text and no markup in titles."""
    monkeypatch.chdir(small)
    shown = sq.course.overview()._repr_html_()
    assert shown.count("scope='col'") == 6
    assert shown.count("scope='row'") == 2
    assert "<a href='00_start_here.ipynb'>00 First &lt;thing&gt;</a>" in shown
    assert "color" not in shown


def test_links_lead_to_the_notebooks_from_anywhere(small, monkeypatch):
    """Relative to where the notebook with the map is, and in a copy of the course to the copy."""
    monkeypatch.chdir(small.parent)
    assert "<a href='notebooks/00_start_here.ipynb'>" in sq.course.overview(small)._repr_html_()
    deep = small / "my own"
    deep.mkdir()
    monkeypatch.chdir(deep)
    assert "<a href='../00_start_here.ipynb'>" in sq.course.overview()._repr_html_()


# Finding them


@pytest.mark.parametrize("place", [".", "notebooks", "exercises/06_atomic_claim", "docs"])
def test_the_course_is_found_from_any_folder_of_the_clone(place, monkeypatch):
    """Also where the package lies somewhere else."""
    monkeypatch.setattr(module, "__file__", os.sep + os.path.join("a", "b", "c.py"))
    monkeypatch.chdir(ROOT / place)
    assert len(sq.course.overview().standings) == len(COURSE)


def test_without_notebooks_one_sentence_says_so(tmp_path, monkeypatch):
    """Somewhere else altogether, or in a folder that has none."""
    monkeypatch.setattr(module, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "01_my_own.ipynb").touch()
    with pytest.raises(ValueError, match="notebooks of the course are not here: run this in the"):
        sq.course.overview()
    with pytest.raises(ValueError, match="folder must hold the notebooks of the course, not '"):
        sq.course.overview(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "wanted", ["2", "02", "02_visibility_timeout", "02_visibility_timeout.ipynb"]
)
def test_a_lesson_is_found_by_number_or_name(wanted):
    """As one would type it."""
    assert find_lesson(wanted, NOTEBOOKS).name == "02_visibility_timeout.ipynb"


@pytest.mark.parametrize("wanted", ["77", "", "visibility", "²", "-1"])
def test_an_unknown_lesson_lists_those_there_are(wanted):
    """In one sentence."""
    with pytest.raises(ValueError, match=r"^lesson must be one of 00, 01, .*, 14, not '"):
        find_lesson(wanted, NOTEBOOKS)


# On the command line


def test_the_command_prints_the_map_and_starts_over():
    """The same words as in a notebook; after --reset nothing is done."""
    call = CliRunner().invoke
    for question in COURSE[0].guesses:
        learner.keep_guess(question, 1)
    assert "guesses 1 of 1" in call(cli, ["progress"]).output
    assert call(cli, ["progress"]).output == f"{sq.course.overview()}\n"
    assert "Nothing is kept any more." in call(cli, ["progress", "--reset"]).output
    assert "guesses 0 of 1" in call(cli, ["progress"]).output
