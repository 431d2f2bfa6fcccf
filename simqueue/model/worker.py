"""A worker: one process, with slots that run handlers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simqueue.context import Handler
from simqueue.model.execution import Execution
from simqueue.model.ledger import Event
from simqueue.model.message import Delivery

if TYPE_CHECKING:
    from simqueue.model.world import World

Acknowledge = Callable[[Delivery], None]


class Worker:
    """Takes deliveries, runs the handler on each, and acks those whose handler returns.

    Each free slot asks for one message at a time, so workers take turns.
    """

    def __init__(
        self,
        number: int,
        world: World,
        handler: Handler,
        *,
        concurrency: int,
        acknowledge: Acknowledge,
    ) -> None:
        self.number = number
        self.running: dict[int, Execution] = {}
        self.alive = True
        self.on_start: list[Callable[[Delivery], Any]] = []
        self._world = world
        self._clock = world.clock
        self._record = world.ledger.record
        self._queue = world.queue
        self._handler = handler
        self._concurrency = concurrency
        self._acknowledge = acknowledge

    @property
    def places(self) -> int:
        """How many times this worker stands in the line of those who ask for a message."""
        return self._concurrency

    def reserve(self) -> bool:
        """Get ready for one more delivery; True to stay first in the line for yet another."""
        return False

    def take(self, delivery: Delivery) -> None:
        """Receive `delivery` from the queue."""
        self._start(delivery)

    def ended(self, delivery: Delivery, error: Exception | None) -> None:
        """The handler has returned (`error` is None) or raised."""
        del self.running[delivery.number]
        job = delivery.message.job.id
        now = self._clock.now
        if error is None:
            self._record(now, Event.FINISHED, job, delivery.number, self.number)
            self._acknowledge(delivery)
        else:
            reason = self._world.ledger.word(repr(error))
            self._record(now, Event.FAILED, job, delivery.number, self.number, reason)
            self._queue.fail(delivery)
        self._next()

    def crash(self) -> None:
        """Die, with everything that runs or waits in this process. Leases run on."""
        now = self._clock.now
        self.alive = False
        self._record(now, Event.WORKER_CRASHED, worker=self.number)
        for number, execution in self.running.items():
            execution.kill()
            job = execution.delivery.message.job.id
            self._record(now, Event.CRASHED, job, number, self.number)
        self.running.clear()
        self._queue.withdraw(self)

    def restart(self) -> None:
        """Come back as a fresh process."""
        self.alive = True
        self._record(self._clock.now, Event.WORKER_RESTARTED, worker=self.number)
        for _ in range(self.places):
            self._queue.ask(self)

    def _start(self, delivery: Delivery) -> None:
        job = delivery.message.job
        self._record(self._clock.now, Event.STARTED, job.id, delivery.number, self.number)
        coroutine = self._handler(job, self._world.context(delivery))
        self.running[delivery.number] = execution = Execution(self, delivery, coroutine)
        for notify in self.on_start:
            notify(delivery)
        execution.resume()

    def _next(self) -> None:
        self._queue.ask(self)


class PrefetchingWorker(Worker):
    """Holds up to `prefetch` deliveries at once, running or waiting in its buffer.

    It takes all that it may hold as soon as it can; the leases of what waits run too.
    """

    def __init__(self, *args: Any, prefetch: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._prefetch = prefetch
        self._buffer: deque[Delivery] = deque()
        self._held = 0
        self._asks = True

    @property
    def places(self) -> int:
        """One: the process asks for all of its slots."""
        return 1

    def reserve(self) -> bool:
        """Get ready for one more delivery; True while there is room for yet another."""
        self._held += 1
        self._asks = self._held < self._prefetch
        return self._asks

    def take(self, delivery: Delivery) -> None:
        """Start `delivery` if a slot is free, else keep it for later."""
        if len(self.running) < self._concurrency:
            self._start(delivery)
        else:
            self._buffer.append(delivery)

    def crash(self) -> None:
        """Die, and the buffer with it."""
        super().crash()
        self._buffer.clear()
        self._held = 0
        self._asks = True

    def _next(self) -> None:
        self._held -= 1
        if self._buffer:
            self._start(self._buffer.popleft())
        if not self._asks:
            self._asks = True
            self._queue.ask(self)
