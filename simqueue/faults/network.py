"""Messages that get lost between producer, broker, worker and services."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.context import ResponseLost
from simqueue.faults.base import Fault
from simqueue.model.ledger import Event
from simqueue.model.publishing import Resending

if TYPE_CHECKING:
    from simqueue.model.context import SimulatedContext
    from simqueue.model.message import Delivery
    from simqueue.model.randomness import Stream
    from simqueue.model.worker import Worker
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Network(Fault):
    """What is lost, each with its own probability, 0 to 1.

    Parameters
    ----------
    ack_lost
        An ack or a nack never arrives at the broker. The worker believes that it did.
    renewal_lost
        An extension of a lease never arrives, each by itself. Who sent it believes that it did.
    delivery_lost
        A delivery never arrives at its worker. The broker has counted it, and its lease runs.
    response_lost
        A call to a service has its effect, and the handler gets `ResponseLost` instead of the
        answer.
    publish_response_lost
        The producer does not hear that its message arrived, and sends it again `resend_after`
        seconds later, as a second message.
    """

    ack_lost: float = 0.0
    renewal_lost: float = 0.0
    delivery_lost: float = 0.0
    response_lost: float = 0.0
    publish_response_lost: float = 0.0
    resend_after: float = 1.0

    def __post_init__(self) -> None:
        for name in PROBABILITIES:
            checks.probability(f"network.{name}", getattr(self, name))
        checks.non_negative("network.resend_after", self.resend_after, "seconds")
        if self.publish_response_lost == 1:
            raise checks.fail("network.publish_response_lost", 1, "below 1, or sending never ends")

    def install(self, world: World) -> None:
        """Stand in the way of those that can get lost."""
        if self.ack_lost:
            self._lose_acks(world)
        if self.renewal_lost:
            self._lose_renewals(world)
        if self.delivery_lost:
            for worker in world.workers:
                self._lose_deliveries(world, worker)
        if self.response_lost:
            self._lose_responses(world)
        if self.publish_response_lost:
            world.publish = Resending(
                world.publish,
                world.streams.chances("publish response lost", self.publish_response_lost),
                world.clock,
                world.ledger,
                after=self.resend_after,
                then=world.queue.hand_over,
            )

    def _lose_acks(self, world: World) -> None:
        lost = world.streams.chances("ack lost", self.ack_lost)

        def passes(delivery: Delivery) -> bool:
            job = delivery.message.job.id
            if not lost.draw(job, delivery.turn) or delivery.worker.keeps(delivery):
                return True
            number, worker = delivery.number, delivery.worker.number
            world.ledger.record(world.clock.now, Event.ACK_LOST, job, number, worker)
            return False

        for worker in world.workers:
            worker.ways_to_broker.append(passes)

    def _lose_renewals(self, world: World) -> None:
        sent: dict[int, int] = {}

        def passes(delivery: Delivery) -> bool:
            if not delivery.worker.keeps(delivery):
                return True
            number = delivery.number
            sent[number] = beat = sent.get(number, 0) + 1
            place = delivery.message.job.id, delivery.turn, beat
            draw = world.streams.generator("renewal lost", *place).random()
            return bool(draw >= self.renewal_lost)

        for worker in world.workers:
            worker.ways_to_broker.append(passes)

    def _lose_deliveries(self, world: World, worker: Worker) -> None:
        lost = world.streams.chances("delivery lost", self.delivery_lost)
        take = worker.take

        def take_if_it_comes(delivery: Delivery) -> None:
            job = delivery.message.job.id
            if lost.draw(job, delivery.turn):
                now, number = world.clock.now, delivery.number
                world.ledger.record(now, Event.DELIVERY_LOST, job, number, worker.number)
                worker.missed()
            else:
                take(delivery)

        worker.take = take_if_it_comes  # type: ignore[method-assign]

    def _lose_responses(self, world: World) -> None:
        streams: dict[str, Stream] = {}

        async def lose(ctx: SimulatedContext, call: str) -> None:
            if call not in streams:
                streams[call] = world.streams.chances(f"response lost: {call}", self.response_lost)
            delivery = ctx.delivery
            if streams[call].draw(delivery.message.job.id, delivery.turn):
                ctx.note(Event.RESPONSE_LOST, world.ledger.word(call))
                raise ResponseLost(f"no answer from {call}")

        world.steps.after.append(lose)


PROBABILITIES = (
    "ack_lost",
    "renewal_lost",
    "delivery_lost",
    "response_lost",
    "publish_response_lost",
)
