"""What `simqueue advise` prints: what was read, the table, the recommendation and its reason."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simqueue.advice.words import percent, seconds
from simqueue.cli.output import new_console, new_table
from simqueue.trace.log import duration_text

if TYPE_CHECKING:
    from rich.table import Table

    from simqueue.advice import Advice

LEGEND = (
    "outlast it: jobs in the log that take longer than the timeout. run twice: jobs that the "
    "replay delivers more than once, without crashes. extra work: busy time spent on repeats. "
    "crash delay: how much longer a user waits when a worker dies in the middle of the job."
)


def print_report(advice: Advice, picture: Path | None, csv: Path | None) -> None:
    """Print the advice, and where its files are."""
    console = new_console()
    load = advice.load
    console.print(advice.log.report(), markup=False)
    console.print(
        f"Load: work for {load.average:.3g} workers on average, and for {load.peak:.3g} in the "
        f"busiest {duration_text(load.window)}; there are {advice.slots:,}.",
        markup=False,
    )
    console.print(_table(advice))
    console.print()
    console.print(LEGEND, style="dim", markup=False)
    console.print()
    headline = (
        "None of these timeouts is long enough."
        if advice.recommendation is None
        else f"Set the visibility timeout to {seconds(advice.recommendation)}."
    )
    console.print(headline, style="bold", markup=False)
    for paragraph in (
        advice.reason,
        advice.heartbeat,
        *(f"Warning: {each}" for each in advice.warnings),
    ):
        console.print(paragraph, markup=False)
    console.print()
    for words, path in (("Figure", picture), ("Table", csv)):
        if path is not None:
            console.print(f"{words}: {path}", markup=False, soft_wrap=True)


def _table(advice: Advice) -> Table:
    table = new_table()
    for title in (
        "timeout",
        "outlast\nit",
        "run\ntwice",
        "extra\nwork",
        "dead-letter\nqueue",
        "crash\ndelay",
        "95 % at\nmost",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for each in advice.predictions:
        best = each is advice.recommended
        table.add_row(
            ("> " if best else "") + seconds(each.timeout),
            percent(each.share_outlasting),
            percent(each.duplicate_rate),
            percent(each.extra_work),
            percent(each.dead_letter_rate),
            seconds(each.recovery_p50),
            seconds(each.recovery_p95),
            style="bold" if best else None,
        )
    return table
