"""`simqueue progress`: how far one is with the course, and a way to start over."""

from __future__ import annotations

import click

HELP = """How far am I with the course?

Lists the lessons and what you have done of each: guesses made, questions right, goals found,
points of exercises. All of it is kept in one file of yours, on this machine.

\b
What is done, and what comes next:
  simqueue progress
Forget all of it and start over, hints included:
  simqueue progress --reset
"""


@click.command(help=HELP, short_help="How far am I with the course?")
@click.option("--reset", is_flag=True, help="Forget everything, and start over.")
def progress(reset: bool) -> None:
    """The command `simqueue progress`."""
    from simqueue import course, learner

    if reset:
        learner.forget_all()
        click.echo("Nothing is kept any more. Restart a lesson's kernel to begin it anew.")
        return
    click.echo(course.overview())
