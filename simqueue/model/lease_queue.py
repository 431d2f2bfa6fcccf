"""The lease family of brokers: a message that is received is hidden for a while, not removed.

A message is delayed, visible, in flight, or settled. A receive makes it in flight until its lease
ends and raises its receive count. If no ack comes in time it is visible again, while the first
worker, whom nobody tells, works on. That second delivery is where duplicates come from.

What differs from broker to broker are small objects chosen once, when the queue is built
(`simqueue.model.building`): the line in which messages wait, the check that notices the end of a
lease, the meaning of a late ack. The queue itself does the same for all of them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY, RECEIVE
from simqueue.model.leases import AtOnce, LeaseCheck
from simqueue.model.ledger import Event, row
from simqueue.model.lines import Line
from simqueue.model.message import Delivery, Message, State
from simqueue.model.progress import check_progress

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.settings import LeaseSettings
    from simqueue.model.worker import Worker


class LeaseQueue:
    """The messages, the workers that ask for one, and the leases between them."""

    def __init__(
        self,
        settings: LeaseSettings,
        clock: Clock,
        ledger: Ledger,
        *,
        line: Line,
        lease_check: Callable[[Clock, Callable[[list[Delivery]], None]], LeaseCheck] = AtOnce,
        retry_delay: Callable[[Delivery], float] | None = None,
        endless: bool = False,
    ) -> None:
        # A limit is looked at where the broker notices it: as a message comes back, or as it is
        # asked for; at the other place there is none.
        limit = math.inf if settings.max_attempts is None else settings.max_attempts
        on_return = settings.exhaustion == "return"
        self._limit_on_return = limit if on_return else math.inf
        self._limit_on_receive = math.inf if on_return else limit
        self._endless = endless
        self._lease = settings.lease if settings.lease_from == "hand_over" else None
        self._leaseless = settings.lease is None
        self._late_ack = settings.late_ack
        self._counts = settings.counts
        self._receive_counts = int("receive" in settings.counts)
        self._drops = settings.exhausted == "drop"
        self._retry_delay = retry_delay
        self._clock = clock
        self._ledger = ledger
        self._record = ledger.record
        self._write = ledger.write
        self._leases = lease_check(clock, self._expire)
        self._visible = line
        self._asking: deque[Worker] = deque()
        self._handing_over = False
        self._hand_over_due = False
        self.dead_letters: list[Message] = []

    # What producers do.

    def publish(self, message: Message, delay: float = 0.0) -> None:
        """Put a new message in, to be visible in `delay` seconds.

        Call `hand_over` once all that arrive at this instant are in.
        """
        if delay:
            self._hide(message, self._clock.after(delay))
        else:
            message.state = State.VISIBLE
            self._visible.add(message)
        self._write(row(self._clock._now, Event.PUBLISHED, message.job.id, -1, -1, message.state))

    # What workers do.

    def ask(self, worker: Worker) -> None:
        """`worker` wants a message, as soon as there is one and its turn has come."""
        self._asking.append(worker)
        self.hand_over()

    def withdraw(self, worker: Worker) -> None:
        """`worker` wants nothing more."""
        self._asking = deque(other for other in self._asking if other is not worker)

    def ack(self, delivery: Delivery) -> None:
        """The worker says that the job is done."""
        message = delivery.message
        if message.is_held_by(delivery) or (
            message.state < State.ACKED and self._late_ack.accepts(message, delivery)
        ):
            before, number = message.settle(State.ACKED), delivery.number
            job, worker = message.job.id, delivery.worker.number
            self._write(row(self._clock._now, Event.ACKED, job, number, worker, before))
            if self._visible.freed(message):
                self.hand_over()
        elif self._late_ack.told:
            self._note(Event.ACK_REFUSED, delivery)
        else:
            self._note(Event.ACK_IGNORED, delivery)

    def fail(self, delivery: Delivery, after: float | None = None) -> None:
        """The worker's handler raised: give the message back, if that is what this worker does.

        `after` is the delay in seconds that the handler itself asks for. Without it, and without a
        retry delay of the broker's, nothing happens: the message waits for its lease to run out.
        """
        message = delivery.message
        if message.is_held_by(delivery):
            message.failures += 1
            message.attempts += "failure" in self._counts
        if after is None and self._retry_delay is not None:
            is_last = message.attempts >= self._limit_on_return
            after = 0.0 if is_last else self._retry_delay(delivery)
        if after is not None:
            self.nack(delivery, after)

    def nack(self, delivery: Delivery, delay: float = 0.0) -> None:
        """The worker gives the message back, to be visible in `delay` seconds.

        Where its lease has run out there is nothing to give back.
        """
        message = delivery.message
        if message.is_held_by(delivery):
            visible_at = self._clock.after(delay)
            self._note(Event.NACKED, delivery, visible_at)
            self._take_back(message, visible_at)

    def start_lease(self, delivery: Delivery, seconds: float) -> None:
        """Let the lease of a delivery that had none end `seconds` from now."""
        if delivery.message.is_held_by(delivery):
            delivery.lease_ends = self._clock.after(seconds)
            self._leases.watch(delivery)

    def begin_lease(self, delivery: Delivery, seconds: float) -> None:
        """The handler of a delivery that had no lease starts: the lease starts with it."""
        if delivery.message.is_held_by(delivery):
            self.start_lease(delivery, seconds)
            self._note(Event.LEASE_STARTED, delivery, delivery.lease_ends)

    def extend(self, delivery: Delivery, seconds: float) -> bool:
        """Let the lease end `seconds` from now; False where it has run out already.

        A broker without leases has none to extend, and no objection.
        """
        if not delivery.message.is_held_by(delivery):
            return False
        if self._leaseless:
            return True
        self.start_lease(delivery, seconds)
        self._note(Event.EXTENDED, delivery, delivery.lease_ends)
        return True

    def requeue(self, deliveries: Iterable[Delivery]) -> None:
        """Take back what a worker held that is gone."""
        with self.at_once():
            for delivery in deliveries:
                message = delivery.message
                if message.is_held_by(delivery):
                    message.attempts += "disconnect" in self._counts
                    self._note(Event.NACKED, delivery, self._clock.now)
                    self._take_back(message, self._clock.now)

    def lose(self, deliveries: Iterable[Delivery]) -> None:
        """Forget what a worker held that is gone: nobody else has a copy."""
        with self.at_once():
            for delivery in deliveries:
                message = delivery.message
                if message.is_held_by(delivery):
                    self._note(Event.LOST, delivery, message.settle(State.LOST))
                    self._visible.freed(message)

    # What the broker, or somebody who runs it, does.

    def hand_over(self) -> None:
        """Give visible messages to asking workers, once all else of this instant has happened.

        At once if nothing else is due now; otherwise at the end of the instant, so that acks and
        expiries come first. A worker that is handed a message may be done with it and ask again, or
        free a group, before the next one is handed over: that only lengthens the loop below.
        """
        if self._asking and self._visible and not self._handing_over:
            if self._clock.is_quiet():
                self._hand_over(None)
            elif not self._hand_over_due:
                self._hand_over_due = True
                self._clock.at(self._clock.now, self._hand_over, RECEIVE)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let all that happens inside come before the next message is handed over."""
        outer, self._handing_over = self._handing_over, True
        yield
        self._handing_over = outer
        self.hand_over()

    def end_retention(self, message: Message) -> None:
        """Remove `message`, wherever it is, unless it is settled."""
        if message.state < State.ACKED:
            before = message.settle(State.EXPIRED)
            self._record(self._clock.now, Event.MESSAGE_EXPIRED, message.job.id, value=before)
            self._visible.freed(message)
            self.hand_over()

    def redrive(self) -> None:
        """Put all dead-lettered messages back into the queue, with their attempts forgotten."""
        for message in self.dead_letters:
            message.attempts = 0
            self._record(self._clock.now, Event.REDRIVEN, message.job.id)
            message.state = State.VISIBLE
            self._visible.put_back(message)
        self.dead_letters.clear()
        self.hand_over()

    def _hand_over(self, _: object) -> None:
        self._hand_over_due = False
        self._handing_over = True
        visible = self._visible
        while self._asking and visible:
            message = visible.take()
            if message.state != State.VISIBLE:
                visible.freed(message)  # settled while it stood in line
                continue
            if message.attempts >= self._limit_on_receive:
                self._exhaust(message)
                continue
            worker = self._asking[0]
            if not worker.reserve():
                self._asking.popleft()
            worker.take(self._deliver(message, worker))
        self._handing_over = False

    def _deliver(self, message: Message, worker: Worker) -> Delivery:
        ledger = self._ledger
        message.receives += 1
        if message.receives > message.patience:
            check_progress(message, self._clock.now, endless=self._endless)
        message.attempts += self._receive_counts
        message.state = State.IN_FLIGHT
        ends = self._clock.after(self._lease) if self._lease else math.inf
        job = message.job
        job.turns += 1
        number, ledger.deliveries = ledger.deliveries, ledger.deliveries + 1
        message.latest = delivery = Delivery(message, worker, number, job.turns, ends)
        now = self._clock._now
        self._write(row(now, Event.RECEIVED, job.id, number, worker.number, ends))
        if ends < math.inf:
            self._leases.watch(delivery)
        return delivery

    def _expire(self, deliveries: list[Delivery]) -> None:
        with self.at_once():
            for delivery in deliveries:
                self._note(Event.EXPIRED, delivery)
                delivery.message.attempts += "expiry" in self._counts
                self._take_back(delivery.message, self._clock.now)

    def _take_back(self, message: Message, visible_at: float) -> None:
        message.state = State.DELAYED
        if message.attempts >= self._limit_on_return:
            self._exhaust(message)
        elif visible_at > self._clock.now:
            self._hide(message, visible_at)
        else:
            self._reveal(message)

    def _hide(self, message: Message, visible_at: float) -> None:
        self._clock.at(visible_at, lambda _: self._reveal(message), EXPIRY)

    def _reveal(self, message: Message) -> None:
        if message.state == State.DELAYED:
            message.state = State.VISIBLE
            self._record(self._clock.now, Event.VISIBLE, message.job.id)
            if message.receives:
                self._visible.put_back(message)
            else:
                self._visible.add(message)
            self.hand_over()

    def _exhaust(self, message: Message) -> None:
        if self._drops:
            event, state = Event.LOST, State.LOST
        else:
            event, state = Event.DEAD_LETTERED, State.DEAD_LETTERED
            self.dead_letters.append(message)
        self._record(self._clock.now, event, message.job.id, value=message.settle(state))
        self._visible.freed(message)
        self.hand_over()

    def _note(self, event: int, delivery: Delivery, value: float = math.nan) -> None:
        job, worker = delivery.message.job.id, delivery.worker.number
        self._record(self._clock._now, event, job, delivery.number, worker, value)
