"""Being a member of a consumer group: joining, leaving, falling silent, and saying what is done."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simqueue.model.clock import EXPIRY
from simqueue.model.log.commits import KINDS
from simqueue.model.log.heartbeats import Heartbeats
from simqueue.model.log.partitions import Reading
from simqueue.model.worker import Worker

if TYPE_CHECKING:
    from simqueue.model.log.group import Member
    from simqueue.model.log.log import Log
    from simqueue.model.log.partitions import Holding
    from simqueue.model.message import Delivery


class GroupMember(Worker):
    """A worker that is a member of a consumer group, when the group has it.

    `member` is what the worker believes: None as soon as it knows that it is out, not before.
    `is_cut_off`: a partition of the network keeps it from the broker. How it polls and works is the
    subclass's business.
    """

    def __init__(self, *args: Any, log: Log, **options: Any) -> None:
        super().__init__(*args, **options)
        settings = log.settings
        self.member: Member | None = None
        self.is_cut_off = False
        self._log = log
        self._group = log.group
        self._settings = settings
        self._beats = Heartbeats(self.clock, log.group, settings.heartbeat_interval)
        self._commits = KINDS[settings.commit](self, settings.auto_commit_interval)
        self._hands_off = self._concurrency > 1
        self._rejoins_at_once = settings.rejoin == "background"
        self._is_new = True
        self._forget_all()

    def _forget_all(self) -> None:
        """Be as a process that has just been started."""
        self.member = None
        self._must_join = False
        self._closing = False
        self._then: Callable[[], None] | None = None
        self._drain: object | None = None

    # What the subclass does.

    @property
    def polls_on(self) -> bool:
        """Whether it polls just now, again and again."""
        raise NotImplementedError

    @property
    def _is_busy(self) -> bool:
        """Whether anything runs, or waits to."""
        raise NotImplementedError

    def wake(self) -> None:
        """There is something to poll for."""
        raise NotImplementedError

    def keep_alive(self) -> float:
        """Poll for nothing but to stay a member. Return until when that is enough."""
        raise NotImplementedError

    def put_aside(self, holding: Holding) -> list[Reading]:
        """Take out of the buffer, and return, what it has of `holding`."""
        raise NotImplementedError

    @property
    def _is_silent(self) -> bool:
        return self.is_cut_off or self.paused_until > self.clock.now

    # Committing.

    def settled(self, holding: Holding) -> None:
        """A record of `holding` is dealt with, other than by its handler's end."""
        self._commits.done(holding)

    def commit(self, holding: Holding, offset: int) -> None:
        """Commit `offset`, if that is news. It travels as the ack of the last record it covers."""
        if offset <= holding.sent:
            return
        last = holding.last_below(offset)
        if last is not None and not self.reaches_broker(last):
            if not self.is_cut_off:
                holding.sent = offset  # it believes that the commit arrived
            return
        if not self.is_cut_off:
            holding.sent = offset
            if not self._log.commit(holding, offset):
                self._refused(holding)

    def _refused(self, holding: Holding) -> None:
        """The coordinator says that the partition is somebody else's: drop what is left of it."""
        self._commits.forget(holding)
        self.put_aside(holding)

    # Joining and leaving.

    def rebalance_begins(self, member: Member) -> None:
        """The coordinator waits for `member` to join; the next heartbeat tells it."""

        def hear(_: object) -> None:
            waited_for = self._group.is_rebalancing and not member.joined
            if self.member is member and waited_for and not self._is_silent:
                self._must_join = True
                if self.accepts and self._then is None:
                    if self._rejoins_at_once:
                        self._give_up(self._join)
                    else:
                        self.wake()

        self._beats.at_next(member, hear)

    def _give_up(self, then: Callable[[], None]) -> None:
        """Give all partitions up, after what runs if so set, and `then` go on."""
        self._then = then
        self._commits.giving_up()
        member = self.member
        if not self.alive or member is None:
            self._hand_back()
            return
        settings = self._settings
        for holding in member.holdings:
            holding.fenced = settings.fence_first
        if settings.on_revoke == "drain" and self._is_draining():
            self._drop_waiting(member)
            self._drain = drain = object()
            if settings.drain_limit < math.inf:
                limit = self.clock.after(settings.drain_limit)
                self.clock.at(limit, lambda _: self._end_drain(drain), EXPIRY)
        else:
            self._hand_back()

    def _is_draining(self) -> bool:
        """Whether something runs that belongs to what it is about to give up."""
        member = self.member
        return member is not None and any(
            isinstance(reading := execution.delivery, Reading) and reading.holding.current
            for execution in self.running.values()
        )

    def _end_drain(self, drain: object) -> None:
        if self._drain is drain:
            self._hand_back()

    def _drop_waiting(self, member: Member) -> None:
        for holding in member.holdings:
            self.put_aside(holding)

    def _hand_back(self) -> None:
        self._drain = None
        self._commits.given_up()
        then, self._then = self._then, None
        if not self.alive or then is None:
            return
        member = self.member
        if member is not None:
            if self._settings.on_revoke != "keep":
                self._drop_waiting(member)
            for holding in member.holdings:
                self._log.take_away(holding)
            member.holdings = []
        then()

    def _join(self) -> None:
        self._must_join = False
        if self.member is None or self.member.removed:
            self.member = self._group.enter(self)
        else:
            self._group.join(self.member)

    def _close(self) -> None:
        self._leave("closed")

    def _leave(self, why: str) -> None:
        """Say good-bye; a static member does not, it just falls silent."""
        member, self.member = self.member, None
        if member is not None:
            if self._settings.static_members or self.is_cut_off:
                self._beats.stop(member)
            else:
                self._group.leave(member, why)

    # What faults do.

    def stop_asking(self, reason: object, *, lasting: bool = False) -> None:
        """Poll no more until this `reason` is gone.

        A process that stands still sends no heartbeats either. One that is told to end does what
        it has, and leaves the group. A `lasting` reason is outside of the process.
        """
        super().stop_asking(reason, lasting=lasting)
        if self.paused_until > self.clock.now:
            self._fall_silent()
        elif not lasting:
            self._closing = True
            if self._hands_off or not self._is_busy:
                self._give_up(self._close)

    def go_on(self, reason: object) -> None:
        """Let this `reason` be gone."""
        if not any(self._held_back.get(r) for r in self._held_back if r is not reason):
            self.is_cut_off = False
        if not self._is_silent and self.alive:
            self._speak_again()
        if all(lasting for r, lasting in self._held_back.items() if r is not reason):
            self._closing = False
        super().go_on(reason)

    def cut_off(self, _held: list[Delivery]) -> None:
        """The broker hears nothing of this process, nor it of the broker."""
        if self.alive:
            self.is_cut_off = True
            self._fall_silent()

    def _fall_silent(self) -> None:
        if self.member is not None:
            self._beats.stop(self.member)

    def _speak_again(self) -> None:
        member = self.member
        if member is None or (member.silence is None and not member.removed):
            return
        if member.removed:
            self.member = None
            return
        self._beats.go_on(member)
        self._commits.heard_again()
        if self._group.is_rebalancing and not member.joined:
            self.rebalance_begins(member)

    def crash(self, *, silently: bool = False) -> None:
        """Die. The coordinator notices that no heartbeat comes any more."""
        member = self.member
        super().crash(silently=silently)
        if member is not None:
            self._beats.stop(member)
        self._forget_all()
        self.is_cut_off = self.is_cut_off and bool(self._held_back)
        self._is_new = True
