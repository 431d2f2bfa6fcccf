"""A lesson as a page without code (`simqueue lab --app`), in a browser."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import wait_for_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
# A build that runs in the background may have Ctrl-C switched off.
CTRL_C_WORKS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
START = [sys.executable, "-c", f"{CTRL_C_WORKS}; from simqueue.cli import main; main()"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that the command printed; Ctrl-C at the end, as a reader would press it."""
    pytest.importorskip("voila")
    base = tmp_path_factory.mktemp("app")
    own = {
        name: str(base / name.lower())
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [*START, "lab", "--app", "0", "--port", str(port), "--no-browser"]
    log = base / "app.log"
    with log.open("w") as file:
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | own | {"PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=file,
        )
    try:
        wait_for_server(f"http://127.0.0.1:{port}/", server, log)
        (printed,) = re.findall(r"http://\S+", log.read_text())
        yield printed
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


@pytest.fixture(scope="module")
def lesson(browser: Browser, address: str) -> Iterator[Page]:
    """The first lesson, as a page."""
    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(address, timeout=90_000)
    page.locator(".widget-slider").first.wait_for(timeout=30_000)
    yield page
    page.close()


def test_it_shows_prose_pictures_and_the_map_and_no_code(lesson: Page) -> None:
    """What one reads and moves is there; of the code, nothing, not even in the page's source."""
    assert lesson.get_by_role("heading", name="Start here").is_visible()
    assert lesson.locator("img[alt*='visibility timeout'], img[alt*='worker']").count() >= 2
    assert lesson.get_by_text("You have done 0 of 15 lessons").is_visible()
    assert "sq.Scenario(" not in lesson.content()
    assert lesson.locator(".jp-InputArea-editor, .highlight").count() == 0
    assert lesson.get_by_text("Nothing moves here?").count() == 0


def test_a_slider_moves_the_picture(lesson: Page) -> None:
    """By an arrow key: another picture, another sentence."""
    slider = lesson.locator(".widget-slider", has_text="Visibility timeout")
    before = lesson.locator("img[alt*='With the visibility timeout at 30 s']").get_attribute("src")
    slider.get_by_role("slider").press("ArrowRight")
    moved = lesson.locator("img[alt*='With the visibility timeout at 31 s']")
    moved.wait_for()
    assert moved.get_attribute("src") != before
    lesson.get_by_role("status").filter(has_text="With the visibility timeout at 31 s").wait_for()
