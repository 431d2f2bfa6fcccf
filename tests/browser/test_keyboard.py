"""A lesson without a mouse: Tab reaches every control, one sees where it is, and keys do it all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsing import NotebookPage
    from playwright.sync_api import Locator

CONTROLS = """.jp-Notebook summary, .jp-OutputArea-output :is(input, select,
    button.jupyter-button, [role=slider], .widget-readout[contenteditable])"""
MOST_TABS = 120


@pytest.fixture(scope="module")
def lesson(shared_notebook: Callable[[str], NotebookPage]) -> NotebookPage:
    """Lesson 01, run: it has guesses, a replay, a slider, two quizzes, and an exercise's check."""
    page = shared_notebook("01_why_twice.ipynb")
    page.run_all()
    page.page.locator("svg[aria-label^='The system at']").wait_for()
    page.page.locator(".widget-radio-box").last.wait_for()
    return page


def start(page: NotebookPage) -> None:
    """Put the focus where a reader is after Run All and Home: on the first cell."""
    page.page.locator(".jp-Cell").first.focus()


def visible_controls(page: NotebookPage) -> list[Locator]:
    """All controls of the lesson, from top to bottom."""
    return [each for each in page.page.locator(CONTROLS).all() if each.is_visible()]


def has_focus(control: Locator) -> bool:
    """Whether keys go to this control."""
    return bool(control.evaluate("element => element === document.activeElement"))


def looks(control: Locator) -> str:
    """What the browser draws around it: outline, border, shadow, ground."""
    return str(
        control.evaluate(
            """element => {
                const style = getComputedStyle(element);
                const line = style.outlineStyle === 'none' ? '' : style.outline;
                return [line, style.border, style.boxShadow, style.backgroundColor].join(' | ');
            }"""
        )
    )


def tab_to(page: NotebookPage, control: Locator) -> None:
    """Press Tab until the control has the focus."""
    for _ in range(MOST_TABS):
        page.page.keyboard.press("Tab")
        if has_focus(control):
            return
    pytest.fail(f"Tab does not reach {control}")


def button(page: NotebookPage, name: str) -> Locator:
    """The first button of that name."""
    return page.page.locator("button.jupyter-button", has_text=name).first


def said(page: NotebookPage) -> str:
    """What the picture of the replay says."""
    picture = page.page.locator("svg[aria-label^='The system at']")
    return str(picture.get_attribute("aria-label"))


def shot(page: NotebookPage, name: str) -> None:
    """Keep a picture of the page where SIMQUEUE_SCREENSHOTS says, for eyes to judge."""
    folder = os.environ.get("SIMQUEUE_SCREENSHOTS")
    if folder:
        page.page.screenshot(path=f"{folder}/{name}.png")


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(lesson: NotebookPage) -> None:
    """One Tab from each control to the next, top to bottom; each looks different with the focus."""
    controls = visible_controls(lesson)
    assert len(controls) > 15
    start(lesson)
    tab_to(lesson, controls[0])
    alike = []
    for place, control in enumerate(controls):
        assert has_focus(control), f"control {place} is not next"
        with_focus = looks(control)
        lesson.page.keyboard.press("Tab")
        if looks(control) == with_focus:
            alike.append(place)
    assert alike == []
    lesson.assert_no_errors()


def test_a_lesson_can_be_done_by_keyboard(lesson: NotebookPage) -> None:
    """Guess, play, step and scrub the replay, answer a quiz: Tab, arrows, Space and Enter."""
    page, press = lesson.page, lesson.page.keyboard.press
    start(lesson)
    tab_to(lesson, page.locator(".jp-OutputArea-output input[type=number]").first)
    press("ArrowUp")
    tab_to(lesson, button(lesson, "Keep my guess"))
    press("Space")
    page.get_by_text("Kept: 1").first.wait_for()
    shot(lesson, "keyboard_guess")

    play = button(lesson, "Play")
    tab_to(lesson, play)
    press("Enter")
    pause = button(lesson, "Pause")
    pause.wait_for()
    page.locator(
        "svg[aria-label^='The system at']:not([aria-label^='The system at 0 s'])"
    ).wait_for()
    press("Enter")
    play.wait_for()
    tab_to(lesson, button(lesson, "Next"))
    before = said(lesson)
    press("Space")
    page.wait_for_function(
        """before => document.querySelector("svg[aria-label^='The system at']")
            .getAttribute('aria-label') !== before""",
        arg=before,
    )
    shot(lesson, "keyboard_replay")
    tab_to(lesson, lesson.slider("Time (s)"))
    press("Home")
    page.locator("svg[aria-label^='The system at 0 s']").wait_for()

    quiz = page.locator(".jp-OutputArea-output", has=page.locator(".widget-radio-box")).first
    answers = quiz.locator("input[type=radio]")
    tab_to(lesson, answers.nth(0))
    press("Space")
    quiz.get_by_role("status").filter(has_text="Not quite.").wait_for()
    press("Tab")
    press("Space")
    quiz.get_by_role("status").filter(has_text="Yes.").wait_for()
    assert [each.is_checked() for each in answers.all()] == [False, True, False]
    shot(lesson, "keyboard_quiz")
    lesson.assert_no_errors()
