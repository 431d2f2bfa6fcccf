"""Duplicates and losses, by strategy and by fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.plotting.drawing import (
    BLUE,
    ORANGE,
    VERMILLION,
    describe,
    look,
    new_drawing,
    percent,
    use_percent,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BARS = (
    ("duplicate_effect_rate", "applied twice or more", VERMILLION, ""),
    ("lost_rate", "lost", BLUE, "////"),
    ("dead_letter_rate", "in the dead-letter queue", ORANGE, "...."),
)

Cells = dict[tuple[str, str, str], tuple[float, float]]


def strategies(table: pd.DataFrame) -> Figure:
    """Draw, for each strategy under each fault, the share of jobs that went wrong, and how.

    Parameters
    ----------
    table
        What `simqueue.cross` returns, with strategies as rows and faults as columns.

    Returns
    -------
    Figure
        One panel for each fault, with `alt_text`.

    Raises
    ------
    ValueError
        If the table is not one of `simqueue.cross`.
    """
    if not {"row", "column", "figure", "mean"} <= set(table.columns):
        raise checks.fail("table", list(table.columns), "a table of simqueue.cross")
    rows, columns = list(table["row"].unique()), list(table["column"].unique())
    cells = _cells(table)
    with look():
        height = 1.3 + 0.52 * len(rows)
        drawing, axes = new_drawing(2.6 + 2.1 * len(columns), height, len(columns))
        most = max(mean + half_width for mean, half_width in cells.values())
        for ax, column in zip(axes, columns, strict=True):
            _draw_fault(ax, cells, rows, column)
            ax.set_xlim(0, max(most * 1.15, 1e-3))
            ax.set_yticks(range(len(rows)), rows if ax is axes[0] else [""] * len(rows))
            ax.invert_yaxis()
            ax.grid(axis="y", visible=False)
            ax.set_title(column)
            ax.set_xlabel("jobs (%)")
            use_percent(ax.xaxis)
        handles, labels = axes[0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=3)
    return describe(drawing, _in_words(cells, rows, columns))


def _cells(table: pd.DataFrame) -> Cells:
    """Mean and half-width of each drawn figure, by strategy, fault and figure."""
    drawn = [figure for figure, *_ in BARS]
    found = table[table["figure"].isin(drawn)]
    half_widths = found["half_width"].to_numpy(dtype=float)
    keys = zip(found["row"], found["column"], found["figure"], strict=True)
    values = zip(
        found["mean"].to_numpy(dtype=float).tolist(),
        np.where(np.isfinite(half_widths), half_widths, 0.0).tolist(),
        strict=True,
    )
    return dict(zip(keys, values, strict=True))


def _draw_fault(ax: Any, cells: Cells, rows: list[str], column: str) -> None:
    places = np.arange(len(rows))
    for place, (figure, name, colour, hatch) in enumerate(BARS):
        mean, half_width = np.array([cells[row, column, figure] for row in rows]).T
        ys = places + (place - 1) * 0.26
        ax.barh(
            ys, mean, 0.24, color="white" if hatch else colour, edgecolor=colour, hatch=hatch,
            label=name, xerr=half_width, error_kw={"elinewidth": 0.9, "ecolor": "black"},
        )  # fmt: skip


def _in_words(cells: Cells, rows: list[str], columns: list[str]) -> str:
    said = []
    for column in columns:
        for row in rows:
            wrong = [
                f"{percent(cells[row, column, figure][0])} {name}"
                for figure, name, *_ in BARS
                if cells[row, column, figure][0] > 0
            ]
            said.append(f"{row}, {column}: {', '.join(wrong) or 'nothing went wrong'}")
    return "Share of jobs by strategy and fault. " + "; ".join(said) + "."
