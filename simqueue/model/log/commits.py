"""When a consumer commits, and what: the choice between losing records and doing them twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY

if TYPE_CHECKING:
    from simqueue.model.log.membership import GroupMember
    from simqueue.model.log.partitions import Holding


class Commits:
    """One consumer's habit. A subclass says at which of these moments it commits.

    `pending` are the holdings that may have something to commit; they stay there when the partition
    is gone, as nobody tells.
    """

    def __init__(self, consumer: GroupMember, interval: float) -> None:
        self._consumer = consumer
        self._interval = interval
        self._pending: dict[Holding, None] = {}

    def start(self) -> None:
        """The process starts, with nothing in it."""
        self._pending.clear()

    def polling(self) -> None:
        """A poll begins."""

    def returned(self, holdings: list[Holding]) -> None:
        """A poll has returned records of `holdings`, which nobody has looked at yet."""

    def waiting(self) -> None:
        """A poll has returned nothing: the consumer polls on until one does."""

    def done(self, holding: Holding) -> None:
        """The handler is done with a record of `holding`."""

    def batch_done(self) -> None:
        """All is done that the poll returned."""

    def giving_up(self) -> None:
        """The consumer is about to give its partitions up; what runs may be waited for."""

    def given_up(self) -> None:
        """Now it gives them up."""

    def heard_again(self) -> None:
        """The way to the broker is open again."""
        self._commit_all()

    def reach(self, holding: Holding) -> int:
        """The offset that a commit says now."""
        return holding.done

    def forget(self, holding: Holding) -> None:
        """Commit nothing more of `holding`: the coordinator has refused it."""
        self._pending.pop(holding, None)

    def _note(self, holdings: list[Holding]) -> None:
        for holding in holdings:
            self._pending[holding] = None

    def _commit_all(self) -> None:
        for holding in list(self._pending):
            if self._consumer.alive:
                self._consumer.commit(holding, self.reach(holding))
            if not holding.current and not holding.unsettled:
                self._pending.pop(holding, None)

    @property
    def _has_news(self) -> bool:
        return any(self.reach(holding) > holding.sent for holding in self._pending)


class After(Commits):
    """After each record, and waits for the answer."""

    def done(self, holding: Holding) -> None:
        """Commit it."""
        self._pending[holding] = None
        self._consumer.commit(holding, holding.done)

    def given_up(self) -> None:
        """Commit what has not been, for a commit that got lost."""
        self._commit_all()


class AfterBatch(Commits):
    """When all is done that a poll returned."""

    def returned(self, holdings: list[Holding]) -> None:
        """Remember what to commit."""
        self._note(holdings)

    def batch_done(self) -> None:
        """Commit it all."""
        self._commit_all()

    def given_up(self) -> None:
        """Commit what is done of it."""
        self._commit_all()


class Before(Commits):
    """As soon as a poll has returned, before anything is done: at most once."""

    def returned(self, holdings: list[Holding]) -> None:
        """Commit it all."""
        self._note(holdings)
        self._commit_all()

    def reach(self, holding: Holding) -> int:
        """All that was returned."""
        return holding.position


class Ticking(Commits):
    """Every so many seconds. Nothing is planned for a tick that has nothing to commit."""

    def __init__(self, consumer: GroupMember, interval: float) -> None:
        super().__init__(consumer, interval)
        self._from = 0.0
        self._planned: object | None = None

    def start(self) -> None:
        """The ticks count from the start of the process."""
        super().start()
        self._from = self._consumer.clock.now
        self._planned = None

    def given_up(self) -> None:
        """Commit once more."""
        self._commit_all()

    def heard_again(self) -> None:
        """What could not be committed is, at the next tick."""
        self._plan()

    def _plan(self) -> None:
        if self._planned is None and self._has_news:
            clock = self._consumer.clock
            ticks = math.floor((clock.now - self._from) / self._interval + 1e-9) + 1
            self._planned = planned = object()
            at = clock.after(self._from + ticks * self._interval - clock.now)
            clock.at(at, lambda _: self._tick(planned), EXPIRY)

    def _tick(self, planned: object) -> None:
        if self._planned is not planned or not self._consumer.alive:
            return
        clock, paused_until = self._consumer.clock, self._consumer.paused_until
        if paused_until > clock.now:
            clock.at(paused_until, lambda _: self._tick(planned), EXPIRY)
            return
        self._planned = None
        if not self._consumer.is_cut_off:
            self._commit_all()
            self._plan()


class Background(Ticking):
    """A thread of the client's commits, every so often, all that was handed to the handler."""

    def returned(self, holdings: list[Holding]) -> None:
        """All of this counts from now on."""
        self._note(holdings)
        self._plan()

    def reach(self, holding: Holding) -> int:
        """All that was returned, done or not."""
        return holding.returned


class Stored(Ticking):
    """The same, but only what is done."""

    def done(self, holding: Holding) -> None:
        """It counts from now on."""
        self._pending[holding] = None
        self._plan()


class Auto(Commits):
    """Inside poll, if the last time is long enough ago: all that earlier polls returned.

    Where one thread polls and works, that is done. Where the work is handed to other threads, it is
    perhaps not.
    """

    def __init__(self, consumer: GroupMember, interval: float) -> None:
        super().__init__(consumer, interval)
        self._due = math.inf
        self._planned: object | None = None

    def start(self) -> None:
        """The time counts from the start of the process."""
        super().start()
        self._due = self._consumer.clock.after(self._interval)
        self._planned = None

    def polling(self) -> None:
        """Commit, if it is time."""
        consumer = self._consumer
        now = consumer.clock.now
        if now >= self._due:
            if consumer.polls_on:  # it has polled all the while, and each time when it was due
                missed = math.floor((now - self._due) / self._interval + 1e-9) + 1
                self._due = consumer.clock.after(self._due + missed * self._interval - now)
            else:
                self._due = consumer.clock.after(self._interval)
            self._commit_all()

    def returned(self, holdings: list[Holding]) -> None:
        """The next polls commit this."""
        self._note(holdings)
        if self._consumer.polls_on:
            self._plan()

    def waiting(self) -> None:
        """One of the next polls commits what has not been yet."""
        self._plan()

    def giving_up(self) -> None:
        """Commit, whatever the time."""
        self._commit_all()

    def reach(self, holding: Holding) -> int:
        """All that was returned, done or not."""
        return holding.returned

    def _plan(self) -> None:
        """Let the poll at the time that it is due be made: a consumer that waits polls on."""
        if self._planned is None and self._has_news:
            self._planned = planned = object()
            due = max(self._due, self._consumer.clock.now)

            def poll(_: object) -> None:
                if self._planned is planned:
                    self._planned = None
                    self._consumer.wake()

            self._consumer.clock.at(due, poll)


KINDS: dict[str, type[Commits]] = {
    "after": After,
    "after_batch": AfterBatch,
    "before": Before,
    "background": Background,
    "stored": Stored,
    "auto": Auto,
}
