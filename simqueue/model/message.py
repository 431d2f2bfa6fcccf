"""A message, the queue's copy of a job; and a delivery, one handing of it to a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from simqueue.model.progress import MOST_RECEIVES

if TYPE_CHECKING:
    from simqueue.context import Job
    from simqueue.model.worker import Worker


class State:
    """Where a message stands. It is settled from `ACKED` on. Plain numbers, for the ledger."""

    DELAYED: Final = 0
    VISIBLE: Final = 1
    IN_FLIGHT: Final = 2
    ACKED: Final = 3
    DEAD_LETTERED: Final = 4
    LOST: Final = 5  # the only worker that had it died, and the broker keeps nothing
    EXPIRED: Final = 6  # its retention ended


STATE_NAMES: Final = tuple(name.lower() for name in vars(State) if name.isupper())
"""What the states are called, in the order of their numbers."""


class Message:
    """The queue's copy of a job.

    `latest` is the newest delivery. It holds the message, and its lease runs, while the message is
    in flight; afterwards it is only the newest receipt. None once the message is settled.

    `receives` counts deliveries, `attempts` what the broker counts against its limit, `failures`
    the attempts whose handler raised; `last_delay` is the latest retry delay, in seconds. At more
    receives than `patience` the queue looks whether the run gets anywhere; it did at `checked_at`.
    """

    __slots__ = (
        "attempts", "checked_at", "failures", "job", "last_delay", "latest", "patience",
        "receives", "state",
    )  # fmt: skip

    def __init__(self, job: Job) -> None:
        self.job = job
        self.receives = 0
        self.attempts = 0
        self.failures = 0
        self.patience = MOST_RECEIVES
        self.checked_at = -1.0
        self.last_delay = 0.0
        self.latest: Delivery | None = None
        self.state: int = State.DELAYED

    def settle(self, state: int) -> int:
        """`state` is the message's last one. Return the one before."""
        before, self.state = self.state, state
        self.latest = None
        return before

    def is_held_by(self, delivery: Delivery) -> bool:
        """Whether `delivery` is the one whose lease on this message runs."""
        return self.latest is delivery and self.state == State.IN_FLIGHT


class Delivery:
    """One handing of a message to a worker: its receipt, its attempt number, the end of its lease.

    `number` counts all deliveries of the run from 0, `attempt` those of the message from 1, `turn`
    those of the job from 1: with two messages for one job they differ. Random draws belong to the
    job and the turn. `lease_ends` is in seconds, infinity where no lease runs.
    """

    __slots__ = ("attempt", "lease_ends", "message", "number", "turn", "worker")

    def __init__(
        self, message: Message, worker: Worker, number: int, turn: int, lease_ends: float
    ) -> None:
        self.message = message
        self.worker = worker
        self.number = number
        self.attempt = message.receives
        self.turn = turn
        self.lease_ends = lease_ends
