"""What stands between a producer and the queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from simqueue.model.ledger import Event
from simqueue.model.message import Message, State

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.randomness import Stream


class Publish(Protocol):
    """Puts a message into the queue."""

    def __call__(self, message: Message) -> None:
        """Do it."""


class PublishLater(Protocol):
    """Puts a message into the queue, to be visible later."""

    def __call__(self, message: Message, delay: float) -> None:
        """Do it: `delay` is in seconds."""


class Deduplicating:
    """Swallows a second publish of the same key within a window; its producer sees success.

    The window starts with the first publish; `refreshes`: each later one starts it anew. What
    becomes of the message meanwhile does not matter (SQS FIFO goes on after the delete).
    """

    def __init__(
        self, publish: Publish, clock: Clock, ledger: Ledger, *, window: float, refreshes: bool
    ) -> None:
        self._publish = publish
        self._clock = clock
        self._record = ledger.record
        self._window = window
        self._refreshes = refreshes
        self._until: dict[str, float] = {}

    def __call__(self, message: Message) -> None:
        """Publish `message`, unless its key is known."""
        key, now = key_of(message), self._clock.now
        known = now < self._until.get(key, -math.inf)
        if not known or self._refreshes:
            self._until[key] = self._clock.after(self._window)
        if known:
            self._record(now, Event.PUBLISHED, message.job.id, value=State.VISIBLE)
            self._record(now, Event.DEDUPLICATED, message.job.id)
        else:
            self._publish(message)


class DeduplicatingUnsettled:
    """Swallows a publish while a message with its key is on its way, and for a while after.

    How the message was settled does not matter: one that was dead-lettered is known too.
    """

    def __init__(
        self, publish: Publish, clock: Clock, ledger: Ledger, *, seconds_after: float
    ) -> None:
        self._publish = publish
        self._clock = clock
        self._record = ledger.record
        self._seconds_after = seconds_after
        self._open: dict[str, set[Message]] = {}
        self._until: dict[str, float] = {}

    def __call__(self, message: Message) -> None:
        """Publish `message`, unless its key is known."""
        key, now = key_of(message), self._clock.now
        if self._open.get(key) or now < self._until.get(key, -math.inf):
            self._record(now, Event.PUBLISHED, message.job.id, value=State.VISIBLE)
            self._record(now, Event.DEDUPLICATED, message.job.id)
            return
        self._open.setdefault(key, set()).add(message)
        message.tell_when_settled(self._settled)
        self._publish(message)

    def _settled(self, message: Message) -> None:
        key = key_of(message)
        if message.state < State.ACKED:  # it was redriven, or replayed
            self._open[key].add(message)
        else:
            self._open[key].discard(message)
            self._until[key] = self._clock.now + self._seconds_after


def key_of(message: Message) -> str:
    """Return what a broker that dedupes goes by."""
    return message.dedupe_key or message.job.key


class Waiting:
    """Keeps a job that is not due yet until it is, in the broker."""

    def __init__(self, publish: Publish, publish_later: PublishLater, clock: Clock) -> None:
        self._publish = publish
        self._publish_later = publish_later
        self._clock = clock

    def __call__(self, message: Message) -> None:
        """Publish `message`, to be visible when its job is due."""
        seconds = message.job.due - self._clock.now
        if seconds > 0:
            self._publish_later(message, seconds)
        else:
            self._publish(message)


class SecondCopies:
    """Makes a second message of some: the broker's own duplicates."""

    def __init__(self, publish: Publish, copies: Stream) -> None:
        self._publish = publish
        self._copies = copies

    def __call__(self, message: Message) -> None:
        """Publish `message`, and for some jobs another one."""
        self._publish(message)
        if self._copies.draw(message.job.id):
            self._publish(Message(message.job))


class Resent(Message):
    """A second copy of a message, made by its producer's client: nobody asked for it."""

    __slots__ = ()


class Resending:
    """A producer that publishes again, `after` seconds later, when it hears no reply.

    The reply is lost with the probability of the draws in `is_lost`; the message has arrived.
    """

    def __init__(
        self,
        publish: Publish,
        is_lost: Stream,
        clock: Clock,
        ledger: Ledger,
        *,
        after: float,
        then: Callable[[], None],
    ) -> None:
        self._publish = publish
        self._is_lost = is_lost
        self._clock = clock
        self._record = ledger.record
        self._after = after
        self._then = then

    def __call__(self, message: Message) -> None:
        """Publish `message`, and again for as long as the reply is lost."""
        self._send(message, 1)

    def _send(self, message: Message, sends: int) -> None:
        self._publish(message)
        if self._is_lost.draw(message.job.id, sends):
            self._record(self._clock.now, Event.PUBLISH_RESPONSE_LOST, message.job.id)
            again = self._clock.after(self._after)
            self._clock.at(again, lambda _: self._resend(message, sends + 1))

    def _resend(self, message: Message, sends: int) -> None:
        self._send(Resent(message.job, message.dedupe_key), sends)
        self._then()
