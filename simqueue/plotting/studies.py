"""Pictures of the published studies: rules of backoff by clients, and runs that fall in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.plotting.drawing import (
    BLACK,
    BLUE,
    LINES,
    VERMILLION,
    describe,
    look,
    new_drawing,
    use_log_numbers,
)
from simqueue.plotting.labels import NamedLine, name_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.studies.aws_backoff import Measured
    from simqueue.studies.collapse import Outcome

FIGURES = {
    "time": "until the last client is done (milliseconds)",
    "calls": "writes tried",
}
MEAN_OF = 5
"""A point of a run is the mean of so many seconds."""


def contention(curves: Mapping[str, Sequence[Measured]], clients: Sequence[int]) -> Figure:
    """Draw time and calls of the AWS backoff study against the number of clients, line by rule.

    Parameters
    ----------
    curves
        For each rule, its `simqueue.studies.aws_backoff.measure` at each number of clients. The
        bands are their intervals.
    clients
        Those numbers of clients.

    Raises
    ------
    ValueError
        If a curve has not one point for each number of clients.
    """
    for name, points in curves.items():
        if len(points) != len(clients):
            raise checks.fail(
                f"curves: {name}", f"{len(points)} points", f"a point for each of {len(clients)}"
            )
    with look():
        drawing, axes = new_drawing(9.6, 4.2, 2)
        for ax, (figure, words) in zip(axes, FIGURES.items(), strict=True):
            named = [
                _line(ax, name, clients, [getattr(each, figure) for each in points], LINES[n])
                for n, (name, points) in enumerate(curves.items())
            ]
            use_log_numbers(ax)
            ax.set_xlabel("clients that contend for one row")
            ax.set_ylabel(words)
            ax.set_title({"time": "How long it takes", "calls": "How much work it makes"}[figure])
            name_lines(ax, named)
    return describe(drawing, _in_words(curves, clients))


def _line(
    ax: Any, name: str, clients: Sequence[int], points: Sequence[Any], style: tuple[str, str]
) -> NamedLine:
    colour, marker = style
    means = np.array([each.mean for each in points])
    lows, highs = np.array([each.low for each in points]), np.array([each.high for each in points])
    ax.fill_between(clients, np.maximum(lows, 1), highs, color=colour, alpha=0.15, linewidth=0)
    ax.plot(clients, means, color=colour, marker=marker)
    return NamedLine(np.array(clients, dtype=float), means, name, colour)


def _in_words(curves: Mapping[str, Sequence[Measured]], clients: Sequence[int]) -> str:
    ends = "; ".join(
        f"{name}: {points[-1].time.mean:,.0f} ms and {points[-1].calls.mean:,.0f} writes"
        for name, points in curves.items()
    )
    return (
        f"Time until the last client is done, and writes tried, for {clients[0]} to {clients[-1]} "
        f"clients. At {clients[-1]}: {ends}."
    )


def recoveries(runs: Sequence[Outcome]) -> Figure:
    """Draw each run of the collapse study: requests answered in time, over five seconds each.

    Runs that recover and runs that stay down have lines of their own kind; the thick dashed line
    is the mean of all, which is like none of them where there are both.
    """
    if not runs:
        raise checks.fail("runs", runs, "one run or more")
    table = np.array([run.succeeded for run in runs], dtype=float)
    smooth = np.array([np.convolve(row, np.ones(MEAN_OF) / MEAN_OF, "valid") for row in table])
    seconds = np.arange(smooth.shape[1]) + MEAN_OF / 2
    up = np.array([sum(run.succeeded[60:]) > sum(run.started[60:]) / 2 for run in runs])
    with look():
        drawing, (ax,) = new_drawing(7.2, 3.8)
        for recovers, colour, style in ((True, BLUE, "-"), (False, VERMILLION, ":")):
            count = int(np.count_nonzero(up == recovers))
            said = "recovers" if recovers else "stays down"
            for n, row in enumerate(smooth[up == recovers]):
                label = f"{said}: {count} of {len(runs)} runs" if n == 0 else None
                ax.plot(seconds, row, style, color=colour, linewidth=1, alpha=0.7, label=label)
        ax.plot(seconds, smooth.mean(axis=0), "--", color=BLACK, linewidth=2.6, label="mean of all")
        ax.set_xlabel("time (seconds)")
        ax.set_ylabel("requests answered in time per second")
        ax.set_ylim(bottom=0)
        ax.set_title("One mean over two groups" if up.any() and not up.all() else "One group")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1))
    late = np.array([run.goodput_late for run in runs])
    return describe(
        drawing,
        f"{len(runs)} runs: {int(np.count_nonzero(up))} recover and "
        f"{int(np.count_nonzero(~up))} stay down. From 60 s on, their mean is {late.mean():.3g} "
        f"requests a second; single runs have from {late.min():.3g} to {late.max():.3g}.",
    )
