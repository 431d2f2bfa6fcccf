"""The picture of an advice: what each timeout would do to the jobs of a log, and which to take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simqueue.plotting.drawing import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILLION,
    describe,
    look,
    new_drawing,
    percent,
    seconds,
    use_log_seconds,
    use_percent,
)
from simqueue.plotting.labels import NamedLine, name_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.advice import Advice
    from simqueue.distributions import Floats


def advice(advice: Advice, *, ax: Any = None) -> Figure:
    """Draw what each timeout of an advice does, and mark the recommended one.

    Left: the share of jobs that outlast the timeout, counted in the log (the stepped line), and the
    share that the replay delivered more than once (the squares), against the target. Right, the
    price: by how much a crash in the middle of a job delays it, median and 95th percentile.

    Parameters
    ----------
    advice
        From `simqueue.advise`.
    ax
        A pair of axes to draw into; None: a new figure.

    Returns
    -------
    Figure
        With `alt_text`.
    """
    with look():
        left, right = new_drawing(9.6, 3.9, 2)[1] if ax is None else ax
        for axes in (left, right):
            _prepare(axes, advice)
        _draw_shares(left, advice)
        _draw_recovery(right, advice)
    return describe(left.figure, _in_words(advice))


def _prepare(ax: Any, advice: Advice) -> None:
    timeouts = _timeouts(advice)
    ax.set_xlabel("visibility timeout (seconds)")
    if timeouts[-1] > 10 * timeouts[0]:
        use_log_seconds(ax)
        ax.set_xlim(timeouts[0] / 1.15, timeouts[-1] * 1.15)
    else:
        ax.set_xlim(0, timeouts[-1] * 1.05)
    if advice.recommendation is not None:
        ax.axvline(advice.recommendation, color=GREEN, linewidth=1.4, linestyle=(0, (1, 1.5)))


def _draw_shares(ax: Any, advice: Advice) -> None:
    one_job = 1 / len(advice.log)
    ax.set_title("Too short: jobs that run more than once")
    ax.set_ylabel("share of jobs (%)")
    # Zero must be seen: below one job in the log, the logarithmic axis turns into a linear one.
    ax.set_yscale("symlog", linthresh=one_job, linscale=0.5)
    ax.set_ylim(-one_job / 8, 1.3)
    decades = 10.0 ** np.arange(math.floor(math.log10(one_job)), 1)
    ax.set_yticks([0, *(each for each in decades if each > one_job)])
    ax.minorticks_off()
    use_percent(ax.yaxis)

    low, high = ax.get_xlim()
    fine = (np.geomspace if ax.get_xscale() == "log" else np.linspace)(low, high, 500)
    exact = np.array([advice.log.share_over(each) for each in fine])
    timeouts = _timeouts(advice)
    replayed = np.array([each.duplicate_rate for each in advice.predictions])
    ax.axhline(advice.target, color=GREY, linewidth=1.1, linestyle=(0, (5, 3)))
    ax.plot(fine, exact, color=BLACK, linewidth=1.3, label="jobs that outlast it")
    ax.plot(timeouts, replayed, "s", color=VERMILLION, markersize=6, label="delivered again")
    ax.text(
        0.01,
        advice.target,
        f"target {percent(advice.target)}",
        transform=ax.get_yaxis_transform(),
        ha="left",
        va="bottom",
        color=GREY,
    )
    name_lines(
        ax,
        [
            NamedLine(fine, exact, "jobs that outlast it\n(counted in the log)", BLACK),
            NamedLine(timeouts, replayed, "run more than once\n(replayed)", VERMILLION),
            NamedLine(np.array([low, high]), np.full(2, advice.target), "", GREY),
        ],
    )


def _draw_recovery(ax: Any, advice: Advice) -> None:
    ax.set_title("Too long: the delay by a crash")
    ax.set_ylabel("a crash delays its job by (seconds)")
    timeouts = _timeouts(advice)
    middle = np.array([each.recovery_p50 for each in advice.predictions])
    most = np.array([each.recovery_p95 for each in advice.predictions])
    there = np.isfinite(middle)
    high = np.where(np.isfinite(most), most, middle)
    if there.any():
        ax.plot(timeouts[there], middle[there], "o-", color=BLUE, label="median")
        ax.vlines(timeouts[there], middle[there], high[there], color=BLUE, linewidth=1.1)
        ax.plot(timeouts[there], high[there], "_", color=BLUE, markersize=9, label="95 % at most")
        ax.set_ylim(0, 1.1 * max(high[there].max(), 1.0))
    else:
        ax.text(0.5, 0.5, "no worker crashed", transform=ax.transAxes, ha="center", color=GREY)
    lines = [
        NamedLine(timeouts[there], high[there], "95 % of crashes: at most", BLUE),
        NamedLine(timeouts[there], middle[there], "median", BLUE),
    ]
    if there.any() and np.allclose(high[there], middle[there], rtol=0.01):
        lines = [NamedLine(timeouts[there], middle[there], "median, and 95 % at most", BLUE)]
    spans = [
        NamedLine(np.array([x, x]), np.array([low, top]), "", BLUE)
        for x, low, top in zip(timeouts[there], middle[there], high[there], strict=True)
    ]
    name_lines(ax, lines + spans if there.any() else [])
    if advice.recommendation is not None:
        ax.annotate(
            f"recommended:\n{seconds(advice.recommendation)}",
            (advice.recommendation, 1),
            xycoords=("data", "axes fraction"),
            xytext=(-5, -3),
            textcoords="offset points",
            ha="right",
            va="top",
            color=GREEN,
            fontweight="bold",
        )


def _timeouts(advice: Advice) -> Floats:
    return np.array([each.timeout for each in advice.predictions], dtype=np.float64)


def _in_words(advice: Advice) -> str:
    parts = ["Shares of jobs against the visibility timeout, and the delay by a crash beside it."]
    for each in advice.predictions:
        recovery = (
            f"; a crash delays its job by {seconds(each.recovery_p50)} in the median"
            if math.isfinite(each.recovery_p50)
            else ""
        )
        parts.append(
            f"At {seconds(each.timeout)}: {percent(each.share_outlasting)} outlast it, "
            f"{percent(each.duplicate_rate)} run more than once{recovery}."
        )
    parts.append(
        "None of these timeouts is long enough."
        if advice.recommendation is None
        else f"Recommended: {seconds(advice.recommendation)}."
    )
    return " ".join(parts)
