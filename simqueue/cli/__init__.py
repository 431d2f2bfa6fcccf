"""The command `simqueue`: run, sweep, advise, incident, lab."""

from __future__ import annotations

import importlib.util
import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""


def main() -> None:
    """Run the command line; with one sentence where what it needs is not installed."""
    missing = [name for name in ("click", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(
            f"Error: the command line needs {' and '.join(missing)}: pip install 'simqueue[cli]'."
        )
    try:
        from simqueue.cli.app import cli

        cli()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
