"""A JupyterLab on loopback and a headless Chromium: for tests that use a notebook as readers do.

A test asks for `notebook`, opens a file of `notebooks/` by its name, and gets a `NotebookPage`:

    def test_it_runs(notebook):
        page = notebook("02_visibility_timeout.ipynb")
        page.run_all()
        page.slider("Visibility timeout").press("ArrowRight")
        page.assert_no_errors()

Where there is no Chromium these tests skip, unless SIMQUEUE_BROWSER=required (as `.ci/run` sets
it): then they fail.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from browsing import (
    Lab,
    NotebookPage,
    close,
    find_chromium,
    launch,
    open_lab,
    open_notebook,
    running_lab,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page


def unavailable(reason: str) -> NoReturn:
    """Skip for `reason`, or fail where a browser is required."""
    if os.environ.get("SIMQUEUE_BROWSER") == "required":
        pytest.fail(f"A browser is required here, but {reason}.", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab that serves a copy of `notebooks/`."""
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium.

    It ends with the file of tests: as long as Playwright lives, its event loop counts as running,
    and whatever calls `asyncio.run` in a later test of the same process would be refused.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("Playwright is not installed")
    with sync_playwright() as playwright:
        path = find_chromium(playwright)
        if path is None:
            unavailable("no Chromium was found on this machine")
        chromium = launch(playwright, path)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def lab_page(browser: Browser, lab: Lab) -> Page:
    """JupyterLab in the browser: loaded once for a file of tests."""
    return open_lab(browser, lab)


@pytest.fixture
def notebook(lab_page: Page) -> Iterator[Callable[[str], NotebookPage]]:
    """A function that opens a notebook by its file name; it and its kernel end with the test."""
    yield from opening(lab_page)


@pytest.fixture(scope="module")
def shared_notebook(lab_page: Page) -> Iterator[Callable[[str], NotebookPage]]:
    """The same for a file of tests that use one notebook in turn, as running it takes long."""
    yield from opening(lab_page)


def opening(lab_page: Page) -> Iterator[Callable[[str], NotebookPage]]:
    """Yield the function, and then close what it has opened."""
    opened: list[NotebookPage] = []

    def open_one(name: str) -> NotebookPage:
        opened.append(open_notebook(lab_page, name))
        return opened[-1]

    yield open_one
    for each in opened:
        close(each)
