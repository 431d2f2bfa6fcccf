"""The gallery of incidents in a browser: picked by keyboard, and everything changes together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from browsing import write_notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsing import Lab, NotebookPage

CODE = """\
import simqueue as sq
sq.widgets.gallery()"""
PICTURES = ".jp-OutputArea img[alt^='{}: ']"


def seen(page: NotebookPage) -> list[str]:
    """The heading, and the source and words of both timelines."""
    found: list[str] = [page.page.locator("h3", has_text="INC-").inner_text()]
    for when in ("Before", "After"):
        picture = page.page.locator(PICTURES.format(when)).last
        found += [picture.get_attribute("src") or "", picture.get_attribute("alt") or ""]
    return found


def wait_for(page: NotebookPage, number: str) -> None:
    """Return once the status says that this incident is shown."""
    page.page.locator("p[role=status]", has_text=f"{number}. Before the fix").wait_for()


def pick(page: NotebookPage, *keys: str) -> None:
    """Open the list that has the focus, go along in it, and take what is there.

    JupyterLab takes the arrow keys for itself as long as a list is closed.
    """
    page.page.keyboard.press("Space")
    page.page.wait_for_function("() => document.activeElement.matches('select:open')")
    for key in (*keys, "Enter"):
        page.page.keyboard.press(key)


def shot(page: NotebookPage, name: str) -> None:
    """Keep a picture of the page where SIMQUEUE_SCREENSHOTS says, for eyes to judge."""
    folder = os.environ.get("SIMQUEUE_SCREENSHOTS")
    if folder:
        page.page.screenshot(path=f"{folder}/{name}.png")


def test_incidents_are_picked_by_keyboard(
    lab: Lab, notebook: Callable[[str], NotebookPage]
) -> None:
    """Space, arrows and Enter pick one and narrow the list: report, words and pictures change."""
    page = notebook(write_notebook(lab, "gallery_of_a_test", CODE))
    page.run_all()
    incidents = page.page.get_by_role("combobox", name="Incident")
    incidents.wait_for()
    wait_for(page, "INC-01")
    first = seen(page)
    shot(page, "gallery_first")

    incidents.focus()
    pick(page, "ArrowDown")
    wait_for(page, "INC-02")
    second = seen(page)
    assert not set(first) & set(second)
    shot(page, "gallery_second")

    page.page.keyboard.press("Shift+Tab")
    pick(page, *(["ArrowDown"] * 7))
    wait_for(page, "INC-20")
    page.page.keyboard.press("Tab")
    pick(page, "End")
    wait_for(page, "INC-85")
    assert not set(second) & set(seen(page))
    assert incidents.locator("option").count() == 5
    shot(page, "gallery_kafka")
    page.assert_no_errors()
