"""The coordinator of a consumer group: who is a member, and who has which partitions.

The classic protocol, with eager rebalances: whenever somebody joins or leaves, all members give up
all partitions and join again, and when all have joined the partitions are dealt out anew. Members
hear of a rebalance in the answer to a heartbeat, and join when they next poll. The coordinator
waits for that as long as a poll may take; whoever has not joined by then is out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simqueue.grid import on_grid
from simqueue.model.clock import AFTER_RECEIVE, EXPIRY
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.model.log.log import Log
    from simqueue.model.log.membership import GroupMember
    from simqueue.model.log.partitions import Holding, Partition

EMPTY, PREPARING, STABLE = "empty", "preparing", "stable"


class Member:
    """A consumer as the coordinator knows it, from its joining until it is removed.

    A process that died and came back is another member: the old one has to be missed first.
    `joined`: it waits for the outcome of the rebalance that is on. `partitions` are those that it
    was assigned, `holdings` those of them that it has. `beats_from` is when it began to send
    heartbeats; `silence` stands for the coordinator's hearing nothing, None while it does.
    """

    def __init__(self, consumer: GroupMember, number: int) -> None:
        self.consumer = consumer
        self.order = (consumer.number, number)
        self.joined = False
        self.removed = False
        self.beats_from = consumer.clock.now
        self.silence: object | None = None
        self.partitions: list[Partition] = []
        self.holdings: list[Holding] = []


class Group:
    """The members, the generation, and the rebalance that is on, if one is."""

    def __init__(self, log: Log) -> None:
        self.generation = 0
        self._log = log
        self._clock = log.clock
        self._settings = log.settings
        self._members: dict[Member, None] = {}
        self._state = EMPTY
        self._round: object | None = None
        self._first_delay = False
        self._somebody_new = False
        self._entered = 0

    @property
    def is_rebalancing(self) -> bool:
        """Whether members are being waited for."""
        return self._state == PREPARING

    # What members say.

    def enter(self, consumer: GroupMember) -> Member:
        """`consumer` joins as a new member, or, if members are static, as the one that it was."""
        before = next((m for m in self._members if m.consumer is consumer), None)
        self._entered += 1
        member = Member(consumer, self._entered)
        self._members[member] = None
        if before is not None and self._settings.static_members:
            self._forget(before)
            if self._state == STABLE:
                self._assign(member, before.partitions)
                return member
        self._somebody_new = self._state == PREPARING and self.generation == 0
        self.join(member)
        return member

    def join(self, member: Member) -> None:
        """`member` is ready for a new assignment."""
        member.joined = True
        if self._state != PREPARING:
            self._begin()
        self._look_whether_all_joined()

    def leave(self, member: Member, why: str) -> None:
        """`member` is out, and all others get its partitions."""
        if member.removed:
            return
        reason = self._log.ledger.word(why)
        now, number = self._clock.now, member.consumer.number
        self._log.ledger.record(now, Event.LEFT_GROUP, worker=number, value=reason)
        self._forget(member)
        if not self._members:
            self._state, self._round = EMPTY, None
        elif self._state == STABLE:
            self._begin()
        else:
            self._look_whether_all_joined()

    def miss(self, member: Member, last_heartbeat: float) -> None:
        """From now on nothing is heard of `member`."""
        member.silence = silence = object()

        def give_up(_: object) -> None:
            if member.silence is silence:
                self.leave(member, "session timed out")

        self._clock.at(on_grid(last_heartbeat + self._settings.session_timeout), give_up, EXPIRY)

    # Rebalances.

    def _begin(self) -> None:
        now, self._round = self._clock.now, object()
        longest = self._settings.max_poll_interval
        self._first_delay = self._state == EMPTY
        self._state = PREPARING
        if self._first_delay:
            delay = self._settings.initial_rebalance_delay
            self._delay_first(on_grid(now + delay), on_grid(now + max(longest, delay)))
        else:
            self._complete_at(on_grid(now + longest))
        for member in list(self._members):
            if not member.joined:
                member.consumer.rebalance_begins(member)

    def _delay_first(self, until: float, at_most: float) -> None:
        """An empty group waits for more members; in its first generation as long as they come."""
        self._somebody_new = False
        this = self._round

        def go_on(_: object) -> None:
            if self._round is not this:
                return
            if self._somebody_new and until < at_most:
                delay = self._settings.initial_rebalance_delay
                self._delay_first(min(on_grid(until + delay), at_most), at_most)
            else:
                self._complete()

        self._clock.at(until, go_on, AFTER_RECEIVE)

    def _look_whether_all_joined(self) -> None:
        if not self._first_delay and all(member.joined for member in self._members):
            self._complete_at(self._clock.now)

    def _complete_at(self, time: float) -> None:
        this = self._round

        def complete(_: object) -> None:
            if self._round is this and self._state == PREPARING:
                self._complete()

        self._clock.at(time, complete, AFTER_RECEIVE)

    def _complete(self) -> None:
        """Deal the partitions out: each member gets a range of them, the first ones one more."""
        self._first_delay = False
        self._state, self._round = STABLE, None
        for member in [m for m in self._members if not m.joined]:
            reason = self._log.ledger.word("did not join in time")
            number = member.consumer.number
            self._log.ledger.record(self._clock.now, Event.LEFT_GROUP, worker=number, value=reason)
            self._forget(member)
        self.generation += 1
        self._log.ledger.record(self._clock.now, Event.REBALANCED, value=self.generation)
        if not self._members:
            self._state = EMPTY
            return
        partitions = self._log.partitions
        each, more = divmod(len(partitions), len(self._members))
        first = 0
        for place, member in enumerate(sorted(self._members, key=lambda m: m.order)):
            count = each + (place < more)
            self._assign(member, partitions[first : first + count])
            first += count

    def _assign(self, member: Member, partitions: list[Partition]) -> None:
        member.joined = False
        member.beats_from = self._clock.now
        consumer = member.consumer
        self._log.ledger.record(
            self._clock.now, Event.ASSIGNED, worker=consumer.number, value=len(partitions)
        )
        member.partitions = partitions
        member.holdings = [self._log.give(partition, consumer) for partition in partitions]
        consumer.wake()

    def _forget(self, member: Member) -> None:
        member.removed = True
        member.silence = None
        del self._members[member]
        for holding in member.holdings:
            self._log.take_away(holding)
        member.holdings = []
