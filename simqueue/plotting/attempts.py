"""One job's deliveries, taken out of a result for drawing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simqueue import checks

if TYPE_CHECKING:
    import pandas as pd

    from simqueue.result import Result


@dataclass(frozen=True)
class Effect:
    """An effect at `time` (s); `repeat` counts those of its kind on the job from 0."""

    time: float
    kind: str
    repeat: int


@dataclass(frozen=True)
class Attempt:
    """One delivery. Times in seconds; NaN: it did not happen. `row` counts drawn rows from 0."""

    number: int
    worker: int
    row: int
    received: float
    lease_ends: float
    started: float
    ended: float
    outcome: str
    ack: str | None
    acked: float
    expired: float
    nacked: float
    effects: tuple[Effect, ...]

    def busy_until(self, end: float) -> float:
        """When its worker was rid of it: `end`, the end of the run, if it still had it then."""
        return end if math.isnan(self.ended) else self.ended

    @property
    def leased_until(self) -> float:
        """When the lease ended: by an accepted ack, by a nack, or by itself; maybe infinite."""
        accepted = self.acked if self.ack == "accepted" else math.nan
        ends = (self.lease_ends, accepted, self.nacked)
        return min(each for each in ends if not math.isnan(each))


@dataclass(frozen=True)
class History:
    """What happened to one job, and when (seconds).

    `waiting` are the spans in which its message was visible in the queue, `hidden` how many later
    deliveries were left out.
    """

    job: int
    attempts: tuple[Attempt, ...]
    workers: tuple[int, ...]
    waiting: tuple[tuple[float, float], ...]
    published: float
    settled: float
    outcome: str
    end: float
    hidden: int

    @property
    def rows(self) -> int:
        """How many rows the deliveries take."""
        return len(self.workers)


def history(result: Result, job: int, most: int) -> History:
    """Take job number `job` out of `result`: its first `most` deliveries.

    Raises ValueError for a job that there is not, or that the horizon left unpublished.
    """
    checks.whole("job", job, 0, (result.scenario.jobs or 0) - 1)
    checks.whole("most", most, 1)
    (summary,) = _rows_about(result.jobs.iloc[[job]])
    if math.isnan(summary["published"]):
        raise ValueError(f"job {job} was not published before the horizon: there is no timeline.")
    deliveries, effects, events = (
        _rows_about(table[table["job"] == job])
        for table in (result.deliveries, result.effects, result.events)
    )
    shown = deliveries[:most]
    end = _end(result, summary, deliveries, most)
    places, workers = _places(shown, end)
    attempts = tuple(
        _attempt(row, place, effects, events) for row, place in zip(shown, places, strict=True)
    )
    return History(
        job=job,
        attempts=attempts,
        workers=workers,
        waiting=_waiting(summary, deliveries, events, end),
        published=summary["published"],
        settled=summary["settled"],
        outcome=summary["outcome"],
        end=end,
        hidden=len(deliveries) - len(shown),
    )


Row = dict[str, Any]


def _rows_about(table: pd.DataFrame) -> list[Row]:
    """The rows of a table, each by its column names and with its own "index"."""
    name = table.index.name or "index"
    rows: list[Row] = table.reset_index(names=name).to_dict("records")  # type: ignore[assignment]
    return rows


def _attempt(row: Row, place: int, effects: list[Row], events: list[Row]) -> Attempt:
    number = row["delivery"]
    nacks = (
        each["time"] for each in events if each["delivery"] == number and each["event"] == "nacked"
    )
    return Attempt(
        number=row["attempt"],
        worker=row["worker"],
        row=place,
        received=row["received"],
        lease_ends=row["lease_ends"],
        started=row["started"],
        ended=row["ended"],
        outcome=row["outcome"],
        ack=row["ack"] if isinstance(row["ack"], str) else None,
        acked=row["acked"],
        expired=row["expired"],
        nacked=next(nacks, math.nan),
        effects=tuple(
            Effect(each["time"], each["effect"], each["repeat"])
            for each in effects
            if each["delivery"] == number
        ),
    )


def _end(result: Result, summary: Row, deliveries: list[Row], most: int) -> float:
    """Where the picture ends: with the job's last event, or that of the deliveries shown."""
    shown = deliveries[:most]
    if any(row["outcome"] in ("running", "unstarted") for row in shown):
        # Only a horizon leaves a handler running, and the last event may be long before it.
        return result.scenario.horizon or result.duration
    times = [row[name] for row in shown for name in ("received", "ended", "expired")]
    if len(deliveries) <= most:
        times += [summary["published"], summary["settled"]]
    return float(max(time for time in times if not math.isnan(time)))


def _waiting(
    summary: Row, deliveries: list[Row], events: list[Row], end: float
) -> tuple[tuple[float, float], ...]:
    """The spans in which the message was visible: until it was received, settled, or the end."""
    visible = [each["time"] for each in events if each["event"] == "visible"]
    since = [summary["published"], *visible]
    until = [row["received"] for row in deliveries]
    if len(until) < len(since):
        settled = summary["settled"]
        until.append(end if math.isnan(settled) else settled)
    spans = zip(since, until, strict=False)
    return tuple((begin, min(over, end)) for begin, over in spans if begin < end)


def _places(deliveries: list[Row], end: float) -> tuple[list[int], tuple[int, ...]]:
    """The row of each delivery, and the worker of each row.

    A worker has one row, or more where it holds several deliveries of the job at once.
    """
    free_from: list[float] = []
    workers: list[int] = []
    found = []
    for row in deliveries:
        free = (
            place
            for place, worker in enumerate(workers)
            if worker == row["worker"] and free_from[place] <= row["received"]
        )
        place = next(free, len(workers))
        if place == len(workers):
            workers.append(row["worker"])
            free_from.append(0.0)
        free_from[place] = end if math.isnan(row["ended"]) else row["ended"]
        found.append(place)
    order = sorted(range(len(workers)), key=lambda place: (workers.index(workers[place]), place))
    return [order.index(place) for place in found], tuple(workers[place] for place in order)
