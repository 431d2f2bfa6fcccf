"""`simqueue run`: one scenario, once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from simqueue.cli.scenario_options import scenario_from, scenario_options

if TYPE_CHECKING:
    from simqueue.result import Result

HELP = """What happens to the jobs of this queue: how many run twice, how many are lost?

Simulates one scenario once, and prints its figures with their meaning. The scenario is a TOML
file, or the default in brackets below; flags change it. Times are in seconds.

\b
A job of 90 s meets a visibility timeout of 30 s:
  simqueue run --jobs 1 --work fixed:90 --workers 3 --timeline 0
A file, with another handler:
  simqueue run examples/visibility_timeout.toml --handler claim
"""


@click.command(help=HELP, short_help="Simulate a queue once: what happens to its jobs?")
@scenario_options
@click.option("--seed", type=int, default=0, metavar="N", help="All chance follows from it. [0]")
@click.option("--timeline", type=int, metavar="JOB", help="Tell the story of one job, from 0.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
def run(
    scenario_file: str | None, seed: int, timeline: int | None, as_json: bool, **flags: Any
) -> None:
    """The command `simqueue run`."""
    from simqueue import checks
    from simqueue.simulation import simulate
    from simqueue.story import story

    scenario = scenario_from(scenario_file, flags)
    checks.whole("seed", seed)
    if timeline is not None:
        checks.whole("--timeline", timeline, 0, (scenario.jobs or 1) - 1)
    result = simulate(scenario, seed)
    tale = None if timeline is None else story(result, timeline)
    if as_json:
        _print_json(result, tale)
    else:
        _print_figures(result, tale)


def _print_json(result: Result, tale: str | None) -> None:
    import simqueue
    from simqueue.cli.output import print_json
    from simqueue.scenario_file import to_document

    document = {
        "simqueue": simqueue.__version__,
        "seed": result.seed,
        "scenario": to_document(result.scenario),
        "duration": result.duration,
        "cut": result.cut,
        "figures": result.figures,
    }
    print_json(document if tale is None else {**document, "story": tale.splitlines()})


def _print_figures(result: Result, tale: str | None) -> None:
    from simqueue.cli.output import (
        figure_text,
        new_console,
        new_table,
        print_pairs,
        scenario_lines,
    )
    from simqueue.figures import DESCRIPTIONS

    console = new_console()
    print_pairs(console, [*scenario_lines(result.scenario), ("seed", f"{result.seed}")])
    table = new_table()
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("meaning")
    for name, meaning in DESCRIPTIONS.items():
        table.add_row(name, figure_text(name, result.figures[name]), meaning)
    console.print(table)
    console.print(_how_it_ended(result))
    if tale is not None:
        console.print()
        console.print(tale, markup=False, soft_wrap=True)
    elif hint := _hint(result):
        console.print(hint)


def _how_it_ended(result: Result) -> str:
    cut = result.cut
    if not any(cut.values()):
        return f"After {result.duration:,.0f} s every job was settled and no worker busy."
    return (
        f"The horizon, {result.scenario.horizon:g} s, cut the run: {cut['unpublished']:,} jobs "
        f"were not published yet, {cut['unsettled']:,} not settled, and {cut['running']:,} "
        "handlers still ran."
    )


def _hint(result: Result) -> str:
    """Return which job is worth a look, and how."""
    tally = result.tally
    for counts, words in (
        (tally.extra_effects, "had its effect more than once"),
        (tally.deliveries - 1, "was delivered more than once"),
    ):
        if (counts > 0).any():
            job = int((counts > 0).argmax())
            return f"Job {job} {words}. How? Add --timeline {job}."
    return ""
