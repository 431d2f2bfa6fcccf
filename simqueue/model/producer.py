"""The producer: publishes each job at its time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simqueue.context import Job
from simqueue.model.message import Message

if TYPE_CHECKING:
    from simqueue.model.world import World


class Producer:
    """Publishes jobs 0, 1, 2, … at `times`, in seconds and in order.

    Jobs of one instant are all published before the first of them is handed over. They belong to
    `groups` groups and `customers` customers in turn.
    """

    def __init__(self, world: World, times: Sequence[float], groups: int, customers: int) -> None:
        self._clock = world.clock
        self._queue = world.queue
        self._publish = world.publish
        self._times = times
        self._groups = groups
        self._customers = customers
        self._next = 0

    def start(self) -> None:
        """Wait for the time of the first job."""
        self._clock.at(self._times[0], self._go_on)

    def _go_on(self, _: object) -> None:
        times, number, now = self._times, self._next, self._clock._now
        while number < len(times) and times[number] <= now:
            job = Job(number, number % self._customers, number % self._groups)
            self._publish(Message(job))
            number += 1
        self._next = number
        if number < len(times):
            self._clock.at(times[number], self._go_on)
        self._queue.hand_over()
