"""What a replay says: its events as sentences, and the whole moment for those who do not see it."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from simqueue.model.ledger import EVENT_NAMES, Event
from simqueue.story import seconds, sentences
from simqueue.widgets.replay_parts import (
    DEAD,
    DRAINING,
    GIVEN_BACK,
    HOLDS,
    PAUSED,
    RAN_OUT,
    STOPPED,
    Held,
    WorkerNow,
)
from simqueue.widgets.replay_state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from simqueue.result import Result
    from simqueue.widgets.replay_parts import Effect, Row
    from simqueue.widgets.replay_tape import Tape

MOST_NAMED = 12


class Sentences:
    """Each event of a run in words; those of a job are made when one of them is first asked for."""

    def __init__(self, result: Result, tape: Tape) -> None:
        self._result = result
        self._tape = tape
        self._of_job: dict[int, dict[int, str]] = {}

    def said(self, place: int) -> str:
        """The event that leads to `place`, as a sentence without its time."""
        row = self._tape.row(place)
        if row.job < 0:
            return _about_no_job(row)
        if row.job not in self._of_job:
            self._of_job[row.job] = sentences(self._result, row.job)
        return f"Job {row.job}: {self._of_job[row.job][place - 1]}."

    def latest(self, places: Iterable[int]) -> list[tuple[str, str]]:
        """The events that lead to `places`: the time of each in seconds, and its sentence."""
        return [(f"{seconds(self._tape.time(place))} s", self.said(place)) for place in places]


def _about_no_job(row: Row) -> str:
    who = f"Worker {row.worker}" if row.worker > 0 else ""
    until = "" if math.isnan(row.value) else seconds(row.value)
    said = {
        Event.WORKER_CRASHED: "crashes, with all that it holds",
        Event.WORKER_RESTARTED: "is back, as a fresh process",
        Event.WORKER_PAUSED: f"stands still until {until} s, and doesn't know",
        Event.WORKER_RESUMED: "goes on as if nothing had happened",
        Event.WORKER_DRAINING: f"is to be replaced, and has until {until} s to finish",
        Event.WORKER_PARTITIONED: f"is cut off from the broker until {until} s",
        Event.LEFT_GROUP: "leaves the group",
        Event.ASSIGNED: f"is given partitions: {until}",
        Event.REBALANCED: "The group divides its partitions anew",
    }.get(row.event, EVENT_NAMES[row.event])
    return f"{who} {said}".strip() + "."


def status(worker: WorkerNow, now: float) -> str:
    """How a worker is, in a word or two; empty if it is well."""
    said = {
        DEAD: "DEAD",
        PAUSED: "STANDS STILL",
        DRAINING: "draining",
        STOPPED: "takes no more",
    }.get(worker.status, "")
    if worker.status in (PAUSED, DRAINING) and worker.until >= now:
        said += f", {_left(worker.until - now)}"
    if worker.cut_off_until > now:
        said = f"{said}; CUT OFF".strip("; ") + f", {_left(worker.cut_off_until - now)}"
    return said


def lease(held: Held, now: float) -> str:
    """What a delivery still has of its message."""
    if held.link == RAN_OUT:
        return f"LEASE OVER for {rough(now - held.link_since)}"
    if held.link == GIVEN_BACK:
        return "given back"
    if held.link != HOLDS:
        return "message is settled"
    if math.isinf(held.lease_ends):
        return "no lease"
    if held.lease_ends < now:
        return f"lease over for {rough(now - held.lease_ends)}, nobody noticed"
    return f"lease: {_left(held.lease_ends - now)}"


def work(held: Held, now: float) -> str:
    """What a delivery does in its worker."""
    if held.is_at_work:
        return f"at work for {rough(now - held.started)}"
    return f"waits in the buffer for {rough(now - held.received)}"


def effect(one: Effect) -> str:
    """An effect and its number."""
    number = f" no. {one.repeat + 1}, DUPLICATE" if one.repeat else ""
    return f"job {one.job}: {one.kind}{number} at {rough(one.time)}"


def orphan(held: Held, now: float) -> str:
    """A job that nobody works on, and how long its message is still hidden."""
    hidden = "" if math.isinf(held.lease_ends) else f": hidden for {rough(held.lease_ends - now)}"
    return f"job {held.job}{hidden}"


def rough(time: float) -> str:
    """Seconds with a tenth where they are few, so that they can be read while they run."""
    return f"{time:,.1f} s" if time < 100 else f"{time:,.0f} s"


def alternative(state: State, now: float) -> str:
    """The whole moment, for those who do not see it."""
    counts = state.counts
    parts = [
        f"The system at {seconds(now)} s.",
        f"Queue: {_messages(counts['visible'], 'visible', state.visible)}, "
        f"{_messages(counts['delayed'], 'delayed', state.delayed)}.",
    ]
    parts += [f"Nobody works on {orphan(held, now)}." for held in _first(state.orphans.values())]
    busy = 0
    for number, worker in state.workers.items():
        said = [
            f"job {held.job}, delivery {held.attempt}, {work(held, now)}, {lease(held, now)}"
            for held in worker.held.values()
        ]
        how = status(worker, now)
        if (said or how) and busy < MOST_NAMED:
            busy += 1
            parts.append(f"Worker {number}: {'; '.join([how] * bool(how) + said)}.")
    twice = Counter(
        held.job for each in state.workers.values() for held in each.held.values()
        if held.is_at_work
    )  # fmt: skip
    parts += [f"Job {job} runs {count} times at once." for job, count in twice.items() if count > 1]
    if not busy:
        parts.append("All workers are idle.")
    rows = list(state.store(now).items())[-MOST_NAMED:]
    if rows:
        said = [f"job {job} {row.status}" for job, row in rows]
        parts.append(f"Dedupe rows: {', '.join(said)}.")
    duplicates = sum(1 for each in state.effects if each.repeat)
    parts.append(f"Effects: {len(state.effects)}, of which duplicates: {duplicates}.")
    parts.append(f"Dead-letter queue: {_messages(counts['dead_lettered'], '', state.dead)}.")
    return " ".join(parts)


def _messages(count: int, what: str, jobs: Iterable[int]) -> str:
    named = list(jobs)[:MOST_NAMED]
    more = ", …" if count > len(named) else ""
    listed = f" (jobs {', '.join(map(str, named))}{more})" if named else ""
    return f"{count or 'none'} {what}".strip() + listed


def _first(held: Iterable[Held]) -> list[Held]:
    return list(held)[:MOST_NAMED]


def _left(time: float) -> str:
    return f"{rough(time)} left"
