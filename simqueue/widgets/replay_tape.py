"""A recorded run to wind back and forth: the state after any number of events."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from simqueue.model.ledger import Event
from simqueue.widgets.replay_parts import Row
from simqueue.widgets.replay_state import State

if TYPE_CHECKING:
    from simqueue.result import Result
    from simqueue.tally import Ints

MOST_EVENTS = 100_000
CHECKPOINTS = 40
FEWEST_BETWEEN = 500


class Tape:
    """The events of a run up to `until` (seconds), and the state after any number of them.

    A place on the tape is a number of events: at 0 nothing has happened, at `length` all has. Going
    back starts from the last checkpoint before, so that no move has to go through the whole run.
    Raises ValueError where there are more than `MOST_EVENTS`.
    """

    def __init__(self, result: Result, until: float = math.inf) -> None:
        self._rows = rows = result.tally.rows
        self.words = rows.words
        self.length = int(np.searchsorted(rows.time, until, side="right"))
        if self.length > MOST_EVENTS:
            raise ValueError(
                f"A replay shows at most {MOST_EVENTS:,} events, and this run has "
                f"{self.length:,}: simulate fewer jobs, or give an earlier `until`."
            )
        self.end = min(result.duration, until)
        workers = result.scenario.workers
        self.workers = max(workers.count, int(rows.worker.max(initial=0)))
        ttl = math.inf if result.scenario.store.ttl is None else result.scenario.store.ttl
        self._state = State(self.words, self.workers, throttled=workers.throttled, ttl=ttl)
        self._place = 0
        self._spacing = max(FEWEST_BETWEEN, self.length // CHECKPOINTS + 1)
        self._checkpoints = [self._state.copy()]

    def time(self, place: int) -> float:
        """When the event that leads to `place` happened, in seconds; 0 at the beginning."""
        return float(self._rows.time[place - 1]) if place else 0.0

    def row(self, place: int) -> Row:
        """The event that leads to `place`, from 1 on."""
        rows, n = self._rows, place - 1
        return Row(
            float(rows.time[n]),
            int(rows.event[n]),
            int(rows.job[n]),
            int(rows.delivery[n]),
            int(rows.worker[n]),
            float(rows.value[n]),
        )

    def place_at(self, time: float) -> int:
        """The place after all that happened up to `time` (seconds), that instant included."""
        return int(np.searchsorted(self._rows.time[: self.length], time, side="right"))

    def state(self, place: int) -> State:
        """Return the state after `place` events. It is changed by the next call."""
        if place < self._place:
            known = min(place // self._spacing, len(self._checkpoints) - 1)
            self._state = self._checkpoints[known].copy()
            self._place = known * self._spacing
        while self._place < place:
            self._place += 1
            self._state.apply(self.row(self._place))
            if self._place == self._spacing * len(self._checkpoints):
                self._checkpoints.append(self._state.copy())
        return self._state

    def where(self, *events: int) -> Ints:
        """The places that events of these kinds lead to."""
        return np.flatnonzero(np.isin(self._rows.event[: self.length], events)) + 1

    def jobs_at(self, places: Ints) -> Ints:
        """The jobs that the events which lead to `places` are about."""
        return self._rows.job[places - 1]

    def places_of(self, job: int) -> Ints:
        """The places that events about `job` lead to."""
        return np.flatnonzero(self._rows.job[: self.length] == job) + 1

    @cached_property
    def telling(self) -> int:
        """The place that says most about the run.

        The first moment at which a second delivery starts while another one of its job is at work;
        otherwise the first duplicate effect, the first dead letter, the first crash, or the end.
        """
        running: dict[int, int] = {}
        for place in self.where(Event.STARTED, Event.FINISHED, Event.FAILED, Event.CRASHED):
            row = self.row(int(place))
            running[row.job] = running.get(row.job, 0) + (1 if row.event == Event.STARTED else -1)
            if running[row.job] > 1:
                return int(place)
        seen: set[tuple[int, float]] = set()
        for place in self.where(Event.EFFECT):
            row = self.row(int(place))
            if (row.job, row.value) in seen:
                return int(place)
            seen.add((row.job, row.value))
        for event in (Event.DEAD_LETTERED, Event.WORKER_CRASHED):
            found = self.where(event)
            if len(found):
                return int(found[0])
        return self.length
