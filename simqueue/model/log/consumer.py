"""A consumer: a worker that polls its partitions, runs the handler on what it got, and commits.

With one slot, one thread does it all: it polls again when everything is done that the last poll
returned. With more, the polling thread hands records over to as many threads and polls on.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

from simqueue.context import Retry
from simqueue.model.clock import EXPIRY, RECEIVE
from simqueue.model.ledger import Event
from simqueue.model.log.membership import GroupMember
from simqueue.model.log.partitions import Reading

if TYPE_CHECKING:
    from simqueue.model.log.partitions import Holding
    from simqueue.model.message import Delivery


class Consumer(GroupMember):
    """A member of the group that polls and works."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._poll_due = False
        self._fills_slots = False
        self._watches_poll = False
        self._turn = 0

    def _forget_all(self) -> None:
        super()._forget_all()
        self._buffer: deque[Reading] = deque()
        self._waiting = True
        self._in_batch = False
        self._poll_by = math.inf

    # What others may ask.

    @property
    def places(self) -> int:
        """One: the process polls."""
        return 1

    @property
    def held(self) -> list[Delivery]:
        """All records that polls have returned and that are not done, running or waiting."""
        return [*super().held, *self._buffer]

    def has(self, delivery: Delivery) -> bool:
        """Whether `delivery` is in this process."""
        return delivery.number in self.running or delivery in self._buffer

    def keeps(self, delivery: Delivery) -> bool:
        """Whether `delivery` runs: what waits may be committed all the same."""
        return delivery.number in self.running

    @property
    def polls_on(self) -> bool:
        """Whether it polls just now, again and again: as it waits, or as others do the work."""
        return self._hands_off or self._waiting

    @property
    def _is_busy(self) -> bool:
        return bool(self.running or self._buffer)

    # Polling.

    def ask(self) -> None:
        """Poll, once all else of this instant has happened."""
        if self._is_new:
            self._is_new = False
            self._commits.start()
        if not self._poll_due:
            self._poll_due = True
            self.clock.at(self.clock.now, self._poll, RECEIVE)

    def ask_once(self) -> None:
        """Begin to poll."""
        self.ask()

    def wake(self) -> None:
        """There is something to poll for: do it, unless the thread is at work."""
        if self._hands_off or not self._is_busy:
            self.ask()

    def keep_alive(self) -> float:
        """Poll from within the handler, for nothing but to stay a member. Return until when."""
        self._poll_by = self.clock.after(self._settings.max_poll_interval)
        return self._poll_by

    def _leave_line(self) -> None:
        """There is no line."""

    def _poll(self, _: object = None) -> None:
        self._poll_due = False
        if not self.accepts or self._then is not None or (self._is_busy and not self._hands_off):
            return
        if self.member is not None and self.member.removed:
            self.member = None
        if self.member is None or self._must_join:
            self._give_up(self._join)
            return
        if self.member.joined:
            return  # and waits for its assignment
        self._commits.polling()
        if not self.alive or self.member is None or len(self.running) >= self._concurrency:
            return
        until = math.inf
        if not self._hands_off:
            until = self.clock.after(self._settings.max_poll_interval)
        most = self._settings.max_poll_records
        found = [] if self._buffer else self._log.fetch(self._in_turn(), most, until)
        if found:
            self._got(found, until)
        elif not self._is_busy:
            self._waiting = True
            self._commits.waiting()

    def _in_turn(self) -> list[Holding]:
        """The holdings, the one first that comes after the one read last."""
        assert self.member is not None
        holdings = self.member.holdings
        return sorted(holdings, key=lambda held: (held.partition.index < self._turn,))

    def _got(self, found: list[Reading], until: float) -> None:
        self._waiting = False
        self._in_batch = True
        self._turn = found[-1].holding.partition.index + 1
        self._buffer.extend(found)
        self._watch_poll(until)
        self._commits.returned(list({reading.holding: None for reading in found}))
        if self.alive:
            self._next()

    def _watch_poll(self, until: float) -> None:
        self._poll_by = until
        if until < math.inf and not self._watches_poll:
            self._watches_poll = True
            self.clock.at(until, self._look_at_poll, EXPIRY)

    def _look_at_poll(self, _: object) -> None:
        """Leave the group if the last poll is too long ago: the client does that by itself."""
        self._watches_poll = False
        late = self._poll_by <= self.clock.now
        if late and self.paused_until > self.clock.now:
            self._watches_poll = True
            self.clock.at(self.paused_until, self._look_at_poll, EXPIRY)
        elif not late:
            self._watch_poll(self._poll_by)
        else:
            self._poll_by = math.inf
            self._leave("did not poll in time")

    # Working.

    def _next(self) -> None:
        """Give every free thread what waits. What ends at once comes here again, and returns."""
        if self._fills_slots:
            return
        self._fills_slots = True
        while self._buffer and len(self.running) < self._concurrency and self.alive:
            self._start(self._buffer.popleft())
        self._fills_slots = False
        if self.alive:
            self._look_what_is_done()

    def _look_what_is_done(self) -> None:
        if self._drain is not None and not self._is_draining():
            self._hand_back()
        if not self._is_busy and self._in_batch:
            self._in_batch = False
            self._poll_by = math.inf
            self._commits.batch_done()
            if not self.alive:
                return
        if self._closing and not self._is_busy and self._then is None:
            self._give_up(self._close)
        elif self._hands_off or not self._is_busy:
            self.ask()

    def _settle(self, delivery: Delivery, error: Exception | None) -> None:
        assert isinstance(delivery, Reading)
        if error is None:
            self._log.ack(delivery)
        else:
            after = getattr(error, "after", None)
            self._log.fail(delivery, after, asked=isinstance(error, Retry))
        self._commits.done(delivery.holding)

    def put_aside(self, holding: Holding) -> list[Reading]:
        """Take out of the buffer, and return, what it has of `holding`."""
        aside = [reading for reading in self._buffer if reading.holding is holding]
        if aside:
            self._buffer = deque(r for r in self._buffer if r.holding is not holding)
        return aside

    def lose_slot(self, delivery: Delivery) -> None:
        """What ran `delivery` dies, and the process notices: as if the handler had raised."""
        self.running.pop(delivery.number).kill()
        job = delivery.message.job.id
        self._record(self.clock.now, Event.CRASHED, job, delivery.number, self.number)
        self._log.lose_slot(delivery)
        self._next()
