"""The notebooks in a browser, as a reader has them: each widget is used.

01 is in `test_keyboard` as well, 02 in `test_visibility_timeout`. With SIMQUEUE_SCREENSHOTS=folder
they keep a picture of each cell there, for eyes to judge.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsing import NotebookPage
    from playwright.sync_api import ElementHandle

LESSONS = sorted(
    path.name
    for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb")
    if path.stem != "02_visibility_timeout"  # which has a file of tests to itself
)
WIDGETS_PICTURE = """slider => {
    for (let box = slider.parentElement; box; box = box.parentElement) {
        const picture = box.querySelector('img, svg[role=img]');
        if (picture) return picture.src || picture.outerHTML;
    }
}"""


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_and_all_of_its_widgets_act(
    lesson: str, notebook: Callable[[str], NotebookPage]
) -> None:
    """Every cell runs; each slider moves its picture by keyboard; guess and quiz answer."""
    page = notebook(lesson)
    page.run_all()
    keep_pictures(page, lesson)
    move_each_slider(page)
    make_a_guess(page)
    answer_a_quiz(page)
    page.assert_no_errors()


def move_each_slider(page: NotebookPage) -> None:
    """Press an arrow key on each, and see another picture above or below it."""
    sliders = page.page.locator(".widget-slider [role=slider]").element_handles()
    assert sliders
    for slider in sliders:
        slider.scroll_into_view_if_needed()
        before = slider.evaluate(WIDGETS_PICTURE)
        at_end = slider.get_attribute("aria-valuenow") == slider.get_attribute("aria-valuemax")
        slider.focus()
        slider.press("ArrowLeft" if at_end else "ArrowRight")
        wait_for_another_picture(page, slider, before)


def wait_for_another_picture(page: NotebookPage, slider: ElementHandle, before: str) -> None:
    """Return once the picture that belongs to the slider is not `before` any more."""
    page.page.wait_for_function(
        f"([slider, before]) => ({WIDGETS_PICTURE})(slider) !== before", arg=[slider, before]
    )


def make_a_guess(page: NotebookPage) -> None:
    """Count up by one, and keep it."""
    box = page.page.locator("input[type=number]").first
    box.focus()
    box.press("ArrowUp")
    page.page.locator("button.jupyter-button", has_text="Keep my guess").first.press("Enter")
    page.page.get_by_text("Kept: 1").first.wait_for()


def answer_a_quiz(page: NotebookPage) -> None:
    """Each choice gets its answer."""
    choices = page.page.locator(".widget-radio-box").first.locator("input[type=radio]")
    assert choices.count() >= 2
    said = page.page.locator("p[role=status]")
    for place in range(choices.count()):
        choices.nth(place).check()
        said.filter(has_text="Not quite").or_(said.filter(has_text="Yes.")).first.wait_for()


def keep_pictures(page: NotebookPage, name: str) -> None:
    """Keep the whole lesson as pictures where SIMQUEUE_SCREENSHOTS says, for eyes to judge."""
    folder = os.environ.get("SIMQUEUE_SCREENSHOTS")
    if not folder:
        return
    cells = page.page.locator(".jp-Cell")
    for place in range(cells.count()):
        cells.nth(place).scroll_into_view_if_needed()
        cells.nth(place).screenshot(path=f"{folder}/{Path(name).stem}-{place:02}.png")
