"""A broker of the lease family whose every knob is yours."""

from __future__ import annotations

from dataclasses import dataclass

from simqueue import checks
from simqueue.model.late_ack import LATE_ACKS
from simqueue.model.lease_queue import LeaseSettings


@dataclass(frozen=True, kw_only=True)
class Generic:
    """The lease queue under the model's own words.

    Parameters
    ----------
    lease
        Seconds for which a delivered message is hidden; None: until its worker acks or nacks.
    late_ack
        What an ack does after the lease ran out: "deletes" removes the message wherever it is;
        "in_flight_only" leaves a copy that is already back in the queue; "latest_receipt" works
        while nobody has received it since; "unexpired" is refused, and the worker is told.
    max_receives
        Deliveries before the message is dead-lettered; None: no limit.
    exhaustion
        When a message that used up its receives is dead-lettered: "return", as it comes back to
        the queue, or "receive", when a worker next asks for it.
    retry_delay
        Seconds until a message whose handler raised is visible again; None: it waits for its lease
        to run out, or, without a lease, is visible at once.
    returns_to
        "back" or "front": where in the queue a message comes back.
    """

    lease: float | None = 30.0
    late_ack: str = "latest_receipt"
    max_receives: int | None = None
    exhaustion: str = "return"
    retry_delay: float | None = None
    returns_to: str = "back"

    def __post_init__(self) -> None:
        if self.lease is not None:
            checks.positive("broker.lease", self.lease, "seconds")
        checks.one_of("broker.late_ack", self.late_ack, LATE_ACKS)
        if self.max_receives is not None:
            checks.whole("broker.max_receives", self.max_receives, 1)
        checks.one_of("broker.exhaustion", self.exhaustion, ("return", "receive"))
        if self.retry_delay is not None:
            checks.non_negative("broker.retry_delay", self.retry_delay, "seconds")
        checks.one_of("broker.returns_to", self.returns_to, ("back", "front"))

    def settings(self) -> LeaseSettings:
        """Return the queue's settings: these, with the late ack as an object."""
        at_once = 0.0 if self.lease is None else None
        return LeaseSettings(
            lease=self.lease,
            late_ack=LATE_ACKS[self.late_ack](),
            max_receives=self.max_receives,
            exhaustion=self.exhaustion,
            retry_delay=at_once if self.retry_delay is None else self.retry_delay,
            returns_to=self.returns_to,
        )
