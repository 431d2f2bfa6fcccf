"""Where messages wait, come back to, and end: what a lease queue does whatever its leases are.

A message that was handed over comes back, at once or later, or is given up when its attempts are
used up. Then it is dead-lettered, or dropped.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY, RECEIVE
from simqueue.model.ledger import Event
from simqueue.model.message import Message, State

if TYPE_CHECKING:
    from simqueue.model.attempts import Stalls
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.lines import Line
    from simqueue.model.message import Delivery
    from simqueue.model.polls import Polls
    from simqueue.model.settings import LeaseSettings
    from simqueue.model.worker import Worker


class Circulation:
    """The line of visible messages, those that are hidden until later, and the dead letters."""

    def __init__(
        self,
        settings: LeaseSettings,
        clock: Clock,
        ledger: Ledger,
        *,
        line: Line,
        stalls: Stalls | None,
        polls: Polls | None,
        endless: bool,
    ) -> None:
        # A limit is looked at where the broker notices it: as a message comes back, or as it is
        # asked for; at the other place there is none.
        limit = math.inf if settings.max_attempts is None else settings.max_attempts
        on_return = settings.exhaustion == "return"
        self._limit_on_return = limit if on_return else math.inf
        self._limit_on_receive = math.inf if on_return else limit
        self._stalls = stalls
        self._polls = polls
        self._counts = settings.counts
        self._drops = settings.exhausted == "drop"
        # Dead letters are settled, and a run without a horizon ends when all is.
        self._retention_of_dead = settings.retention_of_dead and endless
        self._dead_letter_retention = settings.dead_letter_retention if endless else None
        self._clock = clock
        self._ledger = ledger
        self._record = ledger.record
        self._visible = line
        self._asking: deque[Worker] = deque()
        self._handing_over = False
        self._hand_over_due = False
        self.dead_letters: list[Message] = []
        self._dead_until: dict[Message, float] = {}

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

    def _hand_over(self, _: object) -> None:
        raise NotImplementedError

    def end_retention(self, message: Message) -> None:
        """Remove `message`, wherever it is, unless it is settled."""
        if message.state == State.DEAD_LETTERED and self._retention_of_dead:
            self._end_dead_letter(message)
        elif message.state < State.ACKED:
            before = message.settle(State.EXPIRED)
            self._record(self._clock.now, Event.MESSAGE_EXPIRED, message.job.id, value=before)
            self._visible.freed(message)
            self.hand_over()

    def redrive(self) -> None:
        """Put all dead-lettered messages back into the queue, with their attempts forgotten."""
        for message in self.dead_letters:
            message.attempts = 0
            self._record(self._clock.now, Event.REDRIVEN, message.job.id)
            message.open_again()
            self._visible.put_back(message)
        self.dead_letters.clear()
        self.hand_over()

    def is_exhausted(self, message: Message) -> bool:
        """Give `message` up if its limit is reached as somebody asks for it; whether it was."""
        exhausted = message.attempts >= self._limit_on_receive
        if exhausted:
            self._exhaust(message)
        return exhausted

    def _return(self, message: Message, cause: str, visible_at: float) -> None:
        message.attempts += cause in self._counts
        message.failed = cause == "slot lost"  # its process lives, and has given it back
        message.state = State.DELAYED
        if self._stalls is not None and self._stalls.exhaust(message, cause):
            self._exhaust(message)
        else:
            self._come_back(message, visible_at)

    def _come_back(self, message: Message, visible_at: float) -> None:
        message.state = State.DELAYED
        if self._limit_on_return <= message.attempts < math.inf:
            self._exhaust(message)
        elif visible_at > self._clock.now:
            self._hide(message, visible_at)
        else:
            self._reveal(message)

    def _hide(self, message: Message, visible_at: float) -> None:
        if self._polls is not None:
            visible_at = self._polls.next(visible_at)
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
        if self._dead_letter_retention is not None:
            self._keep_dead_letter(message, self._clock.after(self._dead_letter_retention))
        self._visible.freed(message)
        self.hand_over()

    def _keep_dead_letter(self, message: Message, until: float) -> None:
        self._dead_until[message] = until

        def end(_: object) -> None:
            if self._dead_until.get(message) == until:  # else it was redriven, and is here again
                del self._dead_until[message]
                self._end_dead_letter(message)

        self._clock.at(until, end)

    def _end_dead_letter(self, message: Message) -> None:
        if message.state == State.DEAD_LETTERED and message in self.dead_letters:
            message.state = State.EXPIRED
            self.dead_letters.remove(message)
            self._record(self._clock.now, Event.DEAD_LETTER_EXPIRED, message.job.id)

    def _note(self, event: int, delivery: Delivery, value: float = math.nan) -> None:
        job, worker = delivery.message.job.id, delivery.worker.number
        self._record(self._clock._now, event, job, delivery.number, worker, value)
