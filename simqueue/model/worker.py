"""A worker: one process, with slots that run handlers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simqueue.context import Retry
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
    `on_reconnect` is called when the way to the broker is open again, `on_close` when the broker
    has closed the connection; an ack or a renewal reaches the broker only if all of
    `ways_to_broker` let it pass. Where deliveries are acked early, `has_acked_early`, there is
    nothing left to say about what is done.
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
        self.on_reconnect: list[Callable[[], Any]] = []
        self.on_close: list[Callable[[], Any]] = []
        self.died_silently = False
        self.has_acked_early = False
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

    def missed(self) -> None:
        """A delivery on its way here got lost: ask again in its place."""
        self._queue.ask(self)

    @property
    def held(self) -> list[Delivery]:
        """All deliveries that are in this process, running or waiting."""
        return [execution.delivery for execution in self.running.values()]

    def has(self, delivery: Delivery) -> bool:
        """Whether `delivery` is in this process, running or waiting."""
        return delivery.number in self.running

    def keeps(self, delivery: Delivery) -> bool:
        """Whether what is said of `delivery` now is to keep it, and not that it is done."""
        return self.has(delivery)

    def connect_anew(self) -> None:
        """The broker has closed the connection: what waits is gone, what runs goes on."""
        for notify in self.on_close:
            notify()

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

    take = _start
    """Receive a delivery from the queue: without a buffer, to start it."""

    def _settle(self, delivery: Delivery, error: Exception | None) -> None:
        if error is None and self.has_acked_early:
            self._queue.ack(delivery)
            return
        for passes in self.ways_to_broker:
            if not passes(delivery):
                if self.alive:  # a fault may have struck just here
                    self._queue.done_with(delivery)
                return
        if error is None:
            self._queue.ack(delivery)
        else:
            asked = isinstance(error, Retry)
            self._queue.fail(delivery, getattr(error, "after", None), asked=asked)

    def _next(self) -> None:
        if not self._held_back:
            self._queue.ask(self)

    # Dying, and coming back.

    def lose_slot(self, delivery: Delivery) -> None:
        """The slot that runs `delivery` dies, as a child process does; the process lives on."""
        self.running.pop(delivery.number).kill()
        job = delivery.message.job.id
        self._record(self.clock.now, Event.CRASHED, job, delivery.number, self.number)
        with self._queue.at_once():  # what this settles of a batch comes before the next receive
            if self.reaches_broker(delivery):
                self._queue.lose_slot(delivery)
            self._next()

    def crash(self, *, silently: bool = False) -> None:
        """Die, with everything that runs or waits in this process. Leases run on.

        `silently`: nobody is left who could close the connection to the broker.
        """
        now, held = self.clock.now, self.held
        self.alive = False
        self.died_silently = silently
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
