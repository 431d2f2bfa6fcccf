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

    def stop_between(self, start: float, end: float) -> None:
        """Let nobody look from `start` until just before `end`, in seconds: the looker is dead."""

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at its `lease_ends` or later, unless it is acked or extended before."""


class AtOnce:
    """The broker notices at the very instant (Amazon SQS). One alarm is set, for the first end."""

    def __init__(self, clock: Clock, expire: Expire) -> None:
        self._clock = clock
        self._expire = expire
        self._leases = Deadlines()
        self._alarm = math.inf

    def stop_between(self, start: float, end: float) -> None:
        """Raise ValueError: this broker does not look, it knows."""
        raise ValueError(
            f"rescuer_down.window must not be given, not {(start, end)}: leases of this broker "
            "end by themselves, without a sweep (a sweep_period) that could stop."
        )

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


class Looks:
    """The times at which somebody looks: every `period` seconds, the first time at `phase`."""

    def __init__(self, period: float, phase: float) -> None:
        self._period = period
        self._phase = phase
        self._stopped: list[tuple[float, float]] = []

    def stop_between(self, start: float, end: float) -> None:
        """Let nobody look from `start` until just before `end`, in seconds: the looker is dead."""
        self._stopped.append((start, end))

    def next(self, time: float) -> float:
        """The first look at or after `time`; infinity if there is none."""
        look = next_look(time, self._period, self._phase)
        for start, end in sorted(self._stopped):
            if start <= look < end:
                look = next_look(end, self._period, self._phase) if end < math.inf else math.inf
        return look


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
        self._looks = Looks(period, phase)
        self._batch = batch
        self._leases = Deadlines()
        self._alarm = math.inf
        self._looked_at = -math.inf
        self.stop_between = self._looks.stop_between

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` at the first look at or after its `lease_ends` that has room for it."""
        self._leases.push(delivery)
        self._set_alarm(delivery.lease_ends)

    def _set_alarm(self, ends: float) -> None:
        now = self._clock.now
        soonest = math.nextafter(now, math.inf) if self._looked_at == now else now
        look = self._looks.next(max(ends, soonest)) if ends < math.inf else math.inf
        if look < self._alarm:
            self._alarm = look
            self._clock.at(look, self._look, EXPIRY)

    def _look(self, _: object) -> None:
        now = self._clock.now
        if now != self._alarm:
            return
        ended = self._leases.take_ended(now, self._batch)
        self._alarm = math.inf
        self._looked_at = now
        if (next_end := self._leases.next_end()) < math.inf:
            self._set_alarm(next_end)
        self._expire(ended)


class MarkAndSweep:
    """The broker looks every `period` seconds, and ends only what it marked the time before.

    BullMQ: a look marks every active job; a renewal takes the mark away; the next look ends those
    whose lock has run out and whose mark is still there.
    """

    def __init__(self, clock: Clock, expire: Expire, *, period: float, phase: float = 0.0) -> None:
        self._clock = clock
        self._expire = expire
        self._looks = Looks(period, phase)
        self._active: dict[Delivery, bool] = {}
        self._waits = False
        self.stop_between = self._looks.stop_between

    def watch(self, delivery: Delivery) -> None:
        """Start over with `delivery`: it has no mark."""
        self._active[delivery] = False
        if not self._waits:  # a look at this very instant came before the receive
            self._set_alarm(math.nextafter(self._clock.now, math.inf))

    def _set_alarm(self, time: float) -> None:
        look = self._looks.next(time)
        if look < math.inf:
            self._waits = True
            self._clock.at(look, self._look, EXPIRY)

    def _look(self, _: object) -> None:
        now = self._clock.now
        self._waits = False
        held = {d: marked for d, marked in self._active.items() if d.message.is_held_by(d)}
        ended = [d for d, marked in held.items() if marked and d.lease_ends <= now]
        self._active = {d: True for d in held if d not in ended}
        if held:
            self._set_alarm(math.nextafter(now, math.inf))
        self._expire(ended)


class AtBoot:
    """Whoever starts looks, once, for what the dead have left (Sidekiq's super_fetch).

    Not if somebody has looked less than `spacing` seconds ago. All processes start at 0, and so the
    first look is then.
    """

    def __init__(self, clock: Clock, expire: Expire, *, spacing: float) -> None:
        self._clock = clock
        self._expire = expire
        self._spacing = spacing
        self._looked_at = 0.0
        self._leases = Deadlines()
        self._stopped: list[tuple[float, float]] = []

    def stop_between(self, start: float, end: float) -> None:
        """Let nobody look from `start` until just before `end`, in seconds."""
        self._stopped.append((start, end))

    def watch(self, delivery: Delivery) -> None:
        """Expire `delivery` when a process starts at or after its `lease_ends`."""
        self._leases.push(delivery)

    def look(self) -> None:
        """A process starts now."""
        now = self._clock.now
        stopped = any(start <= now < end for start, end in self._stopped)
        if not stopped and now - self._looked_at >= self._spacing:
            self._looked_at = now
            self._clock.at(now, lambda _: self._expire(self._leases.take_ended(now)), EXPIRY)


def next_look(time: float, period: float, phase: float) -> float:
    """The first look at or after `time`."""
    looks = max(math.ceil((time - phase) / period - 1e-9), 0)
    look = on_grid(phase + looks * period)
    return look if look >= time else on_grid(phase + (looks + 1) * period)
