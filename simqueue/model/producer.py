"""The producer: publishes each job at its time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from simqueue.context import Job
from simqueue.model.clock import Moment
from simqueue.model.message import Message
from simqueue.model.world import World


def produce(
    world: World, times: Sequence[float], groups: int, customers: int
) -> Generator[Any, Any, None]:
    """Publish job 0, 1, 2, … at `times`, in seconds and in order: a SimPy process.

    Jobs of one instant are all published before the first of them is handed over. They belong to
    `groups` groups and `customers` customers in turn.
    """
    clock, queue, publish = world.clock, world.queue, world.publish
    for number, time in enumerate(times):
        if time > clock.now:
            queue.hand_over()
            yield Moment(clock, time)
        customer = f"customer-{number % customers}"
        publish(Message(Job(number, customer, number % groups)))
    queue.hand_over()
