"""`simqueue lab --app`: which lesson is served, where, and what is said if that can't be."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simqueue.cli import lab_app, ports
from simqueue.cli.app import cli

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def call(*arguments: object) -> Result:
    """What the command came to."""
    return CliRunner().invoke(cli, ["lab", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def started(monkeypatch):
    """What would have been served: address and command line, one pair for each start."""
    seen = []
    monkeypatch.setattr(lab_app, "_run", lambda address, argv: seen.append((address, argv)))
    return seen


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (["--app"], "00_start_here.ipynb"),
        (["--app", "2"], "02_visibility_timeout.ipynb"),
        (["--app", "02"], "02_visibility_timeout.ipynb"),
        (["--app", "11_which_broker"], "11_which_broker.ipynb"),
    ],
)
def test_a_lesson_is_chosen_by_number_or_name(started, given, name):
    """The start page if none is named; the address is printed."""
    called = call(*given, "--no-browser")
    ((address, _),) = started
    assert address.endswith(f"/voila/render/{name}")
    assert address in called.stdout


def test_it_is_served_on_loopback_at_the_port(started):
    """All lessons, for the links between them; at the port and no other; without a browser."""
    call("--app", "2", "--port", 18_998, "--no-browser")
    ((address, argv),) = started
    assert address.startswith("http://127.0.0.1:18998/")
    assert {"--Voila.ip=127.0.0.1", "--Voila.port=18998", "--Voila.port_retries=0"} <= set(argv)
    assert Path(argv[0]) == NOTEBOOKS
    assert "--no-browser" in argv


def test_the_browser_opens_unless_it_must_not(started):
    """Voilà opens one by itself."""
    call("--app", "2")
    assert "--no-browser" not in started[0][1]


def test_the_browser_opens_the_lesson(monkeypatch):
    """And not the list of files that Voilà would show."""
    app = pytest.importorskip("voila.app").Voila
    opened, done = [], threading.Event()

    def note(address):
        opened.append(address)
        done.set()

    monkeypatch.setattr("webbrowser.open", note)
    monkeypatch.setattr(
        app, "launch_instance", classmethod(lambda cls, **_: cls.launch_browser(None))
    )
    called = call("--app", "2")
    assert done.wait(10)
    assert opened[0] in called.stdout


def test_without_a_port_the_next_free_one_is_taken(started):
    """A port in use is passed over."""
    with socket.socket() as taken:
        taken.bind((ports.LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert ports.first_free(port) > port
    call("--app")
    assert ":88" in started[0][0]


def test_a_port_in_use_is_not_swapped(started):
    """One sentence, and nothing is started."""
    with socket.socket() as taken:
        taken.bind((ports.LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        called = call("--app", "--port", port)
    assert called.exit_code == 2
    assert f"Error: --port {port} cannot be used: " in called.stderr
    assert started == []


def test_an_unknown_lesson_lists_those_there_are(started):
    """One sentence, and nothing is started."""
    called = call("--app", "77")
    assert called.exit_code == 2
    assert called.stderr.startswith("Error: lesson must be one of 00, 01, 02, ")
    assert called.stderr.endswith(", 14, not '77'.\n")
    assert started == []


def test_without_voila_it_says_what_to_install(started, monkeypatch):
    """One sentence, and nothing is started."""
    monkeypatch.setattr(lab_app.importlib.util, "find_spec", lambda _: None)
    called = call("--app")
    assert called.exit_code == 1
    assert called.stderr == (
        "Error: A lesson without code needs Voilà: pip install 'simqueue[course]'.\n"
    )
    assert started == []
