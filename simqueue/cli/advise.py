"""`simqueue advise`: a visibility timeout for the jobs of a log."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from simqueue.advice import Advice
    from simqueue.faults import Crash

READING = ("created", "started", "duration", "ended", "status")
READING_OTHERWISE = ("delimiter", "duration_unit", "time_unit", "time_format")


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say how to read the log to `command`."""
    options = (
        click.option("--created", metavar="COL", help="Column: when the job was created."),
        click.option("--started", metavar="COL", help="Column: when its work began."),
        click.option("--duration", metavar="COL", help="Column: how long the work took."),
        click.option("--ended", metavar="COL", help="Column: when the work ended."),
        click.option("--status", metavar="COL", help="Column: how the job ended."),
        click.option(
            "--only", multiple=True, metavar="WORD", help="Keep only this status; repeatable."
        ),
        click.option("--delimiter", metavar="C", help="What separates columns. [guessed]"),
        click.option("--duration-unit", metavar="UNIT", help="s, ms, us, ns or min. [guessed]"),
        click.option("--time-unit", metavar="UNIT", help="The same for times that are numbers."),
        click.option("--time-format", metavar="FORMAT", help="In codes of strptime. [ISO 8601]"),
    )
    for option in reversed(options):
        command = option(command)
    return command


HELP = """Which visibility timeout suits my own jobs?

Reads when your jobs were created and how long each one ran, replays them at a range of
timeouts, and recommends one, with its reason and its price. Columns with usual names are
found by themselves.

\b
The example that comes with simqueue:
  simqueue advise examples/thumbnails.csv --workers 4
Columns and timeouts of your own:
  simqueue advise jobs.csv --workers 40 --created queued_at \\
      --duration runtime_ms --timeouts 30,60,120
"""


@click.command(help=HELP, short_help="Read your own job log: which visibility timeout suits it?")
@click.argument("log_file", type=click.Path(), metavar="LOG.csv")
@click.option("--workers", type=int, required=True, metavar="N", help="Worker processes you run.")
@click.option("--concurrency", type=int, default=1, metavar="N", help="Jobs each runs at once. [1]")
@click.option("--prefetch", metavar="N", help="Deliveries each holds, or inf. [none]")
@click.option(
    "--timeouts", metavar="LIST", help="To try: 30,60,90 or first:last:step. [from the log]"
)
@click.option(
    "--target",
    type=float,
    default=0.001,
    metavar="P",
    help="Share of jobs, 0 to 1, that may run twice because they are slow. [0.001]",
)
@click.option(
    "--max-receives",
    type=int,
    default=5,
    metavar="N",
    help="Deliveries, then the dead-letter queue. [5]",
)
@click.option(
    "--late-ack",
    default="latest_receipt",
    metavar="RULE",
    help="Or deletes, in_flight_only, unexpired. [latest_receipt, as SQS]",
)
@click.option(
    "--crash-every", type=float, metavar="S", help="Mean seconds of work between crashes. [rare]"
)
@click.option(
    "--restart-after", type=float, metavar="S", help="Seconds a crashed worker is off. [10]"
)
@click.option("--seed", type=int, default=0, metavar="N", help="Of the crashes. [0]")
@log_options
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Where to save the figure: .png, .svg, .pdf. [<log>-advice.png in this folder]",
)
@click.option("--no-plot", is_flag=True, help="Save no figure.")
@click.option("--csv", type=click.Path(path_type=Path), help="Save the table, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only; a figure only if named.")
def advise(
    log_file: str,
    plot: Path | None,
    no_plot: bool,
    csv: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """The command `simqueue advise`."""
    from simqueue.advice import Prediction
    from simqueue.cli.files import check_csv, check_picture, save_csv, save_picture

    if no_plot and plot is not None:
        raise ValueError("--plot and --no-plot exclude each other.")
    picture = None if no_plot else _picture(log_file, plot, quiet=as_json)
    if picture is not None:
        check_picture("--plot" if plot else "the figure", picture)
    if csv is not None:
        check_csv("--csv", csv, ",".join(each.name for each in dataclasses.fields(Prediction)))
    advice = _advice(log_file, flags)
    if picture is not None:
        from simqueue import plotting

        save_picture(plotting.advice(advice), picture)
    if csv is not None:
        save_csv(advice.table, csv)
    if as_json:
        _print_json(advice, picture)
    else:
        from simqueue.cli.advise_report import print_report

        print_report(advice, picture, csv)


def _picture(log_file: str, plot: Path | None, *, quiet: bool) -> Path | None:
    """Return where the figure goes; None for nowhere."""
    import importlib.util

    if plot is None and quiet:
        return None
    if plot is None and importlib.util.find_spec("matplotlib") is None:
        click.echo("No figure: it needs matplotlib, pip install 'simqueue[plots]'.", err=True)
        return None
    return plot or Path(f"{Path(log_file).name.split('.')[0] or 'log'}-advice.png")


def _advice(log_file: str, flags: dict[str, Any]) -> Advice:
    from simqueue import kinds, trace
    from simqueue.advice import advise
    from simqueue.cli.values import values_in
    from simqueue.scenario import Workers

    prefetch, timeouts = flags["prefetch"], flags["timeouts"]
    team = Workers(
        count=flags["workers"],
        concurrency=flags["concurrency"],
        prefetch=None if prefetch is None else kinds.plain_value(prefetch),
    )
    options = {name: flags[name] for name in ("late_ack", "max_receives", "target", "seed")}
    if timeouts is not None:
        options["timeouts"] = values_in("--timeouts", timeouts, kinds.plain_value)
    crash = _crash(flags["crash_every"], flags["restart_after"])
    reading = {name: flags[name] for name in (*READING, *READING_OTHERWISE)}
    log = trace.read(log_file, only=flags["only"] or None, **reading)
    with _progress() as on_progress:
        return advise(log, workers=team, crash=crash, on_progress=on_progress, **options)


def _crash(every: float | None, restart_after: float | None) -> Crash | None:
    from simqueue.faults import Crash

    if every is None:
        if restart_after is not None:
            raise ValueError("--restart-after needs --crash-every.")
        return None
    return Crash(
        mean_time_between=every, restart_after=10.0 if restart_after is None else restart_after
    )


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Show a bar on standard error, if that is a terminal, while timeouts are tried."""
    from rich.progress import Progress

    from simqueue.cli.output import new_console

    console = new_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Replaying the log", total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def _print_json(advice: Advice, picture: Path | None) -> None:
    import simqueue
    from simqueue.cli.output import print_json

    log = advice.log
    print_json(
        {
            "simqueue": simqueue.__version__,
            "log": {
                "name": log.name,
                "jobs": len(log),
                "rows": log.rows,
                "skipped": dict(log.skipped),
                "started_at": log.started_at,
                "span": log.span,
                "statuses": dict(log.statuses),
                "notes": list(log.notes),
            },
            "workers": dataclasses.asdict(advice.workers),
            "late_ack": advice.late_ack,
            "max_receives": advice.max_receives,
            "target": advice.target,
            "load": dataclasses.asdict(advice.load),
            "predictions": [dataclasses.asdict(each) for each in advice.predictions],
            "recommendation": advice.recommendation,
            "reason": advice.reason,
            "heartbeat": advice.heartbeat,
            "warnings": list(advice.warnings),
            "figure": None if picture is None else str(picture),
        }
    )
