"""`simqueue lab`: the course, in JupyterLab on this machine, or a lesson without its code."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import tempfile
from pathlib import Path

import click

from simqueue.cli.ports import LOOPBACK, check_free

NOTIFICATIONS = "@jupyterlab/apputils-extension:notification"
NO_NEWS = {"fetchNews": "false", "checkForUpdates": False}

HELP = """Where do I begin to learn about job queues?

Opens the course of notebooks in JupyterLab, at its first page, in your browser; or, with --app, a
lesson as a page without code: prose, sliders and pictures. Only this machine can reach it. Ctrl-C
ends it.

\b
In the folder of the course:
  simqueue lab
Lesson 02 without code, to open the printed address yourself:
  simqueue lab --app 02 --port 9000 --no-browser
"""


@click.command(help=HELP, short_help="Open the course: where do I begin?")
@click.option(
    "--app",
    "lesson",
    is_flag=False,
    flag_value="00",
    metavar="[LESSON]",
    help="This lesson without its code. [00]",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    metavar="N",
    help="Port, 1 to 65535. [8888, with --app 8866, or the next]",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def lab(lesson: str | None, port: int | None, no_browser: bool) -> None:
    """The command `simqueue lab`."""
    from simqueue.cli import lab_app
    from simqueue.course.notebooks import find_lesson, find_notebooks

    notebooks = find_notebooks()
    if lesson is not None:
        lab_app.serve(find_lesson(lesson, notebooks), port, no_browser=no_browser)
        return
    if importlib.util.find_spec("jupyterlab") is None:
        raise ImportError("The course needs JupyterLab: pip install 'simqueue[course]'.")
    if port is not None:
        check_free(port)
    click.echo("Opening the course in JupyterLab. Ctrl-C ends it.")
    app = importlib.import_module("jupyterlab.labapp").LabApp
    with tempfile.TemporaryDirectory(prefix="simqueue-lab-") as folder:
        be_quiet_about_news(Path(folder))
        app.launch_instance(argv=lab_arguments(notebooks, port, no_browser))


def be_quiet_about_news(folder: Path) -> None:
    """Let JupyterLab neither ask about news nor look for a newer version on the internet.

    `folder` becomes one more place of Jupyter's configuration, below the reader's own.
    """
    settings = folder / "labconfig" / "default_setting_overrides.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({NOTIFICATIONS: NO_NEWS}), encoding="utf-8")
    places = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, places))


def lab_arguments(notebooks: Path, port: int | None, no_browser: bool) -> list[str]:
    """Return JupyterLab's command line: on loopback, at the first notebook, without news."""
    from simqueue.course.notebooks import START

    arguments = [
        f"--ServerApp.ip={LOOPBACK}",
        f"--ServerApp.root_dir={notebooks.parent}",
        f"--LabApp.default_url=/lab/tree/{notebooks.name}/{START}",
        # Ctrl-C ends it at once instead of asking.
        "--ServerApp.answer_yes=True",
        "--Application.log_level=WARN",
    ]
    if port is not None:
        arguments += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if no_browser:
        arguments.append("--ServerApp.open_browser=False")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container one is often root; it listens on loopback only.
        arguments.append("--ServerApp.allow_root=True")
    return arguments
