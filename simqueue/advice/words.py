"""An advice in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simqueue.advice.timeouts import round_up
from simqueue.trace.log import duration_text
from simqueue.trace.times import later

if TYPE_CHECKING:
    from simqueue.advice.recommendation import Advice
    from simqueue.advice.replay import Prediction
    from simqueue.trace import JobLog

HEARTBEAT_LEASE = 30.0
"""Seconds of lease for the comparison with a heartbeat, which extends it at every third of that.

30 s is what SQS gives a message unless told otherwise.
"""
FEW_JOBS = 10


def reason(advice: Advice) -> str:
    """Why the recommended timeout, or why none."""
    best, log = advice.recommended, advice.log
    if best is None:
        needed = round_up(log.quantile(1 - advice.target))
        return (
            f"With each of these timeouts, more than {percent(advice.target)} of the jobs outlast "
            f"it or run more than once. Judging by the log alone it takes {seconds(needed)}: no "
            f"more than {percent(advice.target)} of the jobs take longer than that."
        )
    mean = float(log.durations.mean())
    return " ".join(
        [
            f"It is the shortest of these timeouts with no more than {percent(advice.target)} of "
            f"the jobs outlasting it: {percent(best.share_outlasting)} do, and "
            f"{percent(best.duplicate_rate)} run more than once.",
            f"The slowest jobs decide, not the average: the mean is {seconds(mean)}, but one job "
            f"in 100 takes {seconds(log.quantile(0.99))} or longer, and the longest took "
            f"{seconds(log.quantile(1.0))}.",
            *_tempting_timeout(advice, mean),
            _price(best),
        ]
    )


def heartbeat(advice: Advice) -> str:
    """What a heartbeat would change."""
    lease, interval = HEARTBEAT_LEASE, HEARTBEAT_LEASE / 3
    if advice.recommendation is not None and advice.recommendation <= lease:
        return "A heartbeat would gain little: the timeout is short already."
    wait = lost_work(advice.log) + lease - interval / 2
    instead = (
        "" if advice.recommendation is None else f" instead of {seconds(advice.recommendation)}"
    )
    return (
        f"A heartbeat would end this trade: a worker that extends its lease every "
        f"{seconds(interval)} while it works can do with a timeout of {seconds(lease)}, however "
        f"long its jobs are. After a crash a job then starts over within {seconds(lease)}, so its "
        f"user waits about {seconds(wait)} longer (the lost work included){instead}. Only a pause "
        f"of more than {seconds(lease - interval)} can then make a second delivery."
    )


def lost_work(log: JobLog) -> float:
    """Mean seconds of work that a crash at a random busy moment throws away.

    A long job is the likelier to be hit, so it is E[S²] / 2 E[S] over durations S: half of what
    the job that is hit takes on average (the inspection paradox).
    """
    total = float(log.durations.sum())
    return float(np.square(log.durations).sum()) / (2 * total) if total > 0 else 0.0


def warnings(advice: Advice) -> tuple[str, ...]:
    """What speaks against the workers, the log or the result, one sentence each."""
    found = [*_overload(advice)]
    expected = advice.target * len(advice.log)
    if 0 < expected < FEW_JOBS:
        found.append(
            f"{percent(advice.target)} of {len(advice.log):,} jobs is {expected:.2g}: so few slow "
            "jobs tell little about the next log. Leave a margin, or read a longer log."
        )
    best = advice.recommended
    if best is not None and math.isinf(best.recovery_p95):
        found.append(
            "More than one in 20 of the jobs that a crash hits never recover: they crash again "
            "until they are in the dead-letter queue."
        )
    return tuple(found)


def text(advice: Advice) -> str:
    """The whole advice."""
    load, timeout = advice.load, advice.recommendation
    headline = (
        "None of these timeouts is long enough."
        if timeout is None
        else f"Set the visibility timeout to {seconds(timeout)}."
    )
    return "\n".join(
        [
            advice.log.report(),
            f"Load: work for {load.average:.3g} workers on average, and for {load.peak:.3g} in the "
            f"busiest {duration_text(load.window)}; there are {advice.slots:,}.",
            "",
            *_table(advice),
            "",
            headline,
            advice.reason,
            advice.heartbeat,
            *(f"Warning: {each}" for each in advice.warnings),
        ]
    )


def percent(share: float) -> str:
    """A share as a percentage with two or three digits: 0.2869 gives `28.7%`."""
    value = 100 * share
    return f"{value:.3g}%" if value >= 10 else f"{value:.2g}%"


def seconds(value: float) -> str:
    """Seconds with at most three digits, or all of them from 100 on: `28.7 s`, `1,200 s`."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f} s" if abs(value) >= 100 else f"{value:.3g} s"


def _tempting_timeout(advice: Advice, mean: float) -> list[str]:
    """What the shortest timeout above the mean would do, if it is no good."""
    first = next((each for each in advice.predictions if each.timeout >= mean), None)
    if first is None or first.duplicate_rate <= advice.target:
        return []
    dead = (
        f", and send {percent(first.dead_letter_rate)} of all jobs to the dead-letter queue after "
        f"{advice.max_receives} deliveries although every run succeeded"
    )
    return [
        f"A timeout just above the mean, {seconds(first.timeout)}, would make "
        f"{percent(first.duplicate_rate)} of the jobs run more than once"
        f"{dead if first.dead_letter_rate > 0 else ''}."
    ]


def _price(best: Prediction) -> str:
    if best.crashes == 0:
        return (
            "The price is the wait after a crash: nothing brings the job back before its timeout "
            f"is over, so its user waits about {seconds(best.timeout)} longer."
        )
    usual, most = seconds(best.recovery_p50), seconds(best.recovery_p95)
    spread = f" (median; in 95% of the cases at most {most})" if most != usual else ""
    queue = ", and then it waits for a free worker" if best.recovery_p95 > best.timeout else ""
    return (
        "The price is the wait after a crash: when a worker dies in the middle of a job, its user "
        f"waits {usual} longer{spread}, since nothing brings the job back before its timeout is "
        f"over{queue}."
    )


def _overload(advice: Advice) -> list[str]:
    load, slots = advice.load, advice.slots
    one = slots == 1
    if load.average >= slots:
        return [
            f"{slots:,} worker{' ' if one else 's '}cannot keep up: the log brings work for "
            f"{load.average:.3g} all the time, so jobs wait ever longer."
        ]
    if load.peak > slots:
        since = advice.log.started_at and later(advice.log.started_at, round(load.peak_at))
        return [
            f"{slots:,} worker{' falls' if one else 's fall'} behind at the peak: in the "
            f"{duration_text(load.window)} from {since or seconds(load.peak_at)} on, the log "
            f"brings work for {load.peak:.3g}, so jobs wait then."
        ]
    return []


_TITLES = (
    "timeout",
    "jobs outlast it",
    "run more than once",
    "extra work",
    "dead-letter queue",
    "a crash delays by",
    "95% at most",
)


def _table(advice: Advice) -> list[str]:
    rows = [_TITLES] + [
        (
            ("> " if each is advice.recommended else "") + seconds(each.timeout),
            percent(each.share_outlasting),
            percent(each.duplicate_rate),
            percent(each.extra_work),
            percent(each.dead_letter_rate),
            seconds(each.recovery_p50),
            seconds(each.recovery_p95),
        )
        for each in advice.predictions
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_TITLES))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
