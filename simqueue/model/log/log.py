"""The log: records stay where they are, and a group remembers how far it has come.

Nothing is hidden, acked or given back one by one. A partition belongs to one consumer of the group
at a time, who reads it in order and commits, now and then, the offset up to which it is done.
Whatever lies behind the last commit is read again by whoever gets the partition next: that is where
a log's duplicates come from. Whatever a commit covered and nobody did is lost.

For the ledger a record is visible until a poll returns it, in flight until a commit covers it or
its partition is taken away, and acked below the committed offset.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from simqueue.model.clock import EXPIRY, RECEIVE
from simqueue.model.ledger import Event, row
from simqueue.model.log.group import Group
from simqueue.model.log.partitions import MOVED, Holding, Partition, Reading, Record
from simqueue.model.message import Delivery, State
from simqueue.model.progress import check_progress

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.ledger import Ledger
    from simqueue.model.log.failures import OnFailure
    from simqueue.model.log.membership import GroupMember
    from simqueue.model.log.settings import LogSettings
    from simqueue.model.message import Message
    from simqueue.model.worker import Worker


class Log:
    """The partitions, and what producers and consumers do with them."""

    def __init__(
        self,
        settings: LogSettings,
        clock: Clock,
        ledger: Ledger,
        *,
        on_failure: OnFailure,
        endless: bool = False,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.ledger = ledger
        self.partitions = [Partition(index) for index in range(settings.partitions)]
        self.group = Group(self)
        self.dead_letters: list[Record] = []
        self._by_group = settings.partition_by == "group"
        self._on_failure = on_failure
        self._endless = endless
        self._record = ledger.record
        self._write = ledger.write
        self._fresh: dict[Partition, None] = {}
        self._hand_over_due = False

    # What producers do.

    def publish(self, message: Message) -> Record:
        """Append a record for `message`; call `hand_over` once all of this instant are in."""
        record = Record(message)
        self._append(record)
        now = self.clock._now
        self._write(row(now, Event.PUBLISHED, record.job.id, -1, -1, record.state))
        return record

    def hand_over(self) -> None:
        """Tell consumers who wait that there is something, once all else has happened."""
        if self._fresh and not self._hand_over_due:
            self._hand_over_due = True
            self.clock.at(self.clock._now, self._wake, RECEIVE)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let all that happens inside come before the next poll, as it does anyway."""
        yield

    # What consumers do.

    def ask(self, worker: Worker) -> None:
        """`worker` wants records: it polls."""
        worker.ask()

    def receive_more(self, delivery: Delivery) -> None:
        """A poll returns at once all that it may: there is no more."""

    def withdraw(self, worker: Worker) -> None:
        """`worker` polls no more; its partitions stay with it for as long as it is a member."""

    def fetch(self, holdings: list[Holding], most: int, until: float) -> list[Reading]:
        """Return what a poll gets: up to `most` records, from one partition after the other."""
        found: list[Reading] = []
        for holding in holdings:
            while len(found) < most and holding.has_more:
                offset = holding.next_offset()
                record = holding.partition.record_at(offset)
                if record is None:
                    holding.finish(offset)
                else:
                    found.append(self._read(record, holding, until))
        return found

    def ack(self, delivery: Delivery) -> None:
        """A consumer is done with a record. The group hears of it by the next commit."""
        assert isinstance(delivery, Reading)
        self.finish(delivery)

    def fail(
        self,
        delivery: Delivery,
        after: float | None = None,
        *,
        asked: bool = False,  # noqa: ARG002 - to a log it makes no difference
    ) -> None:
        """A consumer's handler raised; `after`: it asked to be called again so much later."""
        assert isinstance(delivery, Reading)
        record = delivery.record
        if delivery.holding.current:
            record.failures += 1
            record.attempts += 1
        self._on_failure.failed(self, delivery, after)

    def commit(self, holding: Holding, offset: int) -> bool:
        """All below `offset` is done, says the consumer of `holding`; False if it may not say so.

        Where commits are not fenced, whoever writes last is right, and the offset can go back.
        """
        covered = holding.covered_by(offset)
        if self.settings.fenced and not holding.may_commit:
            for reading in covered:
                self.note(Event.ACK_REFUSED, reading)
            return False
        for reading in covered:
            del holding.unsettled[reading.offset]
        holding.committed = offset
        partition = holding.partition
        before, partition.committed = partition.committed, offset
        for reading in covered:
            self._settle(reading.record, reading)
        for place in range(before, offset):
            record = partition.places[place]
            if record is not None and record.offset == place:
                self._settle(record, record.read_by)
            self._forget(holding, place)
        for place in range(offset, before):
            record = partition.places[place]
            if record is not None and record.offset == place and record.state == State.ACKED:
                self._open(record)
        return True

    def extend(self, delivery: Delivery, _seconds: float) -> bool:
        """The handler polls, to stay a member; False where its partition has been taken away.

        How long that lasts is not its choice: it is the longest time between two polls.
        """
        assert isinstance(delivery, Reading)
        if not delivery.holding.may_commit:
            return False
        until = delivery.holding.consumer.keep_alive()
        self.note(Event.EXTENDED, delivery, until)
        return True

    def requeue(self, deliveries: Iterable[Delivery]) -> None:
        """A log takes nothing back; it never gave anything away."""

    def done_with(self, delivery: Delivery) -> None:
        """Nothing: what a consumer says is a commit, and the next one covers this record too."""

    def lose_slot(self, delivery: Delivery) -> None:
        """A thread died; its process goes on as if the handler had raised."""
        assert isinstance(delivery, Reading)
        self.fail(delivery)
        delivery.holding.consumer.settled(delivery.holding)

    # What becomes of records.

    def give(self, partition: Partition, consumer: GroupMember) -> Holding:
        """Assign `partition` to `consumer`, who begins to read at the committed offset."""
        partition.holding = Holding(partition, consumer)
        return partition.holding

    def take_away(self, holding: Holding) -> None:
        """End a holding: what no commit covered can be read again by whoever is next."""
        holding.current = False
        holding.partition.holding = None
        for reading in holding.unsettled.values():
            record = reading.record
            if record.read_by is not reading or record.offset != reading.offset:
                continue
            self.reveal(record)
            self.put_back(reading)

    def finish(self, reading: Reading) -> None:
        """The consumer is done with the record of `reading`, in one way or another."""
        holding, offset = reading.holding, reading.offset
        holding.finish(offset)
        if offset < holding.partition.committed and reading.record.read_by is reading:
            self._settle(reading.record, reading)
            self._forget(holding, offset)

    def put_back(self, reading: Reading) -> None:
        """Let the record of `reading` be open again, or done if a commit has passed it."""
        record = reading.record
        if reading.offset < reading.holding.partition.committed:
            self._settle(record, reading)
        elif record.state == State.IN_FLIGHT:
            record.state = State.VISIBLE
            self.note(Event.REVOKED, reading)

    def hide(self, reading: Reading, until: float) -> None:
        """Let nobody read the record of `reading` before `until`, in seconds.

        If a commit has passed it, it is done as far as the group knows, and stays so.
        """
        if reading.record.is_held_by(reading):
            self.note(Event.NACKED, reading, until)
            reading.record.state = State.DELAYED

    def reveal(self, record: Record) -> None:
        """Let a record that was hidden be read again."""
        if record.state == State.DELAYED:
            record.state = State.VISIBLE
            self._record(self.clock.now, Event.VISIBLE, record.job.id)

    def move(self, reading: Reading, until: float) -> None:
        """Append the record of `reading` anew at `until`, in seconds: it is done at its place."""
        record = reading.record
        if record.state == State.ACKED:  # a commit has passed it, and yet it is not done
            self._open(record)
        self.hide(reading, until)
        record.offset = MOVED

        def arrive(_: object) -> None:
            if record.offset == MOVED and record.state < State.ACKED:
                self.reveal(record)
                self._append(record)
                self.hand_over()

        self.clock.at(until, arrive, EXPIRY)

    def bury(self, reading: Reading) -> None:
        """Put the record of `reading` into the dead-letter topic: it is done at its place."""
        record = reading.record
        if record.state == State.ACKED:
            self._open(record)
        if record.state < State.ACKED:
            self.dead_letters.append(record)
            before = record.settle(State.DEAD_LETTERED)
            self._record(self.clock.now, Event.DEAD_LETTERED, record.job.id, value=before)

    def redrive(self) -> None:
        """Append all dead-lettered records anew, with their attempts forgotten."""
        for record in self.dead_letters:
            record.attempts = 0
            self._record(self.clock.now, Event.REDRIVEN, record.job.id)
            self._append(record)
        self.dead_letters.clear()
        self.hand_over()

    def end_retention(self, record: Record) -> None:
        """Delete `record` for its age, whether anybody has read it or not."""
        if record.state < State.ACKED:
            before = record.settle(State.EXPIRED)
            self._record(self.clock.now, Event.MESSAGE_EXPIRED, record.job.id, value=before)

    def note(self, event: int, delivery: Delivery, value: float = math.nan) -> None:
        """Write a row about `delivery`."""
        job, worker = delivery.message.job.id, delivery.worker.number
        self._record(self.clock._now, event, job, delivery.number, worker, value)

    def _append(self, record: Record) -> None:
        record.state = State.VISIBLE
        job, count = record.job, len(self.partitions)
        partition = self.partitions[(job.group if self._by_group else job.id) % count]
        partition.append(record)
        self._fresh[partition] = None

    def _wake(self, _: object) -> None:
        self._hand_over_due = False
        fresh, self._fresh = self._fresh, {}
        for partition in fresh:
            if partition.holding is not None:
                partition.holding.consumer.wake()

    def _read(self, record: Record, holding: Holding, until: float) -> Reading:
        if record.state == State.ACKED:  # somebody else's commit has passed it
            self._open(record)
        record.receives += 1
        if record.receives > record.patience:
            check_progress(record, self.clock.now, endless=self._endless)
        record.state = State.IN_FLIGHT
        record.job.turns += 1
        ledger, now = self.ledger, self.clock._now
        number, ledger.deliveries = ledger.deliveries, ledger.deliveries + 1
        reading = Reading(record, holding, number, now, until)
        record.latest = record.read_by = holding.unsettled[record.offset] = reading
        worker = holding.consumer.number
        self._write(row(now, Event.RECEIVED, record.job.id, number, worker, until))
        return reading

    def _settle(self, record: Record, reading: Reading | None) -> None:
        if record.state < State.ACKED:
            assert reading is not None, "nobody commits what nobody has read"
            before = record.settle(State.ACKED)
            job, number, worker = record.job.id, reading.number, reading.worker.number
            self._write(row(self.clock._now, Event.ACKED, job, number, worker, before))

    def _forget(self, holding: Holding, offset: int) -> None:
        """Nobody reads a record again that is done and committed, if no offset can go back."""
        if self.settings.fenced and holding.current and offset < holding.done:
            holding.partition.places[offset] = None

    def _open(self, record: Record) -> None:
        record.state = State.VISIBLE
        self._record(self.clock._now, Event.REWOUND, record.job.id)
