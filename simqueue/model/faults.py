"""Faults: what can go wrong, each with its own draws. A fault that is off is not there."""

from __future__ import annotations

from simqueue.model.clock import Clock
from simqueue.model.ledger import Event
from simqueue.model.message import Delivery
from simqueue.model.randomness import Stream
from simqueue.model.worker import Acknowledge, Worker
from simqueue.model.world import World


class Crashes:
    """Lets workers die, and come back `restart_after` seconds later."""

    def __init__(self, clock: Clock, restart_after: float) -> None:
        self._clock = clock
        self._restart_after = restart_after

    def at(self, worker: Worker, time: float) -> None:
        """Let `worker` die at `time`, whatever it does then."""
        self._clock.at(time, lambda _: self._crash(worker))

    def during_work(self, worker: Worker, seconds_until: Stream) -> None:
        """Let `worker` die in the middle of a delivery, `seconds_until` after it started it.

        The draw belongs to (job, attempt). It does not count if the delivery is done by then.
        """

        def expose(delivery: Delivery) -> None:
            delay = seconds_until.draw(delivery.message.job.id, delivery.attempt)
            self._clock.at(self._clock.after(delay), lambda _: strike(delivery.number))

        def strike(number: int) -> None:
            if number in worker.running:
                self._crash(worker)

        worker.on_start.append(expose)

    def _crash(self, worker: Worker) -> None:
        if worker.alive:
            worker.crash()
            self._clock.at(self._clock.after(self._restart_after), lambda _: worker.restart())


class LossyAck:
    """Loses acks on their way to the broker; the worker believes that they arrived."""

    def __init__(self, acknowledge: Acknowledge, is_lost: Stream, world: World) -> None:
        self._acknowledge = acknowledge
        self._is_lost = is_lost
        self._clock = world.clock
        self._record = world.ledger.record

    def __call__(self, delivery: Delivery) -> None:
        """Ack `delivery`, unless the draw of its (job, attempt) loses the ack."""
        job = delivery.message.job.id
        if self._is_lost.draw(job, delivery.attempt):
            number, worker = delivery.number, delivery.worker.number
            self._record(self._clock.now, Event.ACK_LOST, job, number, worker)
        else:
            self._acknowledge(delivery)
