"""The lease family of brokers: a message that is received is hidden for a while, not removed.

A message is delayed, visible, in flight, acked or dead-lettered. A receive makes it in flight until
its lease ends and raises its receive count. If no ack comes in time it is visible again, while the
first worker, whom nobody tells, works on. That second delivery is where duplicates come from.

What differs from broker to broker comes in as small objects and numbers chosen once
(`LeaseSettings`); the queue itself does the same for all of them.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY, RECEIVE, Clock
from simqueue.model.late_ack import LateAck
from simqueue.model.leases import AtOnce
from simqueue.model.ledger import Event, Ledger
from simqueue.model.message import Delivery, Message, State

if TYPE_CHECKING:
    from simqueue.model.worker import Worker

MOST_RECEIVES = 10_000
"""A message received this often, in a run without a horizon, is taken to go round for ever."""


class NeverSettles(RuntimeError):  # noqa: N818 - it names what the run does
    """The run would not end: a job is delivered again and again."""


@dataclass(frozen=True)
class LeaseSettings:
    """A broker of the lease family, as settings of the queue.

    lease: seconds for which a received message is hidden; None: until its worker speaks.
    late_ack: what an ack does after the lease ran out.
    max_receives: deliveries before a message is dead-lettered; None: no limit.
    exhaustion: "return": a message that used up its receives is dead-lettered as it comes back;
        "receive": when somebody next asks for it.
    retry_delay: seconds until a failed message is visible again; None: the worker stays silent and
        the lease runs out.
    returns_to: the "back" or the "front" of the queue, for messages that come back.
    """

    lease: float | None
    late_ack: LateAck
    max_receives: int | None = None
    exhaustion: str = "return"
    retry_delay: float | None = None
    returns_to: str = "back"

    def build(self, clock: Clock, ledger: Ledger, *, endless: bool) -> LeaseQueue:
        """Return an empty queue with these settings; `endless`: the run stops at a horizon."""
        return LeaseQueue(self, clock, ledger, endless=endless)


class LeaseQueue:
    """The messages, the workers that ask for one, and the leases between them."""

    def __init__(
        self, settings: LeaseSettings, clock: Clock, ledger: Ledger, *, endless: bool
    ) -> None:
        limit = math.inf if settings.max_receives is None else settings.max_receives
        patience = math.inf if endless else MOST_RECEIVES
        self._max_receives = limit
        on_return = settings.exhaustion == "return"
        self._limit_on_return = limit if on_return else math.inf
        self._limit_on_receive = min(math.inf if on_return else limit, patience)
        self._lease = settings.lease
        self._late_ack = settings.late_ack
        self._retry_delay = settings.retry_delay
        self._clock = clock
        self._ledger = ledger
        self._record = ledger.record
        self._leases = AtOnce(clock, self._expire)
        self._visible: deque[Message] = deque()
        back = settings.returns_to == "back"
        self._put_back = self._visible.append if back else self._visible.appendleft
        self._asking: deque[Worker] = deque()
        self._handing_over = False
        self._hand_over_due = False

    # What producers do.

    def publish(self, message: Message) -> None:
        """Put a new message in. Call `hand_over` once all that arrive at this instant are in."""
        message.state = State.VISIBLE
        self._record(self._clock._now, Event.PUBLISHED, message.job.id)
        self._visible.append(message)

    # What workers do.

    def ask(self, worker: Worker) -> None:
        """`worker` wants a message, as soon as there is one and its turn has come."""
        self._asking.append(worker)
        self.hand_over()

    def withdraw(self, worker: Worker) -> None:
        """`worker` is gone: hand it nothing more."""
        self._asking = deque(other for other in self._asking if other is not worker)

    def ack(self, delivery: Delivery) -> None:
        """The worker says that the job is done."""
        message = delivery.message
        if message.is_held_by(delivery) or (
            message.state < State.ACKED and self._late_ack.accepts(message, delivery)
        ):
            self._note(Event.ACKED, delivery, message.settle(State.ACKED))
        elif self._late_ack.told:
            self._note(Event.ACK_REFUSED, delivery)
        else:
            self._note(Event.ACK_IGNORED, delivery)

    def fail(self, delivery: Delivery) -> None:
        """The worker's handler raised: give the message back, if that is what this worker does."""
        if self._retry_delay is not None:
            self.nack(delivery, self._retry_delay)

    def nack(self, delivery: Delivery, delay: float = 0.0) -> None:
        """The worker gives the message back, to be visible in `delay` seconds.

        Where its lease has run out there is nothing to give back.
        """
        message = delivery.message
        if message.is_held_by(delivery):
            visible_at = self._clock.after(delay)
            self._note(Event.NACKED, delivery, visible_at)
            self._take_back(message, visible_at)

    def extend(self, delivery: Delivery, seconds: float) -> bool:
        """Let the lease end `seconds` from now; False where it has run out already."""
        if not delivery.message.is_held_by(delivery):
            return False
        delivery.lease_ends = self._clock.after(seconds)
        self._note(Event.EXTENDED, delivery, delivery.lease_ends)
        self._leases.watch(delivery)
        return True

    # What the broker does by itself.

    def hand_over(self) -> None:
        """Give visible messages to asking workers, once all else of this instant has happened."""
        if self._visible and self._asking and not self._handing_over:
            if self._clock.is_quiet():
                self._hand_over(None)
            elif not self._hand_over_due:
                self._hand_over_due = True
                self._clock.at(self._clock.now, self._hand_over, RECEIVE)

    def _hand_over(self, _: object) -> None:
        self._hand_over_due = False
        self._handing_over = True
        visible = self._visible
        while visible and self._asking:
            message = visible.popleft()
            if message.state is not State.VISIBLE:
                continue  # acked while it waited here
            if message.receives >= self._limit_on_receive:
                self._give_up(message)
                continue
            worker = self._asking[0]
            if not worker.reserve():
                self._asking.popleft()
            worker.take(self._deliver(message, worker))
        self._handing_over = False

    def _deliver(self, message: Message, worker: Worker) -> Delivery:
        ledger = self._ledger
        message.receives += 1
        message.state = State.IN_FLIGHT
        ends = self._clock.after(self._lease) if self._lease else math.inf
        message.latest = delivery = Delivery(
            message, worker, ledger.deliveries, message.receives, ends
        )
        ledger.deliveries += 1
        self._note(Event.RECEIVED, delivery, ends)
        if ends < math.inf:
            self._leases.watch(delivery)
        return delivery

    def _expire(self, delivery: Delivery) -> None:
        self._note(Event.EXPIRED, delivery)
        self._take_back(delivery.message, self._clock.now)

    def _take_back(self, message: Message, visible_at: float) -> None:
        message.state = State.DELAYED
        if message.receives >= self._limit_on_return:
            self._dead_letter(message)
        elif visible_at > self._clock.now:
            self._clock.at(visible_at, lambda _: self._reveal(message), EXPIRY)
        else:
            self._reveal(message)

    def _reveal(self, message: Message) -> None:
        if message.state is State.DELAYED:
            message.state = State.VISIBLE
            self._record(self._clock.now, Event.VISIBLE, message.job.id)
            self._put_back(message)
            self.hand_over()

    def _give_up(self, message: Message) -> None:
        if message.receives < self._max_receives:
            raise NeverSettles(
                f"Job {message.job.id} was delivered {message.receives:,} times and is still not "
                "settled: give the scenario a horizon, or the broker a limit of receives."
            )
        self._dead_letter(message)

    def _dead_letter(self, message: Message) -> None:
        before = message.settle(State.DEAD_LETTERED)
        self._record(self._clock.now, Event.DEAD_LETTERED, message.job.id, value=before)

    def _note(self, event: int, delivery: Delivery, value: float = math.nan) -> None:
        job, worker = delivery.message.job.id, delivery.worker.number
        self._record(self._clock._now, event, job, delivery.number, worker, value)
