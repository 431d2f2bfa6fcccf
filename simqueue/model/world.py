"""What a run consists of, and `ctx` as the simulation gives it to handlers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue.context import HandlerError, LeaseLost
from simqueue.model.clock import Clock, Moment
from simqueue.model.ledger import Event, Ledger
from simqueue.model.randomness import Stream

if TYPE_CHECKING:
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.message import Delivery
    from simqueue.services.payments import PaymentProvider, PaymentsClient
    from simqueue.services.store import DedupeStore, StoreClient


@dataclass
class World:
    """All that a run consists of, for those who need more than one part of it."""

    clock: Clock
    ledger: Ledger
    queue: LeaseQueue
    work: Stream
    work_anew: bool
    store: DedupeStore
    payments: PaymentProvider

    def context(self, delivery: Delivery) -> SimulatedContext:
        """Return the `ctx` of the handler that works on `delivery`."""
        return SimulatedContext(self, delivery)


class SimulatedContext:
    """`simqueue.context.Context` on simulated time, for one delivery."""

    __slots__ = ("_delivery", "_world")

    def __init__(self, world: World, delivery: Delivery) -> None:
        self._world = world
        self._delivery = delivery

    @property
    def attempt(self) -> int:
        """Which delivery of its message this is, from 1."""
        return self._delivery.attempt

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return self._world.clock.now

    @property
    def payments(self) -> PaymentsClient:
        """The payment provider."""
        return self._world.payments.client(self)

    @property
    def store(self) -> StoreClient:
        """The dedupe store."""
        return self._world.store.client(self)

    def work(self, share: float = 1.0) -> Moment:
        """Be busy for `share` of the job's work."""
        world, delivery = self._world, self._delivery
        attempt = delivery.attempt if world.work_anew else 0
        return self._wait("work", share, share * world.work.draw(delivery.message.job.id, attempt))

    def sleep(self, seconds: float) -> Moment:
        """Wait for `seconds`."""
        return self._wait("sleep", seconds, seconds)

    async def extend(self, seconds: float) -> None:
        """Let the lease end `seconds` from now. Raises `LeaseLost` where it has run out."""
        if not seconds > 0:
            raise HandlerError(f"ctx.extend takes a number of seconds above 0, not {seconds!r}.")
        if not self._world.queue.extend(self._delivery, seconds):
            raise LeaseLost(f"the lease of attempt {self.attempt} had run out")

    def _wait(self, call: str, given: float, seconds: float) -> Moment:
        if not 0 <= seconds < math.inf:
            raise HandlerError(f"ctx.{call} takes a finite number of 0 or more, not {given!r}.")
        return Moment(self._world.clock, self._world.clock.after(seconds))

    def effect(self, kind: str) -> None:
        """Note, for the services, that the job's effect `kind` was applied to the world now."""
        ledger, delivery = self._world.ledger, self._delivery
        job, worker = delivery.message.job.id, delivery.worker.number
        kind_word = ledger.word(kind)
        ledger.record(self.now, Event.EFFECT, job, delivery.number, worker, kind_word)
