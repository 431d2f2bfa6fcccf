"""When the broker notices that a lease has run out."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY, Clock

if TYPE_CHECKING:
    from simqueue.model.message import Delivery


class AtOnce:
    """The broker notices at the very instant (Amazon SQS).

    One alarm is set, for the lease that ends first. Leases that were acked or extended meanwhile
    are passed over when their turn comes, so an ack costs nothing here.
    """

    def __init__(self, clock: Clock, expire: Callable[[Delivery], None]) -> None:
        self._clock = clock
        self._expire = expire
        self._leases: list[tuple[float, int, Delivery]] = []
        self._alarm = math.inf

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at its `lease_ends`, unless it is acked or extended before."""
        ends = delivery.lease_ends
        heappush(self._leases, (ends, delivery.number, delivery))
        if ends < self._alarm:
            self._alarm = ends
            self._clock.at(ends, self._ring, EXPIRY)

    def _ring(self, _: object) -> None:
        now = self._clock.now
        if now != self._alarm:
            return
        leases = self._leases
        while leases:
            ends, _number, delivery = leases[0]
            if delivery.lease_ends == ends and delivery.message.is_held_by(delivery):
                if ends > now:
                    break
                self._expire(delivery)
            heappop(leases)
        self._alarm = leases[0][0] if leases else math.inf
        if leases:
            self._clock.at(self._alarm, self._ring, EXPIRY)
