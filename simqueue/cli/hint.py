"""`simqueue hint`: a hint for an exercise, one after the other."""

from __future__ import annotations

import click

HELP = """Stuck at an exercise?

Shows the next hint for exercise NUMBER: first one that helps with the check that failed last. Run
the exercise once before, so that it is known which one that was.

\b
The next hint for exercise 06:
  simqueue hint 06
Begin anew, for all exercises:
  simqueue hint --reset
"""


@click.command(help=HELP, short_help="Stuck at an exercise? The next hint.")
@click.argument("number", required=False, metavar="[NUMBER]")
@click.option("--all", "all_of_them", is_flag=True, help="Show all hints of this exercise.")
@click.option("--reset", is_flag=True, help="Forget which hints were shown.")
def hint(number: str | None, all_of_them: bool, reset: bool) -> None:
    """The command `simqueue hint`."""
    from simqueue.grading import progress
    from simqueue.grading.exercise import all_exercises, find, find_root

    root = find_root()
    if reset:
        progress.forget_hints([find(number, root)] if number else all_exercises(root))
        click.echo("No hint has been shown yet.")
        return
    if number is None:
        raise ValueError("NUMBER must be that of an exercise, such as 06.")
    exercise = find(number, root)
    count = len(exercise.hints)
    if all_of_them:
        for place, each in enumerate(exercise.hints, start=1):
            click.echo(f"Hint {place} of {count}:\n{each.text}\n")
        return
    unfolded = progress.unfold(exercise)
    if unfolded is None:
        click.echo(f"All {count} hints have been shown: simqueue hint {exercise.number} --all")
        return
    shown = len(progress.load(exercise).shown)
    click.echo(f"Hint {shown} of {count} for exercise {exercise.title}:\n{unfolded[1].text}")
