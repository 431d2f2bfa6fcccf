"""A run, as far as it is about some of its jobs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simqueue.result import Result
    from simqueue.tally import Floats, Ints, Tally


class View:
    """All jobs of a run, or one of them: what happened to it."""

    def __init__(self, result: Result, job: int | None = None) -> None:
        self.tally: Tally = result.tally
        self.jobs = np.ones(self.tally.job_count, dtype=bool)
        if job is not None:
            self.jobs = np.arange(self.tally.job_count) == job

    @cached_property
    def deliveries(self) -> Ints:
        """The numbers of our deliveries."""
        return np.flatnonzero(self.jobs[self.tally.delivery_job])

    @cached_property
    def executions(self) -> tuple[Floats, Floats]:
        """When our handlers started, in order, and when each ended (infinity: not yet)."""
        started = self.tally.delivery_started[self.deliveries]
        ended = self.tally.delivery_ended[self.deliveries]
        there = np.flatnonzero(~np.isnan(started))
        there = there[np.argsort(started[there], kind="stable")]
        return started[there], np.nan_to_num(ended[there], nan=np.inf)

    def rows(self, event: int) -> Ints:
        """The places of the ledger's rows that say `event` about our jobs."""
        rows = self.tally.rows
        places = rows.where(event)
        return places[self.jobs[rows.job[places]]]

    def times(self, event: int) -> list[float]:
        """When `event` happened to our jobs, in seconds."""
        return [float(time) for time in self.tally.rows.time[self.rows(event)]]

    def settled_after(self) -> Floats:
        """Seconds from publish until it was settled, of each of our jobs that was."""
        seconds: Floats = (self.tally.settled - self.tally.published)[self.jobs]
        return seconds[~np.isnan(seconds)]

    def redelivered_after(self) -> Floats:
        """Seconds from first to second delivery, of each of our jobs that had a second one."""
        waits: list[float] = []
        for job in np.flatnonzero(self.jobs & (self.tally.deliveries > 1)).tolist():
            received = self.tally.delivery_received[self.tally.delivery_job == job]
            waits.append(float(received[1] - received[0]))
        return np.array(waits)
