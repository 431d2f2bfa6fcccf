"""The lesson on the visibility timeout, used as a reader uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsing import NotebookPage
    from playwright.sync_api import Locator

TIMEOUT = "Visibility timeout"
PERCENTILE = "Work, 99th percentile"


@pytest.fixture(scope="module")
def lesson(shared_notebook: Callable[[str], NotebookPage]) -> NotebookPage:
    """The lesson, open, every cell run, and its curve fully simulated."""
    lesson = shared_notebook("02_visibility_timeout.ipynb")
    lesson.run_all()
    curve(lesson).scroll_into_view_if_needed()
    still(lesson)
    return lesson


def curve(lesson: NotebookPage) -> Locator:
    """The picture that the sliders move."""
    return lesson.page.locator(".widget-html img[alt^='Curves against the visibility timeout']")


def status(lesson: NotebookPage) -> Locator:
    """What the picture says in words."""
    return lesson.page.get_by_role("status").filter(has_text="With the visibility timeout at")


def source(lesson: NotebookPage) -> str:
    """The picture itself, as the address that holds it."""
    return str(curve(lesson).get_attribute("src"))


def wait_for_other_picture(lesson: NotebookPage, before: str) -> None:
    """Return once the picture is another one, and decoded."""
    lesson.page.wait_for_function(
        "([image, before]) => image.isConnected === false || image.src !== before",
        arg=[curve(lesson).element_handle(), before],
    )
    lesson.page.wait_for_function(
        "image => image.complete && image.naturalWidth > 0", arg=curve(lesson).element_handle()
    )


def still(lesson: NotebookPage) -> str:
    """Wait until the picture has not changed for over a second: all is simulated. Return it."""
    lesson.page.evaluate(
        """async () => {
            const find = () => document.querySelector(
                ".widget-html img[alt^='Curves against the visibility timeout']").src;
            let last = find(), since = performance.now();
            while (performance.now() - since < 1200) {
                await new Promise(done => setTimeout(done, 50));
                if (find() !== last) { last = find(); since = performance.now(); }
            }
        }"""
    )
    return source(lesson)


def watch_size(lesson: NotebookPage) -> None:
    """From now on, note the size of the picture at every frame that the browser draws."""
    lesson.page.evaluate(
        """() => {
            window.sizes = new Set();
            const look = () => {
                const image = document.querySelector(
                    ".widget-html img[alt^='Curves against the visibility timeout']");
                const box = image ? image.getBoundingClientRect() : {width: 0, height: 0};
                window.sizes.add(`${Math.round(box.width)} x ${Math.round(box.height)}`);
                requestAnimationFrame(look);
            };
            look();
        }"""
    )


def test_sliders_move_the_curve_and_reset_brings_it_back(lesson: NotebookPage) -> None:
    """Arrow keys change picture, words and code, without flicker; Reset gives the first picture."""
    first = still(lesson)
    watch_size(lesson)
    timeout = lesson.slider(TIMEOUT)
    timeout.focus()
    for _ in range(10):
        timeout.press("ArrowRight")
    status(lesson).filter(has_text="timeout at 40 s:").wait_for()
    assert lesson.readout(TIMEOUT).text_content() == "40"
    assert source(lesson) != first
    assert lesson.page.get_by_text('"broker.visibility_timeout": 40').count() == 1

    before = still(lesson)
    lesson.slider(PERCENTILE).focus()
    lesson.slider(PERCENTILE).press("PageUp")
    wait_for_other_picture(lesson, before)
    still(lesson)
    sizes = lesson.page.evaluate("() => [...window.sizes]")
    assert len(sizes) == 1
    assert not sizes[0].startswith("0")

    lesson.page.get_by_role("button", name="Reset").click()
    status(lesson).filter(has_text="timeout at 30 s:").wait_for()
    assert still(lesson) == first
    assert lesson.readout(PERCENTILE).text_content() == "90"
    lesson.assert_no_errors()


def test_guesses_are_kept_and_pictures_have_texts(lesson: NotebookPage) -> None:
    """A guess appears in words and on the curve; each picture has an alt text with numbers."""
    before = still(lesson)
    box = lesson.page.get_by_role("spinbutton").nth(1)
    box.fill("20")
    box.press("Enter")
    lesson.page.get_by_role("button", name="Keep my guess").nth(1).click()
    lesson.page.get_by_role("status").filter(has_text="Kept: 20 %.").wait_for()
    wait_for_other_picture(lesson, before)

    pictures = lesson.page.locator(".jp-OutputArea img").all()
    texts = [picture.get_attribute("alt") or "" for picture in pictures]
    assert len(texts) >= 2  # JupyterLab takes those far off the screen out of the page
    assert [text for text in texts if not any(letter.isdigit() for letter in text)] == []
    lesson.assert_no_errors()
