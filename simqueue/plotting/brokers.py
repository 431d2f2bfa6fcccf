"""Brokers side by side: what each makes of the same trouble."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from simqueue import checks
from simqueue.plotting.drawing import (
    BLUE,
    GREY,
    ORANGE,
    SKY,
    VERMILLION,
    describe,
    look,
    new_drawing,
    percent,
    seconds,
    use_percent,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ENDS = (
    ("lost_rate", "lost", BLUE, "///"),
    ("dead_letter_rate", "dead-letter queue", ORANGE, "\\\\\\\\"),
    ("unfinished_rate", "stuck", SKY, "xx"),
)
SHORTEST = 1.0


def brokers(table: pd.DataFrame) -> Figure:
    """Draw, for each broker, duplicates, jobs that were never done, and the wait after a crash.

    Parameters
    ----------
    table
        What `simqueue.side_by_side.compare_brokers` returns.

    Returns
    -------
    Figure
        Three panels with a row for each broker, with `alt_text`.

    Raises
    ------
    ValueError
        If the table is not one of `compare_brokers`.
    """
    needed = {"duplicate_effect_rate", "recovery_mean", *(name for name, *_ in ENDS)}
    if not needed <= set(table.columns):
        raise checks.fail("table", list(table.columns), "a table of compare_brokers")
    names = [str(name) for name in table.index]
    places = np.arange(len(names))
    with look():
        drawing, axes = new_drawing(10.5, 1.4 + 0.27 * len(names), 3)
        _draw_duplicates(axes[0], table, places)
        _draw_ends(axes[1], table, places)
        _draw_recovery(axes[2], table, places)
        for ax in axes:
            ax.set_yticks(places, names if ax is axes[0] else [""] * len(names))
            ax.set_ylim(len(names) - 0.4, -0.6)
            ax.grid(axis="y", visible=False)
        # Made here: of an end that no broker had, there is no bar to take the sample from.
        samples = [
            Patch(facecolor="white", edgecolor=colour, hatch=hatch, label=name)
            for _, name, colour, hatch in ENDS
        ]
        drawing.legend(handles=samples, loc="outside lower center", ncols=3)
    return describe(drawing, _in_words(table))


def _draw_duplicates(ax: Any, table: pd.DataFrame, places: Any) -> None:
    ax.barh(
        places, table["duplicate_effect_rate"], 0.62, color=VERMILLION,
        xerr=table["duplicate_effect_rate_half_width"],
        error_kw={"elinewidth": 0.9, "ecolor": "black"},
    )  # fmt: skip
    ax.set_title("Charged twice or more")
    ax.set_xlabel("jobs (%)")
    ax.set_xlim(left=0)
    use_percent(ax.xaxis)


def _draw_ends(ax: Any, table: pd.DataFrame, places: Any) -> None:
    left = np.zeros(len(places))
    for figure, name, colour, hatch in ENDS:
        width = table[figure].to_numpy(dtype=float)
        there = width > 0
        ax.barh(
            places[there], width[there], 0.62, left=left[there], color="white", edgecolor=colour,
            hatch=hatch, label=name,
        )  # fmt: skip
        left += width
    ax.set_title("Not done in the end")
    ax.set_xlabel("jobs (%)")
    ax.set_xlim(left=0)
    use_percent(ax.xaxis)


def _draw_recovery(ax: Any, table: pd.DataFrame, places: Any) -> None:
    waits = table["recovery_mean"].to_numpy(dtype=float)
    ax.barh(places, np.maximum(np.nan_to_num(waits), SHORTEST), 0.62, color=GREY)
    ax.set_xscale("log")
    ax.set_xlim(SHORTEST, 3e4)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    for place, wait in zip(places, waits.tolist(), strict=True):
        words = "never" if math.isnan(wait) else "at once" if wait < SHORTEST else seconds(wait)
        ax.text(1.15 * np.fmax(wait, SHORTEST), place, words, va="center")
    ax.set_title("Wait after a worker's death")
    ax.set_xlabel("mean (s, logarithmic)")


def _in_words(table: pd.DataFrame) -> str:
    said = []
    for name, row in table.iterrows():
        wait = row["recovery_mean"]
        ends = [f"{percent(row[f])} {words}" for f, words, *_ in ENDS if row[f] > 0]
        back = "never back" if math.isnan(wait) else f"back after {seconds(wait)}"
        twice = f"{percent(row['duplicate_effect_rate'])} charged twice"
        said.append(f"{name}: {', '.join([twice, *ends, back])}")
    return "The same jobs and faults on each broker. " + "; ".join(said) + "."
