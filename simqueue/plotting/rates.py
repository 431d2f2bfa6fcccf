"""Duplicates against the visibility timeout, and beside them the price of a long one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue import checks
from simqueue.figures import DESCRIPTIONS
from simqueue.plotting import lease_theory
from simqueue.plotting.drawing import (
    BLACK,
    GREY,
    LINES,
    describe,
    look,
    new_drawing,
    percent,
    seconds,
    use_log_seconds,
    use_percent,
)
from simqueue.plotting.figure_axes import axis_of
from simqueue.plotting.labels import NamedLine, name_lines
from simqueue.plotting.lease_sweep import LEASES, Line, Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from matplotlib.figure import Figure

    from simqueue.distributions import Floats

__all__ = ["LEASES", "RATES", "duplicate_rate"]

RATES = (
    "duplicate_effect_rate",
    "duplicate_delivery_rate",
    "dead_letter_rate",
    "lost_rate",
    "wasted_work",
)
RECOVERY = "recovery_mean"


def duplicate_rate(
    curve: pd.DataFrame,
    *,
    figure: str = "duplicate_effect_rate",
    log: bool = False,
    ax: Any = None,
) -> Figure:
    """Draw duplicates against the swept visibility timeout, and the wait after a crash beside.

    The left panel has one line for each combination of the other swept parameters, with its
    confidence band, and dashed the share of jobs whose work outlasts the timeout: what theory says
    of deliveries, and of the effects of a handler that does not guard itself. The right panel, the
    price, is there if workers crashed.

    Parameters
    ----------
    curve
        A table of `simqueue.sweep` over broker.visibility_timeout or broker.lease, and perhaps
        other parameters.
    figure
        What to draw: "duplicate_effect_rate", which hurts, "duplicate_delivery_rate", which theory
        is exact for, or another share: "dead_letter_rate", "lost_rate", "wasted_work".
    log
        Draw the shares on a logarithmic axis (zeros are left out).
    ax
        Axes to draw into: one, for duplicates only, or a pair. None: a new figure.

    Returns
    -------
    Figure
        With `alt_text`.

    Raises
    ------
    ValueError
        If the table is not a sweep over a lease, or does not have the figure.
    """
    checks.one_of("figure", figure, RATES)
    sweep = Sweep.of(curve, figure)
    left, right = _axes(ax, sweep.has(RECOVERY))
    with look():
        _draw_rates(left, sweep, figure, log=log)
        if right is not None:
            _draw_recovery(right, sweep)
    return describe(left.figure, _in_words(sweep, figure, recovery=right is not None))


def _axes(ax: Any, two: bool) -> tuple[Any, Any]:
    """The axes for duplicates, and those for the recovery or None."""
    if ax is None:
        with look():
            axes = new_drawing(9.6 if two else 5.6, 3.9, 2 if two else 1)[1]
        return axes[0], axes[1] if two else None
    try:
        left, right = ax
    except TypeError:
        return ax, None
    return left, right if two else None


def _draw_rates(ax: Any, sweep: Sweep, figure: str, *, log: bool) -> None:
    _label(ax, sweep, axis_of(figure).label, "Too short: duplicates")
    named = _draw_simulated(ax, sweep, figure, most=1.0)
    if figure.startswith("duplicate"):
        named += _draw_theory(ax, sweep, lease_theory.share_outlasting, _title(sweep), False)
    if log:
        ax.set_yscale("log")
        ax.set_ylim(top=1)
    else:
        ax.set_ylim(0, _top([line.y for line in named], 1.0))
    use_percent(ax.yaxis)
    name_lines(ax, named)


def _draw_recovery(ax: Any, sweep: Sweep) -> None:
    _label(ax, sweep, "mean wait after a crash (seconds)", "Too long: the wait after a crash")
    named = _draw_simulated(ax, sweep, RECOVERY, most=math.inf)
    named += _draw_theory(ax, sweep, lease_theory.wait_after_crash, lease_theory.RECOVERY, True)
    ax.set_ylim(0, _top([line.y for line in named], math.inf))
    name_lines(ax, named)


def _title(sweep: Sweep) -> str:
    return f"theory: P(work > {sweep.word.rpartition(' ')[2]})"


def _label(ax: Any, sweep: Sweep, y: str, title: str) -> None:
    leases = sweep.leases
    ax.set_title(title)
    ax.set_xlabel(f"{sweep.word} (seconds)")
    ax.set_ylabel(y)
    if len(leases) > 2 and leases[-1] > 50 * leases[0]:
        use_log_seconds(ax)
    else:
        ax.set_xlim(0, leases[-1] * 1.04)


def _draw_simulated(ax: Any, sweep: Sweep, figure: str, *, most: float) -> list[NamedLine]:
    named = []
    for line, (colour, marker) in zip(sweep.lines, _styles(len(sweep.lines)), strict=True):
        points = line.points(sweep.lease, figure)
        if not len(points):
            continue
        x, mean = (points[name].to_numpy(dtype=float) for name in (sweep.lease, "mean"))
        low, high = (points[name].to_numpy(dtype=float) for name in ("low", "high"))
        if np.isfinite(high).all():
            ax.fill_between(
                x, low.clip(0, most), high.clip(0, most), color=colour, alpha=0.2, linewidth=0
            )
        ax.plot(x, mean, color=colour, marker=marker, label=line.name)
        named.append(NamedLine(x, mean, line.name, colour))
    return named


def _styles(count: int) -> list[tuple[str, str]]:
    return [LINES[place % len(LINES)] for place in range(count)]


def _draw_theory(
    ax: Any, sweep: Sweep, theory: Callable[..., Floats], title: str, crashing: bool
) -> list[NamedLine]:
    """Draw dashed theory for each distribution of work; only the first line bears its name."""
    named: list[NamedLine] = []
    x = sweep.fine_leases
    for work in sweep.works(crashing=crashing):
        y = theory(work, x)
        if np.isfinite(y).any():
            ax.plot(x, y, color=BLACK, linestyle=(0, (4, 2)), linewidth=1.2, label=title)
            named.append(NamedLine(x, y, "" if named else title, GREY))
    return named


def _top(lines: Sequence[Floats], most: float) -> float:
    """A little above the highest point, so that lines at the top are seen."""
    highest = max((float(np.nanmax(y)) for y in lines), default=0.0)
    return min(most, highest * 1.08) * (1.01 if highest >= most else 1) or 0.01


def _in_words(sweep: Sweep, figure: str, *, recovery: bool) -> str:
    parts = [f"{DESCRIPTIONS[figure].capitalize()} against the {sweep.word}."]
    parts += [_ends_in_words(line, sweep, figure, percent) for line in sweep.lines]
    if figure.startswith("duplicate"):
        x = sweep.leases[[0, -1]]
        for work in sweep.works():
            first, last = lease_theory.share_outlasting(work, x)
            parts.append(
                f"Dashed, theory, the share of jobs that outlast it, with work {work!r}: "
                f"{percent(first)} at {seconds(x[0])}, {percent(last)} at {seconds(x[1])}."
            )
    if recovery:
        parts.append("Beside it, the mean wait from a worker's crash to the next delivery.")
        parts += [_ends_in_words(line, sweep, RECOVERY, seconds) for line in sweep.lines]
    return " ".join(part for part in parts if part)


def _ends_in_words(line: Line, sweep: Sweep, figure: str, in_words: Callable[[float], str]) -> str:
    points = line.points(sweep.lease, figure)
    if not len(points):
        return ""
    first, last = points.iloc[0], points.iloc[-1]
    return (
        f"{line.name.capitalize()}: "
        f"{in_words(first['mean'])} at {seconds(first[sweep.lease])}, "
        f"{in_words(last['mean'])} at {seconds(last[sweep.lease])}."
    )
