"""The queue over time, as its owner would watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.plotting.drawing import (
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    VERMILLION,
    describe,
    look,
    new_stack,
    seconds,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.result import Result

PANELS = (
    ("visible", "waiting\n(messages)", BLUE, "-"),
    ("in_flight", "in flight\n(messages)", GREEN, "-"),
    ("oldest_age", "oldest age\n(seconds)", PURPLE, "-"),
    ("dead_lettered", "dead letters\n(messages)", VERMILLION, "-"),
    ("busy", "busy slots", GREY, "-"),
)
FAULTS = {"worker crashed": "x", "worker paused": "_", "worker draining": "v"}


def dashboard(result: Result) -> Figure:
    """Draw what one would watch of a queue: depth, in flight, oldest age, dead letters, busy slots.

    All over time in seconds, one panel each, with crashes, pauses and deploys marked at the top.
    Returns a figure with `alt_text`.
    """
    series = result.timeseries
    slots = result.scenario.workers.count * result.scenario.workers.concurrency
    with look():
        drawing, axes = new_stack(8.4, 6.6, len(PANELS))
        for ax, (column, label, colour, style) in zip(axes, PANELS, strict=True):
            ax.step(series.index, series[column], where="post", color=colour, linestyle=style)
            ax.fill_between(series.index, series[column], step="post", color=colour, alpha=0.12)
            ax.set_ylabel(label, rotation=0, ha="right", va="center")
            peak = series[column].max()
            ax.set_ylim(0, max(1.0, 1.15 * peak))
            ax.annotate(
                f"most {peak:,.0f}", (1, 0.98), xycoords="axes fraction", ha="right", va="top",
                color=colour,
            )  # fmt: skip
        axes[-1].axhline(slots, color=GREY, linestyle=":", linewidth=1)
        axes[-1].set_xlabel("time (seconds)")
        axes[0].set_title("The queue over time")
        _mark_faults(axes[0], result)
    return describe(drawing, _in_words(result, slots))


def _mark_faults(ax: Any, result: Result) -> None:
    events = result.events
    for word, marker in FAULTS.items():
        times = events.time[events.event == word]
        if len(times):
            ax.plot(
                times, [1.04] * len(times), marker, transform=ax.get_xaxis_transform(),
                color=VERMILLION, clip_on=False, label=word,
            )  # fmt: skip
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1.02), ncols=3, borderaxespad=0)


def _in_words(result: Result, slots: int) -> str:
    series = result.timeseries
    dead = int(series.dead_lettered.iloc[-1])
    return (
        f"The queue over {seconds(result.duration)}: at most {series.visible.max():,} messages "
        f"waiting and {series.in_flight.max():,} in flight, the oldest "
        f"{seconds(series.oldest_age.max())} old, {dead:,} dead letters at the end, at most "
        f"{series.busy.max():,} of {slots:,} slots busy."
    )
