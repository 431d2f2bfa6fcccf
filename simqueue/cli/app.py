"""The group of commands: its help, and how every mistake ends."""

from __future__ import annotations

from typing import Any

import click

import simqueue
from simqueue.cli import INTERRUPTED
from simqueue.cli.advise import advise
from simqueue.cli.brokers import brokers
from simqueue.cli.grade import grade
from simqueue.cli.hint import hint
from simqueue.cli.incident import incident
from simqueue.cli.lab import lab
from simqueue.cli.progress import progress
from simqueue.cli.run import run
from simqueue.cli.sweep import sweep
from simqueue.context import HandlerError


class BadInput(click.ClickException):
    """Ends the command with one sentence on standard error: something that was given is wrong."""

    exit_code = 2


class Failure(click.ClickException):
    """Ends the command with one sentence on standard error: all was right, but it did not work."""

    exit_code = 1


class Commands(click.Group):
    """A group whose commands end in a sentence and an exit code, never in a traceback.

    2: the input is wrong. 1: it was right, but the run or the writing failed. 130: Ctrl-C.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except ValueError as error:
            raise BadInput(str(error)) from error
        except (simqueue.NeverSettles, HandlerError, ImportError) as error:
            raise Failure(str(error)) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Failure(f"{where}{error.strerror or error}.") from error


HELP = """Why does a job run twice, and what makes that harmless?

simqueue simulates job queues: producers, a broker that hides a delivered message for a while,
workers that are slow or crash, and the code that they run.

\b
Begin with one of these:
  simqueue run --work fixed:90 --jobs 1 --timeline 0
  simqueue advise examples/thumbnails.csv --workers 4
  simqueue lab

Every command explains itself: simqueue run --help.
"""


@click.group(
    help=HELP,
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)
@click.version_option(simqueue.__version__, prog_name="simqueue", message="%(prog)s %(version)s")
def cli() -> None:
    """The command `simqueue` itself."""


for command in (run, sweep, advise, brokers, incident, lab, hint, progress, grade):
    cli.add_command(command)
