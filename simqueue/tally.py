"""A run's ledger, added up per job and per delivery: plain arrays, from which figures are made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simqueue.model.ledger import Event, Records
from simqueue.model.message import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SETTLING = (Event.ACKED, Event.DEAD_LETTERED, Event.LOST, Event.MESSAGE_EXPIRED)
ENDS = {Event.FINISHED: "finished", Event.FAILED: "failed", Event.CRASHED: "crashed"}
ACKS = {
    Event.ACKED: "accepted",
    Event.ACK_IGNORED: "ignored",
    Event.ACK_REFUSED: "refused",
    Event.ACK_LOST: "lost",
}


@dataclass(frozen=True)
class Rows:
    """Columns of the ledger, all of the same length, in the order in which things happened."""

    time: Floats
    event: Ints
    job: Ints
    delivery: Ints
    worker: Ints
    value: Floats
    words: list[str]

    @classmethod
    def of(cls, records: Records) -> Rows:
        """Return the columns of `records`."""
        columns = np.ascontiguousarray(records.table.T)
        event, job, delivery, worker = columns[1:5].astype(np.int64)
        return cls(columns[0], event, job, delivery, worker, columns[5], records.words)

    def where(self, event: int) -> Ints:
        """Return the positions of the rows that say `event`."""
        return np.flatnonzero(self.event == event)

    def said(self, positions: Ints) -> list[str]:
        """Return the words that are the values of the rows at `positions`."""
        return [self.words[place] for place in self.value[positions].astype(int).tolist()]


class Tally:
    """Per job (index: its id) and per delivery (index: its number): when, and how often.

    Times are in seconds; NaN stands for never. `acked`, `dead`, `lost`, `expired` and `unsettled`
    count the messages of each job by what became of them; a job is `settled` with the last one.
    """

    def __init__(self, records: Records, jobs: int, horizon: float | None) -> None:
        self.rows = rows = Rows.of(records)
        self.job_count = jobs
        last = float(rows.time[-1]) if len(rows.time) else 0.0
        self.end = last if horizon is None else float(horizon)
        self.published = self._first_per_job(Event.PUBLISHED)
        self.received = self._first_per_job(Event.RECEIVED)
        self.started = self._first_per_job(Event.STARTED)
        self.first_effect = self._first_per_job(Event.EFFECT)
        self.settled = self._last_per_job(*SETTLING)
        forgotten = self._count_per_job(Event.DEAD_LETTER_EXPIRED)
        overruled = self._count_per_job(Event.ACKED, State.DEAD_LETTERED)
        back = self._count_per_job(Event.REDRIVEN)
        self.dead = self._count_per_job(Event.DEAD_LETTERED) - back - forgotten - overruled
        again = self._count_per_job(Event.REWOUND) + self._count_per_job(Event.REPLAYED)
        self.acked = self._count_per_job(Event.ACKED) - again
        self.lost = self._count_per_job(Event.LOST)
        self.expired = self._count_per_job(Event.MESSAGE_EXPIRED) + forgotten
        swallowed = self._count_per_job(Event.DEDUPLICATED)
        gone = self.dead + self.acked + self.lost + self.expired + swallowed
        self.unsettled = self._count_per_job(Event.PUBLISHED) - gone
        self.settled[self.unsettled > 0] = np.nan
        self.deliveries = self._count_per_job(Event.RECEIVED)
        self.executions = self._count_per_job(Event.STARTED)
        self.effects = self._count_per_job(Event.EFFECT)
        self.extra_effects = self._extra_effects()
        effects = rows.where(Event.EFFECT)[::-1]
        self.first_effect_delivery = np.full(jobs, -1, dtype=np.int64)
        self.first_effect_delivery[rows.job[effects]] = rows.delivery[effects]

        received = rows.where(Event.RECEIVED)
        self.delivery_job = rows.job[received]
        self.delivery_received = rows.time[received]
        self.delivery_started = self._first_per_delivery(Event.STARTED)
        self.delivery_ended = self._first_per_delivery(*ENDS)
        self.delivery_crashed = self._first_per_delivery(Event.CRASHED)

    @property
    def still_running(self) -> NDArray[np.bool_]:
        """Which deliveries were started and had not ended when the run did."""
        return ~np.isnan(self.delivery_started) & np.isnan(self.delivery_ended)

    @property
    def busy(self) -> Floats:
        """Seconds that each delivery kept a slot busy; 0 where it was never started."""
        ended = np.where(self.still_running, self.end, self.delivery_ended)
        seconds: Floats = np.nan_to_num(ended - self.delivery_started)
        return seconds

    def count(self, event: int, jobs: NDArray[np.bool_]) -> int:
        """Return how many rows say `event` about the jobs that the mask `jobs` picks."""
        return int(np.count_nonzero(jobs[self.rows.job[self.rows.where(event)]]))

    @property
    def recovery(self) -> Floats:
        """Seconds from each crash of a delivery to the next delivery of its job, where one came.

        0 where the lease had run out before the crash and the next delivery was under way already.
        """
        crashed = np.flatnonzero(~np.isnan(self.delivery_crashed))
        jobs = self.delivery_job
        order = np.lexsort((np.arange(len(jobs)), jobs))
        place = np.empty(len(jobs), dtype=np.int64)
        place[order] = np.arange(len(jobs))
        following = place[crashed] + 1
        inside = following < len(jobs)
        crashed, following = crashed[inside], order[following[inside]]
        same = jobs[crashed] == jobs[following]
        waits = self.delivery_received[following] - self.delivery_crashed[crashed]
        overlapping: Floats = np.maximum(waits[same], 0.0)
        return overlapping

    def _first_per_job(self, event: int) -> Floats:
        return self._first(self.rows.job, self.job_count, event)

    def _last_per_job(self, *events: int) -> Floats:
        positions = np.flatnonzero(np.isin(self.rows.event, events))
        times = np.full(self.job_count, np.nan)
        times[self.rows.job[positions]] = self.rows.time[positions]
        return times

    def _first_per_delivery(self, *events: int) -> Floats:
        return self._first(self.rows.delivery, len(self.delivery_job), *events)

    def _first(self, index: Ints, size: int, *events: int) -> Floats:
        times = np.full(size, np.nan)
        positions = np.flatnonzero(np.isin(self.rows.event, events))[::-1]
        times[index[positions]] = self.rows.time[positions]
        return times

    def _count_per_job(self, event: int, value: float | None = None) -> Ints:
        positions = self.rows.where(event)
        if value is not None:
            positions = positions[self.rows.value[positions] == value]
        return np.bincount(self.rows.job[positions], minlength=self.job_count)

    def _extra_effects(self) -> Ints:
        """Effects of each job beyond the first of their kind."""
        effects = self.rows.where(Event.EFFECT)
        kinds = self.rows.value[effects]
        extra = np.zeros(self.job_count, dtype=np.int64)
        for kind in np.unique(kinds):
            of_kind = self.rows.job[effects[kinds == kind]]
            extra += np.maximum(np.bincount(of_kind, minlength=self.job_count) - 1, 0)
        return extra
