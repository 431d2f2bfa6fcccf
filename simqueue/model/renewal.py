"""A client library that keeps the lease of what its worker runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.message import Delivery


class Renewal:
    """Every `every` seconds, lets the lease end `lease` from then, for `until` from the start on.

    It lives in the worker: it ends with the handler and dies with the process, and while the
    process is paused it is late. What it renews it renews only while the lease still runs.
    """

    def __init__(
        self,
        clock: Clock,
        queue: LeaseQueue,
        *,
        lease: float,
        every: float,
        until: float = math.inf,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._lease = lease
        self._every = every
        self._until = until

    def start(self, delivery: Delivery) -> None:
        """Begin to renew the lease of `delivery`, whose handler starts now."""
        last = self._clock.now + self._until
        self._wait(delivery, self._clock.after(self._every), last)

    def _wait(self, delivery: Delivery, beat: float, last: float) -> None:
        if beat <= last:
            self._clock.at(beat, lambda _: self._beat(delivery, last))

    def _beat(self, delivery: Delivery, last: float) -> None:
        worker = delivery.worker
        if delivery.number not in worker.running:
            return
        if worker.paused_until > self._clock.now:
            self._wait(delivery, worker.paused_until, last)
        elif worker.reaches_broker(delivery) and self._queue.extend(delivery, self._lease):
            self._wait(delivery, self._clock.after(self._every), last)
