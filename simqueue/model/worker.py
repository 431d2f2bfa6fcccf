"""A worker: one process, with slots that run handlers."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simqueue.model.clock import AFTER_RECEIVE
from simqueue.model.context import SimulatedContext
from simqueue.model.execution import Execution
from simqueue.model.ledger import Event, row

if TYPE_CHECKING:
    from simqueue.context import Handler
    from simqueue.model.message import Delivery
    from simqueue.model.world import World

Filter = Callable[["Delivery"], bool]


class Worker:
    """Takes deliveries, runs the handler on each, and acks those whose handler returns.

    Each free slot asks for one message at a time, so workers take turns.

    Faults, brokers and services hook in here: `on_start` hears of each delivery whose handler
    starts; `on_death` of all deliveries that the process held when it died, `on_disconnect` of them
    when the broker loses sight of it, dead or not, and `on_restart` of the worker when it is back;
    an ack or a renewal reaches the broker only if all of `ways_to_broker` let it pass.
    """

    def __init__(self, number: int, world: World, handler: Handler, *, concurrency: int) -> None:
        self.number = number
        self.clock = world.clock
        self.running: dict[int, Execution] = {}
        self.alive = True
        self.paused_until = 0.0
        self.execution: type[Execution] = Execution
        self.on_start: list[Callable[[Delivery], Any]] = []
        self.on_death: list[Callable[[list[Delivery]], Any]] = []
        self.on_disconnect: list[Callable[[list[Delivery]], Any]] = []
        self.on_restart: list[Callable[[Worker], Any]] = []
        self.ways_to_broker: list[Filter] = []
        self._held_back: dict[object, bool] = {}
        self._world = world
        self._record = world.ledger.record
        self._write = world.ledger.write
        self._queue = world.queue
        self._handler = handler
        self._concurrency = concurrency

    # Taking messages.

    @property
    def places(self) -> int:
        """How many times this worker stands in the line of those who ask for a message."""
        return self._concurrency - len(self.running)

    @property
    def accepts(self) -> bool:
        """Whether this worker takes messages: it is alive, and nothing holds it back."""
        return self.alive and not self._held_back

    def is_held_back_by(self, reason: object) -> bool:
        """Whether this `reason` to take no messages still holds."""
        return reason in self._held_back

    def ask(self) -> None:
        """Ask for as many messages as there are free slots."""
        with self._queue.at_once():
            for _ in range(self.places):
                self._queue.ask(self)

    def ask_once(self) -> None:
        """Take one more place in the line."""
        self._queue.ask(self)

    def stop_asking(self, reason: object, *, lasting: bool = False) -> None:
        """Take no more messages until this `reason` is gone; what runs goes on.

        A crash takes reasons with it, unless they are `lasting`: those outside of the process.
        """
        self._held_back[reason] = lasting
        self._leave_line()

    def go_on(self, reason: object) -> None:
        """Let this `reason` be gone: take messages again, unless another one still holds."""
        if reason in self._held_back:
            del self._held_back[reason]
            if self.accepts:
                self.ask()

    def _leave_line(self) -> None:
        self._queue.withdraw(self)

    def reserve(self) -> bool:
        """Get ready for one more delivery; True to stay first in the line for yet another."""
        return False

    def take(self, delivery: Delivery) -> None:
        """Receive `delivery` from the queue."""
        self._start(delivery)

    def missed(self) -> None:
        """A delivery on its way here got lost: ask again in its place."""
        self._queue.ask(self)

    @property
    def held(self) -> list[Delivery]:
        """All deliveries that are in this process, running or waiting."""
        return [execution.delivery for execution in self.running.values()]

    # Running handlers.

    def ended(self, delivery: Delivery, error: Exception | None) -> None:
        """The handler has returned (`error` is None) or raised."""
        del self.running[delivery.number]
        job, now = delivery.message.job.id, self.clock._now
        if error is None:
            self._write(row(now, Event.FINISHED, job, delivery.number, self.number, math.nan))
        else:
            reason = self._world.ledger.word(repr(error))
            self._record(now, Event.FAILED, job, delivery.number, self.number, reason)
        self._settle(delivery, error)
        if self.alive:
            self._next()

    def reaches_broker(self, delivery: Delivery) -> bool:
        """Whether what the worker says about `delivery` now arrives."""
        return all(passes(delivery) for passes in self.ways_to_broker)

    def _start(self, delivery: Delivery) -> None:
        job = delivery.message.job
        now, number = self.clock._now, delivery.number
        self._write(row(now, Event.STARTED, job.id, number, self.number, math.nan))
        coroutine = self._handler(job, SimulatedContext(self._world, delivery))
        self.running[number] = execution = self.execution(self, delivery, coroutine)
        for notify in self.on_start:
            notify(delivery)
        execution.resume()

    def _settle(self, delivery: Delivery, error: Exception | None) -> None:
        for passes in self.ways_to_broker:
            if not passes(delivery):
                return
        if error is None:
            self._queue.ack(delivery)
        else:
            self._queue.fail(delivery, getattr(error, "after", None))

    def _next(self) -> None:
        if not self._held_back:
            self._queue.ask(self)

    # Dying, and coming back.

    def crash(self) -> None:
        """Die, with everything that runs or waits in this process. Leases run on."""
        now, held = self.clock.now, self.held
        self.alive = False
        self._record(now, Event.WORKER_CRASHED, worker=self.number)
        for number, execution in self.running.items():
            execution.kill()
            job = execution.delivery.message.job.id
            self._record(now, Event.CRASHED, job, number, self.number)
        self.running.clear()
        self._held_back = {reason: True for reason, lasting in self._held_back.items() if lasting}
        self._leave_line()
        for notify in (*self.on_death, *self.on_disconnect):
            notify(held)

    def abandon(self) -> None:
        """The run is over: what still runs must not go on, nor clean up after itself."""
        for execution in self.running.values():
            execution.kill()

    def restart(self) -> None:
        """Come back as a fresh process."""
        self.alive = True
        self.paused_until = 0.0
        self._record(self.clock.now, Event.WORKER_RESTARTED, worker=self.number)
        for notify in self.on_restart:
            notify(self)
        if self.accepts:
            self.ask()


class PrefetchingWorker(Worker):
    """Holds up to `prefetch` deliveries at once, running or waiting in its buffer.

    It takes all that it may hold as soon as it can; the leases of what waits run too.
    """

    def __init__(self, *args: Any, prefetch: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._prefetch = prefetch
        self._buffer: deque[Delivery] = deque()
        self._reserved = 0
        self._asks = False
        self._starting = False

    @property
    def places(self) -> int:
        """One while there is room: the process asks for all of its slots."""
        return int(self._reserved < self._prefetch)

    @property
    def held(self) -> list[Delivery]:
        """All deliveries that are in this process, running or waiting."""
        return [*super().held, *self._buffer]

    def ask(self) -> None:
        """Ask for as much as there is room for, in one place of the line."""
        if self.places and not self._asks:
            self._asks = True
            self._queue.ask(self)

    def ask_once(self) -> None:
        """Take the place in the line, which there is but one of."""
        self.ask()

    def _leave_line(self) -> None:
        super()._leave_line()
        self._asks = False

    def reserve(self) -> bool:
        """Get ready for one more delivery; True while there is room for yet another."""
        self._reserved += 1
        self._asks = self._reserved < self._prefetch
        return self._asks

    def take(self, delivery: Delivery) -> None:
        """Start `delivery` if a slot is free and nothing waits for it, else keep it for later."""
        if len(self.running) < self._concurrency and not self._buffer:
            self._start(delivery)
        else:
            self._buffer.append(delivery)

    def missed(self) -> None:
        """A delivery on its way here got lost: there is room for another."""
        self._reserved -= 1
        if self.accepts:
            self.ask()

    def crash(self) -> None:
        """Die, and the buffer with it."""
        super().crash()
        self._buffer.clear()
        self._reserved = 0

    def _next(self) -> None:
        self._reserved -= 1
        self._start_what_waits()
        if self.accepts:
            self.ask()

    def _start_what_waits(self) -> None:
        """Fill the free slots. What ends at once comes here again, and leaves it to the first."""
        if self._starting:
            return
        self._starting = True
        while self._buffer and len(self.running) < self._concurrency:
            self._start(self._buffer.popleft())
        self._starting = False


class ThrottledWorker(Worker):
    """Receives all there is, and runs what finds a free slot; the rest is received and not run.

    A poller in front of a function with limited concurrency does so. What is not run comes back
    when its lease ends, one receive older.
    """

    @property
    def places(self) -> int:
        """One, for good."""
        return 1

    def reserve(self) -> bool:
        """Stay first in the line."""
        return True

    def take(self, delivery: Delivery) -> None:
        """Start `delivery` if a slot is free."""
        if len(self.running) < self._concurrency:
            self._start(delivery)

    def missed(self) -> None:
        """Nothing to do: it stands in line."""

    def _next(self) -> None:
        pass


class BatchingWorker(PrefetchingWorker):
    """Receives up to `prefetch` messages at once, and again when all of them are done.

    `whole`: they are acked together, at the end, and only if none of them failed.
    """

    def __init__(self, *args: Any, whole: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self._whole = whole
        self._done: list[tuple[Delivery, Exception | None]] = []

    @property
    def places(self) -> int:
        """One, unless a batch is at work."""
        return int(not self.held)

    def crash(self) -> None:
        """Die; what was done and not acked yet is as if it had not been."""
        self._done.clear()
        super().crash()

    def take(self, delivery: Delivery) -> None:
        """Take `delivery` into the batch, which is what there is at this instant."""
        if not self.held:
            self.clock.at(self.clock.now, self._close, AFTER_RECEIVE)
        super().take(delivery)

    def _close(self, _: object) -> None:
        if self._asks and self.held:
            self._leave_line()

    def _settle(self, delivery: Delivery, error: Exception | None) -> None:
        if self._whole:
            self._done.append((delivery, error))
        else:
            super()._settle(delivery, error)

    def _next(self) -> None:
        self._start_what_waits()
        if self._starting or self._buffer or self.running:
            return
        done, self._done = self._done, []
        failure = next((error for _delivery, error in done if error is not None), None)
        with self._queue.at_once():
            for delivery, _error in done:
                if self.alive:
                    super()._settle(delivery, failure)
        self._reserved = 0
        if self.accepts:
            self.ask()
