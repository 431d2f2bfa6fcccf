"""A worker is cut off from the broker for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue import checks
from simqueue.faults.base import Fault
from simqueue.faults.moments import check_window
from simqueue.grid import on_grid
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.message import Delivery
    from simqueue.model.world import World


@dataclass(frozen=True, kw_only=True)
class Partition(Fault):
    """What `worker` (from 1) and broker say to each other is lost during `window` (seconds).

    The worker works on: its acks, nacks and renewals do not arrive, and it gets nothing new. A
    broker that watches connections sees it go, as if it had died.
    """

    worker: int
    window: tuple[float, float]

    def __post_init__(self) -> None:
        checks.whole("partition.worker", self.worker, 1)
        object.__setattr__(self, "window", check_window("partition.window", self.window))

    def install(self, world: World) -> None:
        """Close the way to the broker at the start of the window, and open it at the end."""
        worker = world.worker(self.worker, "partition.worker")
        clock, record = world.clock, world.ledger.record
        start, end = (on_grid(time) for time in self.window)

        def passes(delivery: Delivery) -> bool:
            if not start <= clock.now < end:
                return True
            if not worker.keeps(delivery):
                job = delivery.message.job.id
                record(clock.now, Event.ACK_LOST, job, delivery.number, worker.number)
            return False

        def cut(_: object) -> None:
            record(clock.now, Event.WORKER_PARTITIONED, worker=worker.number, value=end)
            worker.stop_asking(self, lasting=True)
            for notify in worker.on_disconnect:
                notify(worker.held)

        worker.ways_to_broker.append(passes)
        clock.at(start, cut)

        def mend(_: object) -> None:
            for notify in worker.on_reconnect:
                notify()
            worker.go_on(self)

        clock.at(end, mend)
