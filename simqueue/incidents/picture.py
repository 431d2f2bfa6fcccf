"""The timelines of several runs in one figure, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.result import Result

LANE, MARGIN = 0.62, 1.25
"""Inches: the height of a lane, and what a panel needs besides."""


def before_and_after(panels: Sequence[tuple[str, Result, int]]) -> Figure:
    """Draw one panel for each (heading, result, job), under each other, with one legend."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from simqueue.plotting.attempts import history
    from simqueue.plotting.drawing import Drawing, alt_text, describe, look
    from simqueue.plotting.job_timeline import MOST, timeline

    heights = [
        MARGIN + LANE * (history(result, job, MOST).rows + 1) for _heading, result, job in panels
    ]
    figure = Drawing(figsize=(9.6, sum(heights)), layout=ConstrainedLayoutEngine(hspace=0.05))
    FigureCanvasAgg(figure)
    words: list[str] = []
    with look():
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for ax, (heading, result, job) in zip(axes, panels, strict=True):
            timeline(result, job, ax=ax)
            ax.set_title(heading)
            words.append(f"{heading}. {alt_text(figure)}")
        _one_legend(figure)
    return describe(figure, " ".join(words))


def _one_legend(figure: Figure) -> None:
    """Put what the legends of the panels explain into one."""
    samples: dict[object, Any] = {}
    for legend in list(figure.legends):
        samples |= {handle.get_label(): handle for handle in legend.legend_handles if handle}
        legend.remove()
    figure.legend(
        handles=list(samples.values()),
        loc="outside lower left",
        ncols=min(len(samples), 5),
        fontsize=8.5,
        handlelength=1.8,
        columnspacing=1.6,
    )
