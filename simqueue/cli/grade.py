"""`simqueue grade`: a folder of submissions, graded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from simqueue.grading.classroom import Mark

HELP = """Who solved which exercise?

Grades a folder of submissions: a folder for each student, with NN_name/handler.py or NN_name.py in
it. Each submission runs in a process of its own, within limits, and what counts is computed outside
of it. One that loops, exits or tampers gets its zero and a reason; the others are graded.

\b
Everything that was handed in:
  simqueue grade submissions --csv grades.csv --html report.html
One exercise, with less patience:
  simqueue grade submissions --exercise 06 --timeout 30
"""


@click.command(help=HELP, short_help="Who solved which exercise? Grades a folder of submissions.")
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(path_type=Path),
              help="Write a row for each student and exercise.")  # fmt: skip
@click.option("--html", "html_file", metavar="FILE", type=click.Path(path_type=Path),
              help="Write a page with every check and timeline.")  # fmt: skip
@click.option("--exercise", "numbers", multiple=True, metavar="NN",
              help="Grade this one; may be repeated. Default: all handed in.")  # fmt: skip
@click.option("--exercises", "folder", metavar="FOLDER", type=click.Path(path_type=Path),
              help="Where the exercises are, if not here or above.")  # fmt: skip
@click.option("--timeout", type=float, default=120.0, show_default=True,
              help="Seconds for each exercise of each student.")  # fmt: skip
@click.option("--memory", type=float, default=256.0, show_default=True,
              help="Megabytes for each submission.")  # fmt: skip
@click.option("--processes", type=int, help="How many at a time. Default: one for each processor.")
def grade(
    submissions: Path,
    csv_file: Path | None,
    html_file: Path | None,
    numbers: tuple[str, ...],
    folder: Path | None,
    timeout: float,
    memory: float,
    processes: int | None,
) -> None:
    """The command `simqueue grade`."""
    from simqueue import checks
    from simqueue.cli.files import check_csv, check_page, save_text
    from simqueue.grading.classroom import (
        COLUMNS,
        Tampered,
        as_csv,
        grade_all,
        handed_in,
        students_in,
    )
    from simqueue.grading.exercise import all_exercises, find, find_root
    from simqueue.grading.page import as_html
    from simqueue.grading.process import Limits

    checks.positive("--timeout", timeout, "seconds")
    if processes is not None:
        checks.whole("--processes", processes, 1)
    if csv_file is not None:
        check_csv("--csv", csv_file, ",".join(COLUMNS))
    if html_file is not None:
        check_page("--html", html_file)
    root = find_root(folder)
    students = students_in(submissions)
    exercises = [find(number, root) for number in numbers] or handed_in(
        students, all_exercises(root)
    )
    if not exercises:
        raise ValueError(
            f"SUBMISSIONS must hold files such as NN_name/handler.py or NN_name.py; there is none "
            f"in {str(submissions)!r}."
        )
    try:
        with _progress(len(students) * len(exercises)) as step:
            marks = grade_all(
                students,
                exercises,
                limits=Limits(memory=memory),
                timeout=timeout,
                processes=processes,
                done=lambda _: step(),
            )
    except Tampered as error:
        raise click.ClickException(str(error)) from error
    _print(marks)
    for file, text in ((csv_file, as_csv), (html_file, as_html)):
        if file is not None:
            save_text(text(marks), file)
            click.echo(f"Written: {file}")


@contextmanager
def _progress(count: int) -> Iterator[Callable[[], Any]]:
    """A bar on standard error, where tqdm is installed and somebody looks."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda: None
        return
    with tqdm(total=count, unit="graded", disable=None) as bar:
        yield bar.update


def _print(marks: list[Mark]) -> None:
    from simqueue.cli.output import new_console, new_table

    table = new_table()
    for heading in ("student", "exercise", "points", "verdict"):
        table.add_column(heading)
    table.add_column("reason", overflow="fold")
    for mark in marks:
        student, exercise, points, of, verdict, reason = mark.row
        cells = (student, exercise, f"{points} of {of}", verdict, reason)
        table.add_row(*(_plain(cell) for cell in cells))
    new_console().print(table)


def _plain(cell: str) -> str:
    """Text of others' making: no markup, and nothing that steers a terminal."""
    from rich.markup import escape

    return escape("".join(sign if sign.isprintable() else "?" for sign in cell))
