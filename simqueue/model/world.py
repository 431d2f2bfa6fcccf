"""What a run consists of, and `ctx` as the simulation gives it to handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simqueue.context import LeaseLost
from simqueue.model.clock import Clock, Wait
from simqueue.model.ledger import Event, Ledger
from simqueue.model.randomness import Stream

if TYPE_CHECKING:
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.message import Delivery
    from simqueue.services.payments import PaymentsClient
    from simqueue.services.store import StoreClient


@dataclass
class World:
    """All that a run consists of, for those who need more than one part of it."""

    clock: Clock
    ledger: Ledger
    queue: LeaseQueue
    work: Stream
    work_anew: bool
    store: Any
    payments: Any

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

    def work(self, share: float = 1.0) -> Wait:
        """Be busy for `share` of the job's work."""
        world, delivery = self._world, self._delivery
        attempt = delivery.attempt if world.work_anew else 0
        return Wait(world.clock, share * world.work.draw(delivery.message.job.id, attempt))

    def sleep(self, seconds: float) -> Wait:
        """Wait for `seconds`."""
        return Wait(self._world.clock, seconds)

    async def extend(self, seconds: float) -> None:
        """Let the lease end `seconds` from now. Raises `LeaseLost` where it has run out."""
        if not self._world.queue.extend(self._delivery, seconds):
            raise LeaseLost(f"the lease of attempt {self.attempt} had run out")

    def effect(self, kind: str) -> None:
        """Note, for the services, that the job's effect `kind` was applied to the world now."""
        world, delivery = self._world, self._delivery
        job, worker = delivery.message.job.id, delivery.worker.number
        world.ledger.record((world.clock.now, Event.EFFECT, job, delivery.number, worker, kind))
