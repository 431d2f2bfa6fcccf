"""What a consumer does with a record whose handler raised. The broker knows nothing of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from simqueue.model.clock import EXPIRY
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.log.log import Log
    from simqueue.model.log.partitions import Reading
    from simqueue.model.log.settings import LogSettings

RetryDelay = Callable[["Reading"], float]


class OnFailure(Protocol):
    """Decides what becomes of a record that failed."""

    def failed(self, log: Log, reading: Reading, after: float | None) -> None:
        """`after` is the delay in seconds that the handler asks for, if it does."""


class GivingUp:
    """Passes over the record: to the dead-letter topic, or for good."""

    def __init__(self, *, dead_letter: bool) -> None:
        self._dead_letter = dead_letter

    def failed(self, log: Log, reading: Reading, after: float | None) -> None:  # noqa: ARG002
        """Whoever commits next commits past it."""
        if reading.holding.current:
            if self._dead_letter:
                log.bury(reading)
            else:
                log.note(Event.SKIPPED, reading)
        log.finish(reading)


class TryingAgain:
    """Common to those who try again: at most `limit` times in all, and then `give_up`."""

    def __init__(self, limit: float, delay: RetryDelay, give_up: GivingUp) -> None:
        self._limit = limit
        self._delay = delay
        self._give_up = give_up

    def failed(self, log: Log, reading: Reading, after: float | None) -> None:
        """Try again later, unless that was the last time or somebody else has it by now."""
        if not reading.holding.current:
            return
        if reading.record.attempts >= self._limit:
            self._give_up.failed(log, reading, after)
        else:
            delay = self._delay(reading) if after is None else after
            self.try_again(log, reading, log.clock.after(delay))

    def try_again(self, log: Log, reading: Reading, until: float) -> None:
        """Do it at `until`, in seconds."""
        raise NotImplementedError


class Stopping(TryingAgain):
    """Stays at the record until it succeeds: nothing behind it in its partition is done meanwhile.

    Other partitions go on. What the same poll returned from behind the record is read again.
    """

    def try_again(self, log: Log, reading: Reading, until: float) -> None:
        """Seek back to the record, and leave its partition alone for a while."""
        holding = reading.holding
        log.hide(reading, until)
        holding.read_again(reading.offset)
        holding.blocked += 1
        for waiting in holding.consumer.put_aside(holding):
            if waiting.record.is_held_by(waiting):
                log.put_back(waiting)
            holding.unsettled.pop(waiting.offset, None)
            holding.read_again(waiting.offset)

        def go_on(_: object) -> None:
            if holding.current:
                log.reveal(reading.record)
                holding.blocked -= 1
                holding.consumer.wake()

        log.clock.at(until, go_on, EXPIRY)


class RetryTopic(TryingAgain):
    """Sends the record to the end of the line, after a delay; nothing waits for it."""

    def try_again(self, log: Log, reading: Reading, until: float) -> None:
        """Pass over it here, and append it anew."""
        reading.holding.unsettled.pop(reading.offset, None)
        log.move(reading, until)
        reading.holding.finish(reading.offset)


def on_failure(settings: LogSettings, delay: RetryDelay) -> OnFailure:
    """Return what consumers with these `settings` do; `delay` draws how long a retry waits."""
    give_up = GivingUp(dead_letter=settings.dead_letter)
    if settings.on_failure == "skip":
        return give_up
    limit = math.inf if settings.max_attempts is None else settings.max_attempts
    kind = Stopping if settings.on_failure == "stop" else RetryTopic
    return kind(limit, delay, give_up)
