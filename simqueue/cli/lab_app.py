"""`simqueue lab --app`: a lesson as a page of prose, sliders and pictures, without its code."""

from __future__ import annotations

import importlib.util
import threading
import webbrowser
from pathlib import Path

import click

from simqueue.cli.ports import LOOPBACK, check_free, first_free
from simqueue.course import pictures

FIRST_PORT = 8866
"""Voilà's own."""


def serve(lesson: Path, port: int | None, *, no_browser: bool) -> None:
    """Serve the lessons beside `lesson` as pages, and open `lesson`, until Ctrl-C.

    Raises ValueError if `port` is taken, ImportError without Voilà.
    """
    if importlib.util.find_spec("voila") is None:
        raise ImportError("A lesson without code needs Voilà: pip install 'simqueue[course]'.")
    if port is not None:
        check_free(port)
    port = port or first_free(FIRST_PORT)
    address = f"http://{LOOPBACK}:{port}/voila/render/{lesson.name}"
    click.echo(f"The lesson is at {address} (it takes some seconds to run). Ctrl-C ends it.")
    _run(address, arguments(lesson.parent, port, no_browser=no_browser))


def arguments(notebooks: Path, port: int, *, no_browser: bool) -> list[str]:
    """Return Voilà's command line: on loopback, all lessons, so that links between them work."""
    given = [
        str(notebooks),
        f"--Voila.ip={LOOPBACK}",
        f"--Voila.port={port}",
        "--Voila.port_retries=0",
        # There are sliders, so the pictures that stand for them elsewhere would be too many.
        f"--TagRemovePreprocessor.remove_cell_tags={pictures.TAG}",
        "--Voila.log_level=ERROR",  # its warnings are about notebooks of strangers
    ]
    return [*given, "--no-browser"] if no_browser else given


def _run(address: str, argv: list[str]) -> None:
    from voila.app import Voila

    class Lessons(Voila):  # type: ignore[misc] # Voilà has no types
        """Opens one lesson, and not the list of all files."""

        def launch_browser(self) -> None:
            """Called when the server answers."""
            threading.Thread(target=webbrowser.open, args=[address]).start()

    Lessons.launch_instance(argv=argv)
