"""The notebooks in a browser, as a reader has them: run, guesses kept, quizzes answered.

Some of them; all, in some minutes: ``SIMQUEUE_LESSONS=all pytest tests/browser/test_course.py``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import NotebookPage

ALL = os.environ.get("SIMQUEUE_LESSONS") == "all"
QUICK = ("00", "01", "11")
LESSONS = sorted(
    path.name
    for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb")
    if ALL or path.name[:2] in QUICK
    if path.stem != "02_visibility_timeout"  # which has a file of tests to itself
)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_keeps_guesses_and_answers(
    lesson: str, notebook: Callable[[str], NotebookPage]
) -> None:
    """Every cell runs; a guess is kept by keyboard; a quiz says why, right or wrong."""
    page = notebook(lesson)
    page.run_all()
    box = page.page.locator("input[type=number]").first
    box.focus()
    box.press("ArrowUp")
    page.page.locator("button.jupyter-button", has_text="Keep my guess").first.press("Enter")
    page.page.get_by_text("Kept: 1").first.wait_for()
    choices = page.page.locator(".widget-radio-box").first.locator("input[type=radio]")
    for place in range(choices.count()):
        choices.nth(place).check()
        page.page.locator("p[role=status]", has_text="Not quite").or_(
            page.page.locator("p[role=status]", has_text="Yes.")
        ).first.wait_for()
    page.page.locator("p[role=status]", has_text="Not quite").or_(
        page.page.locator("p[role=status]", has_text="Yes.")
    ).first.wait_for()
    page.assert_no_errors()
    keep_pictures(page, lesson)


def keep_pictures(page: NotebookPage, name: str) -> None:
    """Keep the whole lesson as pictures where SIMQUEUE_SCREENSHOTS says, for eyes to judge."""
    folder = os.environ.get("SIMQUEUE_SCREENSHOTS")
    if not folder:
        return
    cells = page.page.locator(".jp-Cell")
    for place in range(cells.count()):
        cells.nth(place).scroll_into_view_if_needed()
        cells.nth(place).screenshot(path=f"{folder}/{Path(name).stem}-{place:02}.png")
