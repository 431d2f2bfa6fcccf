"""Workers that take messages in other ways: ahead, in batches, or more than they can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simqueue.model.clock import AFTER_RECEIVE
from simqueue.model.worker import Worker

if TYPE_CHECKING:
    from simqueue.model.message import Delivery


class PrefetchingWorker(Worker):
    """Holds up to `prefetch` deliveries at once, running or waiting in its buffer.

    It takes all that it may hold as soon as it can; the leases of what waits run too.
    """

    def __init__(self, *args: Any, prefetch: float, **options: Any) -> None:
        super().__init__(*args, **options)
        self._prefetch = prefetch
        self._buffer: dict[int, Delivery] = {}
        self.kept: dict[int, Delivery] = {}
        self._reserved = 0
        self._asks = False
        self._starting = False

    @property
    def places(self) -> int:
        """One while there is room: the process asks for all of its slots."""
        return int(self._reserved < self._prefetch)

    @property
    def held(self) -> list[Delivery]:
        """All deliveries that are in this process, running, waiting, or not due yet."""
        return [*super().held, *self._buffer.values(), *self.kept.values()]

    def has(self, delivery: Delivery) -> bool:
        """Whether `delivery` is in this process."""
        number = delivery.number
        return number in self.running or number in self._buffer or number in self.kept

    def connect_anew(self) -> None:
        """Forget what waits, and ask for as much as a fresh connection may have."""
        self._buffer.clear()
        super().connect_anew()
        self._reserved = len(self.running)
        if self.accepts:
            self.ask()

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
            self._buffer[delivery.number] = delivery

    def make_room(self) -> None:
        """Let one more delivery count as held, though the process did not ask for it just now."""
        self._reserved += 1

    def missed(self) -> None:
        """A delivery on its way here got lost: there is room for another."""
        self._reserved -= 1
        if self.accepts:
            self.ask()

    def crash(self, *, silently: bool = False) -> None:
        """Die, and the buffer with it."""
        super().crash(silently=silently)
        self._buffer.clear()
        self.kept.clear()
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
            self._start(self._buffer.pop(next(iter(self._buffer))))
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

    def crash(self, *, silently: bool = False) -> None:
        """Die; what was done and not acked yet is as if it had not been."""
        self._done.clear()
        super().crash(silently=silently)

    def take(self, delivery: Delivery) -> None:
        """Take `delivery` into the batch, which is what there is at this instant."""
        if not self.held:
            self.clock.at(self.clock.now, self._close, AFTER_RECEIVE)
        if self._asks:
            self._queue.receive_more(delivery)
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
