"""`simqueue incident`: a public report, replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from simqueue.incidents import Replay

HELP = """How did it come about that somebody's job ran twice, or got lost?

Replays a public report of such a job: simulates it as it was reported and with the fix in place,
tells both stories, and prints what was expected beside what the simulation gave. Without a number,
lists all reports. Times are in seconds.

\b
All of them:
  simqueue incident
A job that was started four times, an hour apart:
  simqueue incident INC-01
"""


@click.command(help=HELP, short_help="Replay a public report: how did their job run twice?")
@click.argument("number", required=False, metavar="[INC-NN]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
def incident(number: str | None, as_json: bool) -> None:
    """The command `simqueue incident`."""
    from simqueue.incidents.registry import find

    if number is None:
        _list_all(as_json=as_json)
        return
    replay = find(number.upper()).replay()
    if as_json:
        _print_json(replay)
    else:
        _print_replay(replay)


def _list_all(*, as_json: bool) -> None:
    from simqueue.cli.output import new_console, new_table, print_json
    from simqueue.incidents.registry import INCIDENTS

    if as_json:
        print_json(
            {
                one.id: {"title": one.title, "system": one.system, "links": one.links}
                for one in INCIDENTS.values()
            }
        )
        return
    table = new_table()
    table.add_column("incident", no_wrap=True)
    table.add_column("what happened")
    table.add_column("system")
    for one in INCIDENTS.values():
        table.add_row(one.id, one.title, one.system)
    console = new_console()
    console.print(table)
    console.print("How did it come about? Add the number of an incident.")


def _print_replay(replay: Replay) -> None:
    from simqueue.cli.output import new_console, new_table
    from simqueue.incidents.replay import HEADINGS

    incident, console = replay.incident, new_console()
    console.print(f"{incident.id}: {incident.title}", style="bold", markup=False)
    console.print(incident.system, markup=False)
    for link in incident.links:
        console.print(link, markup=False, soft_wrap=True)
    for name, words in (
        ("Reported", incident.report),
        ("Cause", incident.cause),
        ("Fix", incident.fix),
        ("Note", incident.note),
    ):
        if not words:
            continue
        console.print(f"\n{name}: {words}", markup=False)
    for heading, tale in replay.stories:
        console.print(f"\n{heading}", style="bold", markup=False)
        console.print(tale, markup=False, soft_wrap=True)
    table = new_table()
    for word in HEADINGS:
        table.add_column(word)
    for check in replay.checks:
        table.add_row(*check.words)
    console.print()
    console.print(table)


def _print_json(replay: Replay) -> None:
    from simqueue.cli.output import print_json
    from simqueue.incidents.expected import Expectation

    incident = replay.incident
    print_json(
        {
            "id": incident.id,
            "title": incident.title,
            "links": incident.links,
            "agrees": replay.agrees,
            "checks": [
                {
                    "case": check.case.name,
                    "fixed": check.case.fixed,
                    "observed": check.name,
                    "expected": str(check.expected)
                    if isinstance(check.expected, Expectation)
                    else check.expected,
                    "simulated": check.simulated,
                    "agrees": check.agrees,
                }
                for check in replay.checks
            ],
            "stories": {heading: tale.splitlines() for heading, tale in replay.stories},
        }
    )
