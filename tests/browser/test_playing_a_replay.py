"""The replay, played in a browser: by keyboard, at ten frames a second or more, without errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from browsing import write_notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from browsing import Lab, NotebookPage
    from playwright.sync_api import Locator

CODE = """\
import simqueue as sq
scenario = sq.Scenario(
    arrivals=sq.EvenlySpaced(interval=4), jobs=12, work=sq.LogNormal(median=10, p99=60),
    workers=sq.Workers(count=4, crash=sq.Crash(at=[(2, 20)], restart_after=15)),
    broker=sq.brokers.sqs(visibility_timeout=20, max_receive_count=3), handler=sq.handlers.reclaim,
)
sq.widgets.replay(sq.simulate(scenario, seed=3))"""
LEAST_FRAMES = 10


@pytest.fixture
def replay(lab: Lab, notebook: Callable[[str], NotebookPage]) -> NotebookPage:
    """A notebook with one replay, run."""
    page = notebook(write_notebook(lab, "replay_of_a_test", CODE))
    page.run_all()
    picture(page).wait_for()
    return page


def picture(page: NotebookPage) -> Locator:
    """The picture of the moment."""
    return page.page.locator("svg[aria-label^='The system at']")


def size_of_picture(page: NotebookPage) -> list[float]:
    """Where the picture is and how large, read at once, since each moment replaces it."""
    picture(page).wait_for()
    found = page.page.evaluate(
        """() => {
            const { x, y, width, height } = document.querySelector(
                "svg[aria-label^='The system at']").getBoundingClientRect();
            return [x, y, width, height];
        }"""
    )
    return list(found)


def label(page: NotebookPage) -> str:
    """What the picture says."""
    return str(picture(page).get_attribute("aria-label"))


def wait_for_label(page: NotebookPage, text: str) -> None:
    """Return once the picture says `text`."""
    page.page.locator(f"svg[aria-label*='{text}']").wait_for()


def button(page: NotebookPage, name: str) -> Locator:
    """A button of the replay, by what it is called."""
    return page.page.locator("button.jupyter-button", has_text=name)


def shot(page: NotebookPage, name: str) -> None:
    """Keep a picture of the page where SIMQUEUE_SCREENSHOTS says, for eyes to judge."""
    folder = os.environ.get("SIMQUEUE_SCREENSHOTS")
    if folder:
        page.page.screenshot(path=f"{folder}/{name}.png")


def frames_per_second(page: NotebookPage, seconds: float) -> float:
    """How often another picture was on the screen, in so many seconds of the browser's own time."""
    found = page.page.evaluate(
        """async seconds => {
            const now = () => document.querySelector(
                "svg[aria-label^='The system at']")?.getAttribute('aria-label');
            let last = now(), changes = 0;
            const start = performance.now();
            while (performance.now() - start < seconds * 1000) {
                await new Promise(requestAnimationFrame);
                const said = now();
                if (said && said !== last) { changes += 1; last = said; }
            }
            return changes / ((performance.now() - start) / 1000);
        }""",
        seconds,
    )
    return float(found)


def test_it_plays_steps_and_scrubs_by_keyboard(replay: NotebookPage) -> None:
    """Enter on the buttons, arrows on the slider: each moves the moment, and nothing jumps."""
    assert label(replay).startswith("The system at 0 s.")
    size = size_of_picture(replay)

    button(replay, "Next").focus()
    for _ in range(3):
        replay.page.keyboard.press("Enter")
    replay.page.get_by_role("status").filter(has_text="worker 1 starts delivery 1").wait_for()
    shot(replay, "replay_step")

    handle = replay.slider("Time (s)")
    handle.focus()
    before = label(replay)
    for _ in range(20):
        replay.page.keyboard.press("ArrowRight")
    wait_for_label(replay, "The system at 4")
    assert label(replay) != before

    button(replay, "Key moment").focus()
    replay.page.keyboard.press("Enter")
    wait_for_label(replay, "runs 2 times at once")
    shot(replay, "replay_key_moment")

    play = button(replay, "Play")
    play.focus()
    replay.page.keyboard.press("Enter")
    # A busy machine can only make it slower: the best of three seconds is what it can do.
    frames = max(frames_per_second(replay, 1) for _ in range(3))
    shot(replay, "replay_playing")
    print(f"{frames:.1f} frames a second")
    assert frames >= LEAST_FRAMES
    replay.page.keyboard.press("Enter")  # the focus is still on the button, now called Pause
    play.wait_for()
    stopped = label(replay)
    assert frames_per_second(replay, 0.5) == 0
    assert label(replay) == stopped

    handle.focus()
    replay.page.keyboard.press("End")
    wait_for_label(replay, "All workers are idle")
    shot(replay, "replay_end")
    assert size_of_picture(replay) == size
    replay.assert_no_errors()
