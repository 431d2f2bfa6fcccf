"""A message, the queue's copy of a job; and a delivery, one handing of it to a worker."""

from __future__ import annotations

from collections.abc import Callable
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
    the attempts whose handler raised; `failed` says whether its worker gave it back; `last_delay`
    is the latest retry delay, in seconds. At more receives than `patience` the queue looks whether
    the run gets anywhere; it did at `checked_at`.
    `stalls` are the times, in seconds, of the returns that the broker's limit of stalls counts.
    `dedupe_key` is what a broker that dedupes goes by, if that is not the job's own key. Whoever
    wants to know what becomes of the message stands in `on_settled`.
    """

    __slots__ = (
        "attempts", "checked_at", "dedupe_key", "failed", "failures", "job", "last_delay", "latest",
        "on_settled", "patience", "receives", "stalls", "state",
    )  # fmt: skip

    def __init__(self, job: Job, dedupe_key: str | None = None) -> None:
        self.job = job
        self.dedupe_key = dedupe_key
        self.receives = 0
        self.attempts: float = 0
        self.failures = 0
        self.failed = False
        self.patience = MOST_RECEIVES
        self.checked_at = -1.0
        self.last_delay = 0.0
        self.latest: Delivery | None = None
        self.stalls: list[float] | None = None
        self.on_settled: list[Callable[[Message], None]] | None = None
        self.state: int = State.DELAYED

    def settle(self, state: int) -> int:
        """`state` is the message's last one. Return the one before."""
        before, self.state = self.state, state
        self.latest = None
        if self.on_settled is not None:
            for notify in self.on_settled:
                notify(self)
        return before

    def open_again(self) -> None:
        """Be visible once more, though settled: somebody redrives or replays the message."""
        self.state = State.VISIBLE
        if self.on_settled is not None:
            for notify in self.on_settled:
                notify(self)

    def tell_when_settled(self, notify: Callable[[Message], None]) -> None:
        """Let `notify` be called with the message when it is settled, or is open again."""
        if self.on_settled is None:
            self.on_settled = []
        self.on_settled.append(notify)

    def is_held_by(self, delivery: Delivery) -> bool:
        """Whether `delivery` is the one whose lease on this message runs."""
        return self.latest is delivery and self.state == State.IN_FLIGHT


class Delivery:
    """One handing of a message to a worker: its receipt, its attempt number, the end of its lease.

    `number` counts all deliveries of the run from 0, `attempt` those of the message from 1, `turn`
    those of the job from 1: with two messages for one job they differ. Random draws belong to the
    job and the turn. `received` is when it was handed over, `lease_ends` when its lease does, both
    in seconds; infinity where no lease runs.
    """

    __slots__ = ("attempt", "lease_ends", "message", "number", "received", "turn", "worker")

    def __init__(
        self,
        message: Message,
        worker: Worker,
        number: int,
        turn: int,
        received: float,
        lease_ends: float,
    ) -> None:
        self.received = received
        self.message = message
        self.worker = worker
        self.number = number
        self.attempt = message.receives
        self.turn = turn
        self.lease_ends = lease_ends
