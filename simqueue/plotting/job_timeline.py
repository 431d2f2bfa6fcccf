"""One job's deliveries on the workers: leases, work, effects, crashes, acks."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from simqueue.plotting import timeline_marks as marks
from simqueue.plotting.attempts import Attempt, History, history
from simqueue.plotting.drawing import GREY, describe, look, new_drawing, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from simqueue.result import Result

MOST = 24
BAR = 0.30
LEASE_BELOW = 0.29
LABEL_ABOVE = 0.21


def timeline(result: Result, job: int = 0, *, most: int = MOST, ax: Any = None) -> Figure:
    """Draw what happened to one job, as lanes: the queue, then each worker that touched it.

    A bar is a handler at work; how it is filled says how it ended. The line with ends under it is
    its lease, in which the message is hidden from other workers; where the lease runs out, an arrow
    leads to the next delivery. On the bar stand the effects, numbered: every number above 1 is a
    duplicate. On the lease line stands the ack, and what the broker did with it.

    Parameters
    ----------
    result
        From `simulate`.
    job
        Its number, from 0.
    most
        Draw so many deliveries at most, the first ones.
    ax
        Axes to draw into; None: a new figure, as high as the number of lanes asks for.

    Returns
    -------
    Figure
        With `alt_text`, which tells the same story in words.

    Raises
    ------
    ValueError
        If there is no such job, or the run ended before it was published.
    """
    story = history(result, job, most)
    with look():
        if ax is None:
            _, (ax,) = new_drawing(9.6, 1.55 + 0.66 * (story.rows + 1))
        kinds: set[str] = set()
        _prepare(ax, story)
        _draw_queue(ax, story, kinds)
        for attempt in story.attempts:
            _draw_lease(ax, attempt, kinds)
            _draw_work(ax, attempt, story, kinds)
            _draw_marks(ax, attempt, kinds)
        _draw_redeliveries(ax, story)
        _name_deliveries(ax, story)
        marks.legend(ax, kinds)
    return describe(ax.figure, in_words(story))


def _prepare(ax: Any, story: History) -> None:
    begin, end = story.published, max(story.end, story.published + 1e-6)
    margin = 0.03 * (end - begin)
    ax.set_xlim(begin - margin, end + 2 * margin)
    ax.set_ylim(story.rows + 0.55, -0.6)
    ax.set_yticks(
        range(story.rows + 1), ["queue", *(f"worker {worker}" for worker in story.workers)]
    )
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("time (seconds)")
    ax.set_title(_title(story))


def _title(story: History) -> str:
    deliveries = len(story.attempts) + story.hidden
    kinds = Counter(each.kind for attempt in story.attempts for each in attempt.effects)
    counts = [(f"{deliveries:,}", "delivery" if deliveries == 1 else "deliveries")]
    if not story.hidden:
        counts += [(f"{n}", kind if n == 1 else f"{kind}s") for kind, n in kinds.items()]
    said = ", ".join(" ".join(each) for each in counts)
    more = f", of which the first {len(story.attempts)} are shown" if story.hidden else ""
    return f"Job {story.job}: {said}{more}"


def _draw_queue(ax: Any, story: History, kinds: set[str]) -> None:
    for since, until in story.waiting:
        if until > since:
            marks.bar(ax, "waits in the queue", since, until, 0, BAR, kinds)
    marks.point(ax, "published", story.published, 0, kinds)
    settled = story.settled
    if math.isnan(settled) or settled > story.end:
        return
    kind = "settled: acked" if story.outcome == "acked" else "settled: dead-lettered"
    ax.axvline(settled, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
    marks.point(ax, kind, settled, 0, kinds)
    late = settled > (story.published + story.end) / 2
    ax.annotate(
        f"{story.outcome} at {seconds(settled)}",
        (settled, 0),
        xytext=(-9 if late else 9, 0),
        textcoords="offset points",
        ha="right" if late else "left",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def _draw_lease(ax: Any, attempt: Attempt, kinds: set[str]) -> None:
    y = attempt.row + 1 + LEASE_BELOW
    ends = attempt.leased_until
    shown = min(ends, ax.get_xlim()[1])
    marks.lease(ax, attempt.received, shown, y, kinds, goes_on=ends > shown)
    if not math.isnan(attempt.expired):
        marks.point(ax, "lease runs out", attempt.expired, y, kinds)


def _draw_work(ax: Any, attempt: Attempt, story: History, kinds: set[str]) -> None:
    y = attempt.row + 1
    end = attempt.busy_until(story.end)
    started = end if math.isnan(attempt.started) else attempt.started
    if started > attempt.received:
        marks.bar(ax, "waits in the worker's buffer", attempt.received, started, y, BAR, kinds)
    if not math.isnan(attempt.started):
        marks.bar(ax, marks.WORK[attempt.outcome], started, end, y, BAR, kinds)


def _draw_marks(ax: Any, attempt: Attempt, kinds: set[str]) -> None:
    y = attempt.row + 1
    for effect in attempt.effects:
        marks.effect(ax, effect, y, kinds)
    if attempt.outcome == "crashed":
        marks.crash(ax, attempt.ended, y, attempt.effects, kinds)
    if attempt.ack is not None:
        marks.point(ax, f"ack {attempt.ack}", attempt.acked, y + LEASE_BELOW, kinds)


def _draw_redeliveries(ax: Any, story: History) -> None:
    """An arrow from where each delivery's lease ended without success to the next delivery."""
    for before, after in zip(story.attempts, story.attempts[1:], strict=False):
        left_at = before.expired if math.isnan(before.nacked) else before.nacked
        if not math.isnan(left_at):
            ax.annotate(
                "",
                xy=(after.received, after.row + 1 - BAR / 2),
                xytext=(left_at, before.row + 1 + LEASE_BELOW),
                arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.9, "shrinkA": 3},
                zorder=1,
            )


def _name_deliveries(ax: Any, story: History) -> None:
    """Write above each bar which delivery it is and what came of it, as far as there is room."""
    right_edge = ax.get_xlim()[1]
    for row in range(story.rows):
        attempts = [each for each in story.attempts if each.row == row]
        limits = [*(each.received for each in attempts[1:]), right_edge]
        for attempt, limit in zip(attempts, limits, strict=True):
            _name_delivery(ax, attempt, limit, alone=len(attempts) == 1)


def _name_delivery(ax: Any, attempt: Attempt, limit: float, *, alone: bool) -> None:
    names = (_name(attempt), f"delivery {attempt.number}", str(attempt.number))
    text = ax.annotate(
        "",
        (attempt.received, attempt.row + 1 - LABEL_ABOVE),
        xytext=(2, 0),
        textcoords="offset points",
        ha="left",
        va="bottom",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        zorder=1.5,
    )
    text.set_in_layout(False)
    for name in names:
        text.set_text(name)
        extent = text.get_window_extent()
        if ax.transData.inverted().transform((extent.x1, 0))[0] < limit:
            return
        if alone:
            text.xy = (limit, text.xy[1])
            text.set_ha("right")
            return


def _name(attempt: Attempt) -> str:
    ack = f", ack {attempt.ack}" if attempt.ack else ""
    what = {"running": "still running", "unstarted": "never started"}
    return f"delivery {attempt.number}: {what.get(attempt.outcome, attempt.outcome)}{ack}"


def in_words(story: History) -> str:
    """The timeline as sentences."""
    parts = [f"Timeline of job {story.job}, published at {seconds(story.published)}."]
    parts += [_attempt_in_words(attempt) for attempt in story.attempts]
    if story.hidden:
        parts.append(f"{story.hidden:,} more deliveries are not shown.")
    parts.append(
        "It was not settled when the run ended."
        if math.isnan(story.settled)
        else f"The job was {story.outcome} at {seconds(story.settled)}."
    )
    return " ".join(parts)


def _attempt_in_words(attempt: Attempt) -> str:
    lease = (
        "without a lease"
        if math.isinf(attempt.lease_ends)
        else f"leased until {seconds(attempt.lease_ends)}"
    )
    said = [f"Delivery {attempt.number} to worker {attempt.worker} at {seconds(attempt.received)}"]
    said.append(lease)
    if attempt.started > attempt.received:
        said.append(f"started at {seconds(attempt.started)}")
    said += [
        f"{each.kind} {each.repeat + 1} at {seconds(each.time)}"
        + (" (duplicate)" if each.repeat else "")
        for each in attempt.effects
    ]
    if attempt.outcome in ("running", "unstarted"):
        said.append({"running": "still running", "unstarted": "never started"}[attempt.outcome])
    else:
        said.append(f"{attempt.outcome} at {seconds(attempt.ended)}")
    if attempt.ack:
        said.append(f"ack {attempt.ack}")
    return ", ".join(said) + "."
