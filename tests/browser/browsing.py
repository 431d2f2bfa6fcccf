"""A JupyterLab on loopback and a headless Chromium, to use a notebook as a reader does.

The tests of this folder use it through their fixtures, and `benchmarks/browser.py` by itself.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Playwright

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM_FLAGS = [
    "--no-sandbox",  # a container's root has no other way
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_SECONDS = 60
SETTINGS = {
    "page_config.json": {
        "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True},
    },
    # Cells out of sight stay in the page, where a test can find them.
    "default_setting_overrides.json": {
        "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
        "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    },
}
CODE_CELLS = """window.jupyterapp.shell.currentWidget.content.widgets
    .map(cell => cell.model).filter(model => model.type === 'code')"""


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address and token, and the copy of `notebooks/` that it serves."""

    url: str
    token: str
    folder: Path


@dataclass
class NotebookPage:
    """One notebook, open in JupyterLab: `errors` is what its page threw or logged."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def threw(self, error: Exception) -> None:
        """Keep what the page threw."""
        self.errors.append(str(error))

    def said(self, message: ConsoleMessage) -> None:
        """Keep what the console was told, if it is an error."""
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def run_all(self, seconds: float = 120) -> None:
        """Run every cell by the menu, wait until all have run or one failed; assert_no_errors."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        self.page.wait_for_function(
            f"""() => {{
                const cells = {CODE_CELLS};
                const failed = cell => cell.outputs.toJSON().some(o => o.output_type === 'error');
                const ran = cell => cell.executionCount && cell.executionState !== 'running';
                return cells.some(failed) || (cells.length > 0 && cells.every(ran));
            }}""",
            timeout=seconds * 1000,
        )
        self.assert_no_errors()

    def slider(self, label: str) -> Locator:
        """The handle of the slider with that label: focus it, press keys on it."""
        return self.slider_box(label).get_by_role("slider")

    def readout(self, label: str) -> Locator:
        """The number beside that slider (aria-valuenow is rounded to one decimal: don't use it)."""
        return self.slider_box(label).locator(".widget-readout")

    def slider_box(self, label: str) -> Locator:
        """The whole slider, found by its label: ipywidgets gives the handle no accessible name."""
        labelled = self.page.locator(".widget-label", has_text=label)
        return self.page.locator(".widget-slider", has=labelled)

    def assert_no_errors(self) -> None:
        """Fail if the page threw an exception, or a cell shows an error or anything on stderr."""
        assert self.errors == []
        shown = self.page.evaluate(
            f"""() => {CODE_CELLS}.flatMap(cell => cell.outputs.toJSON())
                .map(o => o.output_type === 'error' ? `${{o.ename}}: ${{o.evalue}}`
                          : o.name === 'stderr' ? o.text : '')
                .filter(text => text)"""
        )
        assert shown == []


@contextmanager
def running_lab(base: Path) -> Iterator[Lab]:
    """A JupyterLab that serves a copy of `notebooks/`, with none of the settings of its user.

    All that it writes is in the folder `base`.
    """
    folder = base / "notebooks"
    if NOTEBOOKS.exists():
        # A copy: a notebook of the repository stays as it is, whatever a test does to it.
        shutil.copytree(NOTEBOOKS, folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    else:
        folder.mkdir()
    (base / "config" / "labconfig").mkdir(parents=True)
    for name, settings in SETTINGS.items():
        (base / "config" / "labconfig" / name).write_text(json.dumps(settings))

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, token = f"http://127.0.0.1:{port}", "test"
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"),
        "--LabApp.expose_app_in_browser=True",
    ]
    own = {
        "JUPYTER_CONFIG_DIR": base / "config",
        "JUPYTER_DATA_DIR": base / "data",
        "JUPYTER_RUNTIME_DIR": base / "runtime",
        "IPYTHONDIR": base / "ipython",
    }
    environment = os.environ | {name: str(path) for name, path in own.items()}
    with (base / "lab.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for_server(f"{url}/api?token={token}", server, base / "lab.log")
        yield Lab(url, token, folder)
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def wait_for_server(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Return once `address` answers; AssertionError with the end of `log` if it never does."""
    for _ in range(START_SECONDS * 4):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise AssertionError(f"The server did not start:\n{log.read_text()[-2000:]}")


def find_chromium(playwright: Playwright) -> str | None:
    """The system's own Chromium, or the one that Playwright has downloaded; None without one."""
    found = [path for name in CHROMIUM_NAMES if (path := shutil.which(name))]
    if Path(playwright.chromium.executable_path).exists():
        found.append(playwright.chromium.executable_path)
    return found[0] if found else None


def launch(playwright: Playwright, path: str) -> Browser:
    """Start it without a screen."""
    return playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)


def write_notebook(lab: Lab, name: str, code: str) -> str:
    """Put a notebook with one cell into the folder that `lab` serves, and return its file name."""
    # Without a kernel's name JupyterLab asks for one, and waits.
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = new_notebook(cells=[new_code_cell(code)], metadata=kernel)
    nbformat.write(notebook, lab.folder / f"{name}.ipynb")
    return f"{name}.ipynb"


def open_lab(browser: Browser, lab: Lab) -> Page:
    """Open JupyterLab, with no notebook yet: it takes some seconds to load."""
    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    # At an address below /lab/tree, as a reader's: a picture's relative address is first asked for
    # from there, and then where it is.
    page.goto(f"{lab.url}/lab/tree/pictures?reset&token={lab.token}")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("async () => { await window.jupyterapp.restored; }")
    return page


def open_notebook(page: Page, name: str) -> NotebookPage:
    """Open a notebook in a JupyterLab, and wait until its kernel answers."""
    result = NotebookPage(page)
    page.on("pageerror", result.threw)
    page.on("console", result.said)
    page.evaluate(
        """async name => {
            const open = {path: name, factory: 'Notebook'};
            await window.jupyterapp.commands.execute('docmanager:open', open);
        }""",
        name,
    )
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=60_000)
    # A click on "Run" before the kernel answers would be lost, and so would be widgets of which the
    # kernel tells before ipywidgets listens to it.
    page.evaluate(
        """async () => {
            const panel = window.jupyterapp.shell.currentWidget;
            await panel.context.ready;
            await panel.sessionContext.ready;
            await panel.sessionContext.session.kernel.info;
            const widget = 'application/vnd.jupyter.widget-view+json';
            const manager = await panel.content.rendermime.createRenderer(widget)._manager.promise;
            const kernel = panel.sessionContext.session.kernel;
            const listens = () => manager.restoredStatus && !manager._kernelRestoreInProgress
                && (kernel._targetRegistry ?? {})['jupyter.widget'];
            for (const start = Date.now(); !listens(); ) {
                if (Date.now() - start > 60_000) throw new Error('ipywidgets does not listen');
                await new Promise(done => setTimeout(done, 20));
            }
        }"""
    )
    return result


def close(opened: NotebookPage) -> None:
    """End the kernel, and close the notebook but not its JupyterLab.

    Nothing is saved: who opens it next would see widgets that are gone.
    """
    page = opened.page
    page.evaluate(
        """async () => {
            const panel = window.jupyterapp.shell.currentWidget;
            await panel.sessionContext.shutdown();
            panel.context.model.dirty = false;  // or it would ask whether to save
            await window.jupyterapp.commands.execute('application:close');
        }"""
    )
    page.locator(".jp-NotebookPanel").wait_for(state="detached")
    page.remove_listener("pageerror", opened.threw)
    page.remove_listener("console", opened.said)
