"""A run told again from its ledger alone, row by row, with nothing taken from the queue's memory.

Laws about a run are plain functions of a `Run` that raise AssertionError where it breaks them.
Times are in whole microseconds here, so that equal is equal.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import simqueue as sq
from simqueue.model.ledger import EVENT_NAMES, Event

NEVER = math.inf

SETTLED = {
    Event.ACKED: "acked",
    Event.DEAD_LETTERED: "dead-lettered",
    Event.LOST: "lost",
    Event.MESSAGE_EXPIRED: "expired",
}
STATES = ("delayed", "visible", "in flight", *SETTLED.values(), "deduplicated")
"""Where a message is. A row names a state by its place here."""

MOVES = {
    Event.RECEIVED: ("visible", "in flight"),
    Event.EXPIRED: ("in flight", "delayed"),
    Event.NACKED: ("in flight", "delayed"),
    Event.VISIBLE: ("delayed", "visible"),
    Event.REDRIVEN: ("dead-lettered", "visible"),
    Event.DEDUPLICATED: ("visible", "deduplicated"),
    Event.DEAD_LETTER_EXPIRED: ("dead-lettered", "expired"),
    Event.REPLAYED: ("acked", "visible"),
    Event.REVOKED: ("in flight", "visible"),
    Event.REWOUND: ("acked", "visible"),
}
"""From where to where a row moves a message. PUBLISHED, and what is in `SETTLED`, say it."""

ENDS = (Event.FINISHED, Event.FAILED, Event.CRASHED)
ACKS = (Event.ACKED, Event.ACK_LOST, Event.ACK_IGNORED, Event.ACK_REFUSED)


def microseconds(seconds: float) -> float:
    """`seconds` as a whole number of microseconds; infinity and NaN as they are."""
    return round(seconds * 1e6) if math.isfinite(seconds) else seconds


class Row(NamedTuple):
    """A row of the ledger: `time` in microseconds, and `value` too where it is a time."""

    time: float
    event: int
    job: int
    delivery: int
    worker: int
    value: float

    def __str__(self) -> str:
        what = f"{EVENT_NAMES[self.event]} job {self.job} delivery {self.delivery}"
        return f"{self.time / 1e6:g} s: {what} worker {self.worker} ({self.value})"


TIMED = {
    Event.RECEIVED, Event.EXTENDED, Event.NACKED, Event.WORKER_PAUSED, Event.WORKER_DRAINING,
    Event.WORKER_PARTITIONED, Event.LEASE_STARTED, Event.HELD_UNTIL_DUE,
}  # fmt: skip


@dataclass(frozen=True)
class Watch(sq.faults.Fault):
    """Not a fault: writes down the attempt number of each delivery, and changes nothing."""

    attempts: dict[int, int] = field(default_factory=dict)

    def install(self, world: Any) -> None:
        """Stand where deliveries come in."""
        for worker in world.workers:
            worker.take = self._watched(worker.take)

    def _watched(self, take: Any) -> Any:
        def watched(delivery: Any) -> None:
            self.attempts[delivery.number] = delivery.attempt
            take(delivery)

        return watched


@dataclass(frozen=True)
class Run:
    """A run to be judged: what was asked for, the result, and each delivery's attempt number."""

    scenario: sq.Scenario
    result: sq.Result
    attempts: dict[int, int]

    @cached_property
    def settings(self) -> Any:
        """The broker's settings."""
        return self.scenario.broker.settings()

    @cached_property
    def faults(self) -> list[Any]:
        """All faults of the run."""
        crash = self.scenario.workers.crash
        return [self.scenario.network, *self.scenario.faults, *([crash] if crash else [])]

    @cached_property
    def rows(self) -> list[Row]:
        """What happened, in order."""
        rows = []
        for time, *whole, value in table(self.result).tolist():
            event, job, delivery, worker = (int(number) for number in whole)
            exact = microseconds(value) if event in TIMED else value
            rows.append(Row(microseconds(time), event, job, delivery, worker, exact))
        return rows

    @cached_property
    def end(self) -> float:
        """When the run was cut off; infinity where it drained."""
        return microseconds(self.scenario.horizon or NEVER)

    @cached_property
    def instants(self) -> list[tuple[float, list[Row]]]:
        """The rows of each instant together."""
        return [(time, list(rows)) for time, rows in groupby(self.rows, lambda row: row.time)]

    @cached_property
    def single(self) -> frozenset[int]:
        """The jobs with one message in the queue: of these, a row about the job is about it."""
        stored = Counter(row.job for row in self.rows if row.event == Event.PUBLISHED)
        stored.subtract(row.job for row in self.rows if row.event == Event.DEDUPLICATED)
        return frozenset(job for job, count in stored.items() if count == 1)

    @cached_property
    def due(self) -> dict[int, float]:
        """When each job is due: so long after its first publish."""
        after = microseconds(self.scenario.producers.due_after)
        first: dict[int, float] = {}
        for row in self.rows:
            if row.event == Event.PUBLISHED:
                first.setdefault(row.job, row.time + after)
        return first

    def visible_at(self, row: Row) -> float:
        """When a message is visible, or looked for, that `row` has published."""
        due = self.due[row.job]
        if due > row.time and getattr(self.settings, "due_held_by", "") == "broker":
            return due
        return row.time + microseconds(getattr(self.settings, "delay", 0))

    @cached_property
    def publishes_again(self) -> bool:
        """Whether jobs may be published more than once, or not in their order."""
        producers = self.scenario.producers
        return (
            producers.replicas > 1
            or producers.resend is not None
            or self.settings.own_duplicates > 0
            or self.on(sq.Network, publish_response_lost=True)
        )

    @cached_property
    def failed(self) -> dict[int, float]:
        """When the handler of each delivery raised, if it did."""
        return {row.delivery: row.time for row in self.rows if row.event == Event.FAILED}

    @cached_property
    def ended(self) -> dict[int, float]:
        """When the handler of each delivery ended, or died."""
        return {row.delivery: row.time for row in self.rows if row.event in ENDS}

    @property
    def acks_early(self) -> bool:
        """Whether deliveries are acked before they are done, and nothing is said when they are."""
        return bool(self.settings.ack_on_start or self.settings.on_disconnect == "lose")

    nothing = Row(NEVER, 0, -1, -1, -1, 0)
    """What follows the last row."""

    settling = frozenset(SETTLED)
    """The events that settle a message."""

    @cached_property
    def lease_ends(self) -> dict[int, float]:
        """When the lease of each delivery ends, as it was last extended."""
        begins = (Event.RECEIVED, Event.EXTENDED, Event.LEASE_STARTED)
        return {row.delivery: row.value for row in self.rows if row.event in begins}

    @cached_property
    def received(self) -> dict[int, Row]:
        """The row by which each delivery began."""
        return {row.delivery: row for row in self.rows if row.event == Event.RECEIVED}

    def word(self, row: Row) -> str:
        """The word that is the value of `row`."""
        return self.result.tally.rows.words[int(row.value)]

    def on(self, kind: type, **settings: Any) -> bool:
        """Whether a fault of this `kind` is on, with these settings true or equal."""
        return any(
            isinstance(fault, kind)
            and all(
                getattr(fault, name) == value if isinstance(value, str) else getattr(fault, name)
                for name, value in settings.items()
            )
            for fault in self.faults
        )


def table(result: sq.Result) -> Any:
    """All rows of the ledger, as an array."""
    return result._records.table


def handler_name(run: Run) -> str:
    """The name of the run's handler."""
    handler: Any = run.scenario.handler
    return str(getattr(handler, "func", handler).__name__)


def observe(scenario: sq.Scenario, seed: int = 0) -> Run:
    """Simulate `scenario` and watch."""
    watch = Watch()
    watched = dataclasses.replace(scenario, faults=(*scenario.faults, watch))
    return Run(scenario, sq.simulate(watched, seed), watch.attempts)


@dataclass
class Told:
    """One message as the rows so far tell it: its state, who holds it, and its newest delivery."""

    state: str = ""
    holder: int | None = None
    latest: int | None = None
    visible_at: float = NEVER
    lease_ends: float = NEVER
    published: float = NEVER


def retell(run: Run) -> Iterator[tuple[Row, Told | None]]:
    """Each row about a job with one message, with what the message was before it.

    Rows that are about no job, one with more messages, or a publish that was swallowed, come with
    None.
    """
    told = {job: Told() for job in run.single}
    for row, following in pairwise([*run.rows, run.nothing]):
        message = told.get(row.job)
        if row.event == Event.DEDUPLICATED or (
            row.event == Event.PUBLISHED
            and following.event == Event.DEDUPLICATED
            and following.job == row.job
        ):
            message = None  # that publish left nothing in the queue
        yield row, message
        if message is not None:
            _move(run, row, message)


def _move(run: Run, row: Row, message: Told) -> None:
    if row.event == Event.PUBLISHED:
        message.state, message.published = STATES[int(row.value)], row.time
        message.visible_at = run.visible_at(row)
    elif row.event in SETTLED:
        message.state = SETTLED[row.event]
        message.holder = message.latest = None
    elif row.event in MOVES:
        message.state = MOVES[row.event][1]
        message.holder = None
    if row.event == Event.RECEIVED:
        message.holder = message.latest = row.delivery
        message.lease_ends = row.value
    elif row.event in (Event.EXTENDED, Event.LEASE_STARTED):
        message.lease_ends = row.value
    elif row.event == Event.STARTED and getattr(run.settings, "ack_on_start", False):
        if message.holder == row.delivery:
            message.lease_ends = NEVER
    elif row.event == Event.EXPIRED:
        message.visible_at = row.time
    elif row.event == Event.NACKED:
        message.visible_at = row.value
