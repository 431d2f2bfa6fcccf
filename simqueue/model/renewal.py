"""Client libraries that keep the leases of what their workers run, or hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from simqueue.context import LeaseLimit
from simqueue.grid import on_grid

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.lease_queue import LeaseQueue
    from simqueue.model.message import Delivery
    from simqueue.model.worker import Worker


class Renewal:
    """Every `every` seconds, lets the lease end `lease` from then, for `until` from the start on.

    It lives in the worker: it ends with the handler and dies with the process, and while the
    process is paused it is late. It gives up when the broker says that the lease has run out; what
    gets lost on its way it knows nothing of. `held`:
    it renews from the hand-over on, also what still waits in a buffer. `jitter` gives the share by
    which the n-th interval of a delivery is shorter.
    """

    def __init__(
        self,
        clock: Clock,
        queue: LeaseQueue,
        *,
        lease: float,
        every: float,
        until: float = math.inf,
        held: bool = False,
        jitter: Callable[[Delivery, int], float] | None = None,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._lease = lease
        self._every = every
        self._until = until
        self._held = held
        self._jitter = jitter
        self._beats: dict[int, int] = {}
        self._last: dict[int, float] = {}

    def hold(self, delivery: Delivery) -> None:
        """Begin to renew the lease of `delivery`, which may have to wait for a slot."""
        self._wait(delivery, self._next_beat(delivery))

    def start(self, delivery: Delivery) -> None:
        """The handler of `delivery` starts now: its time is limited from here on."""
        if self._until < math.inf:
            self._last[delivery.number] = self._clock.after(self._until)
        if not self._held:
            self._wait(delivery, self._next_beat(delivery))

    def _next_beat(self, delivery: Delivery) -> float:
        if self._jitter is None:
            return self._clock.after(self._every)
        number = delivery.number
        self._beats[number] = beat = self._beats.get(number, 0) + 1
        return self._clock.after(self._every * (1 - self._jitter(delivery, beat)))

    def _wait(self, delivery: Delivery, beat: float) -> None:
        self._clock.at(beat, lambda _: self._beat(delivery))

    def _beat(self, delivery: Delivery) -> None:
        worker, now = delivery.worker, self._clock.now
        if not worker.has(delivery) or now > self._last.get(delivery.number, math.inf):
            self._last.pop(delivery.number, None)
        elif worker.paused_until > now:
            self._wait(delivery, worker.paused_until)
        elif not worker.reaches_broker(delivery) or extends(self._queue, delivery, self._lease):
            self._wait(delivery, self._next_beat(delivery))


class Heartbeat:
    """One heartbeat of a process, every `every` seconds, for all that it holds.

    The process counts as alive until `lease` after its latest heartbeat, and so does all that it
    holds, however short it has held it. The first one comes `first` seconds after the process
    starts; until then it looks dead. Between two jobs the process need not be seen: it looks alive.
    """

    def __init__(
        self,
        worker: Worker,
        clock: Clock,
        queue: LeaseQueue,
        *,
        lease: float,
        every: float,
        first: float = 0.0,
    ) -> None:
        self._worker = worker
        self._clock = clock
        self._queue = queue
        self._lease = lease
        self._every = every
        self._first = first
        self._booted = 0.0
        self._beats = False
        take = worker.take

        def notice_and_take(delivery: Delivery) -> None:
            self._take(delivery)
            take(delivery)

        worker.take = notice_and_take  # type: ignore[method-assign]
        worker.on_restart.append(self._boot)

    def _boot(self, _: Worker) -> None:
        self._booted = self._clock.now
        self._beats = False

    def _latest(self) -> float:
        """When the latest heartbeat was, in seconds; minus infinity if there was none yet."""
        first = self._booted + self._first
        beats = math.floor((self._clock.now - first) / self._every + 1e-9)  # times are rounded
        return on_grid(first + beats * self._every) if beats >= 0 else -math.inf

    def _take(self, delivery: Delivery) -> None:
        left = self._latest() + self._lease - self._clock.now
        self._queue.begin_lease(delivery, max(left, 0.0))
        if not self._beats:
            self._beats = True
            self._wait()

    def _wait(self) -> None:
        latest = self._latest()
        following = self._booted + self._first if latest < 0 else latest + self._every
        self._clock.at(on_grid(following), partial(self._beat, self._booted))

    def _beat(self, booted: float, _: object) -> None:
        worker = self._worker
        if booted != self._booted:
            return  # that process is dead
        if worker.paused_until > self._clock.now:
            self._clock.at(worker.paused_until, partial(self._beat, booted))
            return
        held = worker.held if worker.alive else []
        for delivery in held:
            if worker.reaches_broker(delivery):
                extends(self._queue, delivery, self._lease)
        self._beats = bool(held)
        if held:
            self._wait()


def extends(queue: LeaseQueue, delivery: Delivery, seconds: float) -> bool:
    """Let the lease of `delivery` end `seconds` from now; whether the broker did so."""
    try:
        return queue.extend(delivery, seconds)
    except LeaseLimit:
        return False
