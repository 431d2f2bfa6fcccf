"""`simqueue sweep`: one or more parameters over a range, each point repeated."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simqueue.cli.scenario_options import (
    has_kinds,
    scenario_from,
    scenario_options,
    value_of,
    with_crash,
)

if TYPE_CHECKING:
    import pandas as pd

USUAL_FIGURES = ("duplicate_delivery_rate", "duplicate_effect_rate", "recovery_mean")
COLUMNS_OF_SWEEP = ("figure", "mean", "low", "high", "half_width", "replications")

HELP = """How do the figures change with a parameter, such as the visibility timeout?

Runs the scenario at every value, each several times, and prints means with 95 % confidence
intervals. All points see the same arrivals, durations and crashes, so they differ only by what
you vary. The scenario is given as for `simqueue run`.

\b
Duplicates against the visibility timeout, as a table and a curve:
  simqueue sweep --over broker.visibility_timeout=10:130:20 --plot curve.png
Two handlers, under crashes:
  simqueue sweep --crash-every 600 --over handler=naive,claim
"""


@click.command(help=HELP, short_help="Vary a parameter: how does the answer change with it?")
@click.option(
    "--over",
    multiple=True,
    required=True,
    metavar="NAME=VALUES",
    help="What to vary: broker.visibility_timeout=5:125:5 (first:last:step), or "
    "handler=naive,claim. Repeatable: every combination is run.",
)
@scenario_options
@click.option("--replications", type=int, metavar="N", default=20, help="Runs of each point. [20]")
@click.option(
    "--seed", type=int, default=0, metavar="N", help="Of the first run; the next has 1 more. [0]"
)
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="NAME",
    help="Which figure to print; repeatable. `simqueue run` lists them.",
)
@click.option("--csv", type=click.Path(path_type=Path), help="Save all figures as a table.")
@click.option("--plot", type=click.Path(path_type=Path), help="Save the curve: .png, .svg or .pdf.")
def sweep(
    scenario_file: str | None,
    over: tuple[str, ...],
    replications: int,
    seed: int,
    figures: tuple[str, ...],
    csv: Path | None,
    plot: Path | None,
    **flags: Any,
) -> None:
    """The command `simqueue sweep`."""
    from simqueue import experiments
    from simqueue.cli.files import check_csv, check_picture, save_csv, save_picture
    from simqueue.cli.output import new_console

    values = dict(_parameters(over))
    wanted = [_known_figure(name) for name in figures]
    if csv is not None:
        check_csv("--csv", csv, ",".join([*values, *COLUMNS_OF_SWEEP]))
    if plot is not None:
        check_picture("--plot", plot)
        _check_curve(values)
    scenario = with_crash(scenario_from(scenario_file, flags), values)
    curve = experiments.sweep(
        scenario, values, replications=replications, seed=seed, progress=sys.stderr.isatty()
    )
    console = new_console()
    _print_curve(curve, list(values), wanted, replications)
    if csv is not None:
        save_csv(named(curve, list(values)), csv)
        console.print(f"All figures: {csv}", markup=False, soft_wrap=True)
    if plot is not None:
        from simqueue import plotting

        shares = [name for name in wanted if name in plotting.rates.RATES]
        figure = shares[0] if shares else "duplicate_delivery_rate"
        save_picture(plotting.duplicate_rate(curve, figure=figure), plot)
        console.print(f"Curve: {plot}", markup=False, soft_wrap=True)


def named(curve: pd.DataFrame, parameters: list[str]) -> pd.DataFrame:
    """Return the table with names instead of functions and None in its columns of parameters."""
    from simqueue.cli.output import value_text

    table = curve.copy()
    for name in parameters:
        if table[name].dtype == object or table[name].isna().any():
            table[name] = [value_text(each) for each in table[name]]
    return table


def _parameters(over: Iterable[str]) -> Iterable[tuple[str, list[Any]]]:
    from simqueue.cli.values import values_in

    seen: set[str] = set()
    for text in over:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or not name or not values:
            raise ValueError(
                "--over must be NAME=VALUES, such as broker.visibility_timeout=5:125:5, "
                f"not {text!r}."
            )
        if name in seen:
            raise ValueError(f"--over names {name} twice: list all of its values in one.")
        seen.add(name)
        separator = ";" if has_kinds(name) else ","
        read = functools.partial(value_of, name)
        yield name, values_in(f"--over {name}", values, read, separator)


def _known_figure(name: str) -> str:
    from simqueue.figures import DESCRIPTIONS
    from simqueue.kinds import did_you_mean

    if name not in DESCRIPTIONS:
        raise ValueError(
            f"--figure {name!r} does not exist{did_you_mean(name, DESCRIPTIONS)}; "
            f"there are {', '.join(DESCRIPTIONS)}."
        )
    return name


def _check_curve(values: dict[str, list[Any]]) -> None:
    from simqueue import plotting

    if not set(values) & set(plotting.rates.LEASES):
        raise ValueError(
            f"--plot draws a figure against the timeout, so --over must vary "
            f"{' or '.join(plotting.rates.LEASES)}."
        )


def _print_curve(
    curve: pd.DataFrame, parameters: list[str], wanted: list[str], replications: int
) -> None:
    from simqueue.cli.output import interval_text, new_console, new_table, value_text
    from simqueue.figures import DESCRIPTIONS

    # What does not occur in these runs, such as recovery where nothing crashes, is left out
    # unless it was asked for.
    there = set(curve.figure[curve["mean"].notna()])
    shown = wanted or [name for name in USUAL_FIGURES if name in there]
    table = new_table()
    for name in parameters:
        table.add_column(name.rpartition(".")[2].replace("_", " "), justify="right")
    for name in shown:
        table.add_column(name.replace("_", " "), justify="right")
    rows = curve.to_dict("records")
    for start in range(0, len(rows), len(DESCRIPTIONS)):
        point = {row["figure"]: row for row in rows[start : start + len(DESCRIPTIONS)]}
        table.add_row(
            *(value_text(rows[start][name]) for name in parameters),
            *(
                interval_text(name, point[name]["mean"], point[name]["half_width"])
                for name in shown
            ),
        )
    console = new_console()
    console.print(table)
    runs = "run" if replications == 1 else "runs"
    interval = "no interval" if replications == 1 else "± the 95 % interval of the mean"
    console.print(f"Each point: {replications} {runs}, {interval}.")
