"""A message, the queue's copy of a job; and a delivery, one handing of it to a worker."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.context import Job
    from simqueue.model.worker import Worker


class State(enum.IntEnum):
    """Where a message stands. It is settled from `ACKED` on."""

    DELAYED = 0
    VISIBLE = 1
    IN_FLIGHT = 2
    ACKED = 3
    DEAD_LETTERED = 4


class Message:
    """The queue's copy of a job.

    `latest` is the newest delivery. It holds the message, and its lease runs, while the message is
    in flight; afterwards it is only the newest receipt. None once the message is settled.
    """

    __slots__ = ("job", "latest", "receives", "state")

    def __init__(self, job: Job) -> None:
        self.job = job
        self.receives = 0
        self.latest: Delivery | None = None
        self.state = State.DELAYED

    def settle(self, state: State) -> State:
        """Acked or dead-lettered: `state` is the last one. Return the one before."""
        before, self.state = self.state, state
        self.latest = None
        return before

    def is_held_by(self, delivery: Delivery) -> bool:
        """Whether `delivery` is the one whose lease on this message runs."""
        return self.latest is delivery and self.state is State.IN_FLIGHT


class Delivery:
    """One handing of a message to a worker: its receipt, its attempt number, the end of its lease.

    `number` counts all deliveries of the run from 0, `attempt` those of the message from 1.
    `lease_ends` is in seconds, infinity where the broker keeps no lease.
    """

    __slots__ = ("attempt", "lease_ends", "message", "number", "worker")

    def __init__(
        self, message: Message, worker: Worker, number: int, attempt: int, lease_ends: float
    ) -> None:
        self.message = message
        self.worker = worker
        self.number = number
        self.attempt = attempt
        self.lease_ends = lease_ends
