"""A worker that stops handlers which run for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simqueue.context import TimeLimit
from simqueue.model.execution import Interruptible

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker


def limit_time(worker: Worker, seconds: float) -> None:
    """Raise `TimeLimit` in each handler that runs on `worker` for longer than `seconds`."""
    clock = worker.clock
    worker.execution = Interruptible

    def start(delivery: Delivery) -> None:
        clock.at(clock.after(seconds), lambda _: stop(delivery))

    def stop(delivery: Delivery) -> None:
        if delivery.number in worker.running:
            execution = cast("Interruptible", worker.running[delivery.number])
            execution.interrupt(TimeLimit(f"it ran for more than {seconds:g} s"))

    worker.on_start.append(start)
