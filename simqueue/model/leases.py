"""When the broker notices that a lease has run out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from simqueue.grid import on_grid
from simqueue.model.clock import EXPIRY, Clock
from simqueue.model.deadlines import Deadlines

if TYPE_CHECKING:
    from simqueue.model.message import Delivery

Expire = Callable[[list["Delivery"]], None]


class LeaseCheck(Protocol):
    """One way to notice."""

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at its `lease_ends` or later, unless it is acked or extended before."""


class AtOnce:
    """The broker notices at the very instant (Amazon SQS). One alarm is set, for the first end."""

    def __init__(self, clock: Clock, expire: Expire) -> None:
        self._clock = clock
        self._expire = expire
        self._leases = Deadlines()
        self._alarm = math.inf

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at its `lease_ends`, unless it is acked or extended before."""
        self._leases.push(delivery)
        if delivery.lease_ends < self._alarm:
            self._set_alarm(delivery.lease_ends)

    def _set_alarm(self, ends: float) -> None:
        self._alarm = ends
        self._clock.at(ends, self._ring, EXPIRY)

    def _ring(self, _: object) -> None:
        now = self._clock.now
        if now != self._alarm:
            return
        ended = self._leases.take_ended(now)
        self._alarm = math.inf
        if (next_end := self._leases.next_end()) < math.inf:
            self._set_alarm(next_end)
        self._expire(ended)


class Sweep:
    """The broker looks every `period` seconds, first at `phase` (Celery on Redis).

    At most `batch` leases are ended at each look, those first that ran out first.
    """

    def __init__(
        self,
        clock: Clock,
        expire: Expire,
        *,
        period: float,
        phase: float = 0.0,
        batch: float = math.inf,
    ) -> None:
        self._clock = clock
        self._expire = expire
        self._period = period
        self._phase = phase
        self._batch = batch
        self._leases = Deadlines()
        self._alarm = math.inf

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at the first look at or after its `lease_ends` that has room for it."""
        self._leases.push(delivery)
        self._set_alarm(delivery.lease_ends)

    def _set_alarm(self, ends: float) -> None:
        look = next_look(max(ends, self._clock.now), self._period, self._phase)
        if look < self._alarm:
            self._alarm = look
            self._clock.at(look, self._look, EXPIRY)

    def _look(self, _: object) -> None:
        now = self._clock.now
        if now != self._alarm:
            return
        ended = self._leases.take_ended(now, self._batch)
        self._alarm = math.inf
        if (next_end := self._leases.next_end()) < math.inf:
            self._set_alarm(max(next_end, math.nextafter(now, math.inf)))
        self._expire(ended)


class MarkAndSweep:
    """The broker looks every `period` seconds, and ends only what it marked the time before.

    BullMQ: a look marks every active job; a renewal takes the mark away; the next look ends those
    whose lock has run out and whose mark is still there.
    """

    def __init__(self, clock: Clock, expire: Expire, *, period: float, phase: float = 0.0) -> None:
        self._clock = clock
        self._expire = expire
        self._period = period
        self._phase = phase
        self._active: dict[Delivery, bool] = {}
        self._waits = False

    def watch(self, delivery: Delivery) -> None:
        """Start over with `delivery`: it has no mark."""
        self._active[delivery] = False
        if not self._waits:
            self._set_alarm(self._clock.now)

    def _set_alarm(self, time: float) -> None:
        self._waits = True
        self._clock.at(next_look(time, self._period, self._phase), self._look, EXPIRY)

    def _look(self, _: object) -> None:
        now = self._clock.now
        self._waits = False
        held = {d: marked for d, marked in self._active.items() if d.message.is_held_by(d)}
        ended = [d for d, marked in held.items() if marked and d.lease_ends <= now]
        self._active = {d: True for d in held if d not in ended}
        if held:
            self._set_alarm(math.nextafter(now, math.inf))
        self._expire(ended)


def next_look(time: float, period: float, phase: float) -> float:
    """The first look at or after `time`."""
    looks = max(math.ceil((time - phase) / period - 1e-9), 0)
    look = on_grid(phase + looks * period)
    return look if look >= time else on_grid(phase + (looks + 1) * period)
