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
from functools import partial
from typing import TYPE_CHECKING

from simqueue.context import LeaseLimit
from simqueue.model.circulation import Circulation
from simqueue.model.leases import AtOnce, LeaseCheck
from simqueue.model.ledger import Event, row
from simqueue.model.lines import Line
from simqueue.model.message import Delivery, Message, State
from simqueue.model.progress import check_progress

if TYPE_CHECKING:
    from simqueue.model.attempts import Stalls
    from simqueue.model.choosing import Chooser
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.polls import Polls
    from simqueue.model.settings import LeaseSettings
    from simqueue.model.worker import Worker


class LeaseQueue(Circulation):
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
        stalls: Stalls | None = None,
        polls: Polls | None = None,
        chooser: Chooser | None = None,
        endless: bool = False,
    ) -> None:
        super().__init__(
            settings, clock, ledger, line=line, stalls=stalls, polls=polls, endless=endless
        )
        self._endless = endless
        self._lease = settings.lease if settings.lease_from == "hand_over" else None
        self._leaseless = settings.lease is None
        self._late_ack = settings.late_ack
        self._receive_counts = int("receive" in settings.counts)
        self._retry_delay = retry_delay
        self._expiry_delay = retry_delay if "expiry" in settings.retry_on else None
        self._on_failure = settings.on_failure
        self._on_slot_lost = settings.on_slot_lost
        self._lease_cap = math.inf if settings.lease_cap is None else settings.lease_cap
        self._group_batches = settings.group_batches and settings.ordering != "unordered"
        self._late_nack_releases = settings.late_nack == "releases"
        self._returns_to_front = settings.returns_to != "back" and settings.ordering == "unordered"
        self._write = ledger.write
        self.leases = lease_check(clock, self._expire)
        self.on_expiry: Callable[[Delivery], None] = self.end_lease
        if chooser is not None:
            self._hand_over = partial(chooser.hand_over, self)  # type: ignore[method-assign]
        self._late_by_clock = settings.late_ack.by_clock
        looks = settings.sweep_period is not None or settings.sweep_at_boot is not None
        if self._late_by_clock and looks:
            self.ack = self._ack_in_time  # type: ignore[method-assign]

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
        elif self._late_ack.overrides and message.state == State.DEAD_LETTERED:
            self.dead_letters.remove(message)
            self._note(Event.ACKED, delivery, message.settle(State.ACKED))
        elif self._late_ack.told:
            self._note(Event.ACK_REFUSED, delivery)
        else:
            self._note(Event.ACK_IGNORED, delivery)

    def _ack_in_time(self, delivery: Delivery) -> None:
        """An ack is refused once the lease ran out, also where no sweep has noticed yet."""
        if self._ran_out_unnoticed(delivery):
            self._note(Event.ACK_REFUSED, delivery)
        else:
            LeaseQueue.ack(self, delivery)

    def _ran_out_unnoticed(self, delivery: Delivery) -> bool:
        return delivery.message.is_held_by(delivery) and delivery.lease_ends < self._clock.now

    def fail(self, delivery: Delivery, after: float | None = None, *, asked: bool = True) -> None:
        """The worker's handler raised: do what this broker's client does then.

        `after` is the delay in seconds that the handler itself asks for. Without it, and without a
        retry delay of the broker's, nothing happens: the message waits for its lease to run out.
        `asked`: the handler asked for another attempt, where others of its exceptions may mean
        something else.
        """
        message = delivery.message
        held = message.is_held_by(delivery)
        if held:
            message.failures += 1
            message.attempts += "failure" in self._counts
        if not asked and self._on_failure == "ack":
            self.ack(delivery)
            return
        if not asked and self._on_failure == "dead_letter":
            if held:
                self._exhaust(message)
            return
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
        released = self._late_nack_releases and message.state == State.IN_FLIGHT
        if message.is_held_by(delivery) or released:
            visible_at = self._clock.after(delay)
            if self._polls is not None and delay:
                visible_at = self._polls.next(visible_at)
            self._note(Event.NACKED, delivery, visible_at)
            message.failed = True
            self._come_back(message, visible_at)

    def done_with(self, delivery: Delivery) -> None:
        """The worker is done with `delivery`, and what it has to say about it never arrives."""

    def lose_slot(self, delivery: Delivery) -> None:
        """The slot that ran `delivery` died, and its process lives and says what it has to say."""
        if self._on_slot_lost == "ack":
            self.ack(delivery)
        elif self._on_slot_lost == "return":
            self.requeue([delivery], "slot lost")

    def start_lease(self, delivery: Delivery, seconds: float) -> None:
        """Let the lease of a delivery that had none end `seconds` from now."""
        if delivery.message.is_held_by(delivery):
            delivery.lease_ends = self._clock.after(seconds)
            self.leases.watch(delivery)

    def begin_lease(self, delivery: Delivery, seconds: float) -> None:
        """The handler of a delivery that had no lease starts: the lease starts with it."""
        if delivery.message.is_held_by(delivery):
            self.start_lease(delivery, seconds)
            self._note(Event.LEASE_STARTED, delivery, delivery.lease_ends)

    def extend(self, delivery: Delivery, seconds: float) -> bool:
        """Let the lease end `seconds` from now; False where it has run out already.

        A broker without leases has none to extend, and no objection. Raises LeaseLimit, and changes
        nothing, where the lease would be longer than the broker lets it be.
        """
        if not delivery.message.is_held_by(delivery):
            return False
        if self._leaseless:
            return True
        if self._late_by_clock and self._ran_out_unnoticed(delivery):
            return False
        if self._clock.after(seconds) - delivery.received > self._lease_cap:
            raise LeaseLimit(
                f"{seconds:g} s more would keep the message for more than {self._lease_cap:g} s "
                "since its receive, which this broker does not allow"
            )
        self.start_lease(delivery, seconds)
        self._note(Event.EXTENDED, delivery, delivery.lease_ends)
        return True

    def requeue(self, deliveries: Iterable[Delivery], cause: str = "disconnect") -> None:
        """Take back what a worker held that is gone."""
        with self.at_once():
            for delivery in self._returning(deliveries):
                message = delivery.message
                if message.is_held_by(delivery):
                    self._note(Event.NACKED, delivery, self._clock.now)
                    self._return(message, cause, self._clock.now)

    def lose(self, deliveries: Iterable[Delivery]) -> None:
        """Forget what a worker held that is gone: nobody else has a copy."""
        with self.at_once():
            for delivery in deliveries:
                message = delivery.message
                if message.is_held_by(delivery):
                    self._note(Event.LOST, delivery, message.settle(State.LOST))
                    self._visible.freed(message)

    # What the broker, or somebody who runs it, does.

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let all that happens inside come before the next message is handed over."""
        outer, self._handing_over = self._handing_over, True
        yield
        self._handing_over = outer
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
        if self._group_batches:
            visible.recall()
        self._handing_over = False

    def receive_more(self, delivery: Delivery) -> None:
        """The receive that brought `delivery` goes on: it may bring the next of its group too."""
        if self._group_batches:
            self._visible.lend(delivery.message)

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
        now = self._clock._now
        message.latest = delivery = Delivery(message, worker, number, job.turns, now, ends)
        self._write(row(now, Event.RECEIVED, job.id, number, worker.number, ends))
        if ends < math.inf:
            self.leases.watch(delivery)
        return delivery

    def _expire(self, deliveries: list[Delivery]) -> None:
        with self.at_once():
            for delivery in self._returning(deliveries):
                if delivery.message.is_held_by(delivery):
                    self.on_expiry(delivery)

    def _returning(self, deliveries: Iterable[Delivery]) -> list[Delivery]:
        """Return those that come back together, in the order that keeps the line's."""
        together = list(deliveries)
        return together[::-1] if self._returns_to_front else together

    def end_lease(self, delivery: Delivery) -> None:
        """The lease of `delivery` has run out: its message comes back."""
        message, visible_at = delivery.message, self._clock.now
        self._note(Event.EXPIRED, delivery)
        if self._expiry_delay is not None:
            message.failures += 1
            visible_at = self._clock.after(self._expiry_delay(delivery))
        self._return(message, "expiry", visible_at)

    def give_up(self, delivery: Delivery) -> None:
        """The lease of `delivery` has run out: its message is given up."""
        self._exhaust(delivery.message)
