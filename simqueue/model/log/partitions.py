"""Partitions and their records; and a holding, one partition in one consumer's hands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simqueue.model.message import Delivery, Message, State

if TYPE_CHECKING:
    from simqueue.model.log.membership import GroupMember

MOVED = -1
"""The offset of a record that is on its way to another place of the log."""


class Record(Message):
    """A message at its place in a partition: its `offset`, counted from 0.

    `read_by` is the newest delivery of it, settled or not.
    """

    __slots__ = ("offset", "read_by")

    def __init__(self, message: Message) -> None:
        super().__init__(message.job, message.dedupe_key)
        self.on_settled = message.on_settled
        self.offset = MOVED
        self.read_by: Reading | None = None


class Reading(Delivery):
    """A record as one poll returned it."""

    __slots__ = ("holding", "offset", "record")

    def __init__(
        self, record: Record, holding: Holding, number: int, received: float, lease_ends: float
    ) -> None:
        turn = record.job.turns
        super().__init__(record, holding.consumer, number, turn, received, lease_ends)
        self.record = record
        self.holding = holding
        self.offset = record.offset


class Partition:
    """Records in the order of their offsets, and the group's committed offset.

    All records below `committed` are done as far as the group knows: whoever gets the partition
    begins to read there. A place of the log is None once nobody can read it any more.
    """

    __slots__ = ("committed", "holding", "index", "places")

    def __init__(self, index: int) -> None:
        self.index = index
        self.places: list[Record | None] = []
        self.committed = 0
        self.holding: Holding | None = None

    def append(self, record: Record) -> None:
        """Put `record` at the end."""
        record.offset = len(self.places)
        self.places.append(record)

    def record_at(self, offset: int) -> Record | None:
        """Return the record to be read at `offset`; None if there is nothing to read there."""
        record = self.places[offset]
        if record is None or record.offset != offset or record.state > State.ACKED:
            return None
        return record


class Holding:
    """A partition from its assignment to a consumer until it is taken away again.

    `position` is the next offset to read, `done` the offset up to which all is done, `sent` the
    offset that the consumer believes to have committed, `committed` the last one that the
    coordinator took from it. `again` are offsets to be read before the others: those of a record
    that failed, and of what was put aside for it; nothing is read while so many as `blocked` wait
    to be tried again. The holding is `current` until the partition is taken away, and may not
    commit if it is `fenced`. `unsettled` are readings, by offset, that no commit has covered.
    """

    __slots__ = (
        "_finished", "again", "blocked", "committed", "consumer", "current", "done", "fenced",
        "partition", "position", "sent", "unsettled",
    )  # fmt: skip

    def __init__(self, partition: Partition, consumer: GroupMember) -> None:
        self.partition = partition
        self.consumer = consumer
        self.position = self.done = self.sent = self.committed = partition.committed
        self.again: list[int] = []
        self.blocked = 0
        self.current = True
        self.fenced = False
        self.unsettled: dict[int, Reading] = {}
        self._finished: set[int] = set()

    @property
    def returned(self) -> int:
        """The offset up to which polls have returned all: the consumer's position."""
        return min(self.again) if self.again else self.position

    @property
    def may_commit(self) -> bool:
        """Whether the coordinator takes this holding's consumer for the owner."""
        return self.current and not self.fenced

    @property
    def has_more(self) -> bool:
        """Whether a poll would return something."""
        there = self.again or self.position < len(self.partition.places)
        return bool(there) and not self.blocked

    def next_offset(self) -> int:
        """Return the offset to read now, and go on to the next one."""
        if self.again:
            return self.again.pop(0)
        self.position += 1
        return self.position - 1

    def read_again(self, offset: int) -> None:
        """Let `offset` be read once more."""
        self.again.append(offset)
        self.again.sort()

    def finish(self, offset: int) -> None:
        """The record at `offset` is done; so is all up to the first one that is not."""
        self._finished.add(offset)
        while self.done in self._finished:
            self._finished.remove(self.done)
            self.done += 1

    def covered_by(self, offset: int) -> list[Reading]:
        """Return the readings that a commit of `offset` covers and the last commit did not."""
        places = range(self.committed, offset)
        return [self.unsettled[place] for place in places if place in self.unsettled]

    def last_below(self, offset: int) -> Reading | None:
        """Return the last of them; None if there is none."""
        places = range(offset - 1, self.committed - 1, -1)
        return next((self.unsettled[place] for place in places if place in self.unsettled), None)
