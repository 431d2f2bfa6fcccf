"""What happened, in order: one table that everything else is computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from struct import Struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

_layout = Struct("=6d")
row = _layout.pack
"""Packs time, event, job, delivery, worker, value."""


class Event:
    """What a row of the ledger says. The comment tells what its `value` holds, if anything.

    Plain numbers, since a row is written several times for each job.
    """

    PUBLISHED: Final = 1  # the state that the message is in now
    RECEIVED: Final = 2  # when the lease ends, in seconds; infinity without a lease
    STARTED: Final = 3
    FINISHED: Final = 4
    FAILED: Final = 5  # the word for the exception
    CRASHED: Final = 6
    EFFECT: Final = 7  # the word for the kind of effect
    EXTENDED: Final = 8  # when the lease now ends
    ACKED: Final = 9  # the state that the message was in
    ACK_LOST: Final = 10
    ACK_IGNORED: Final = 11
    ACK_REFUSED: Final = 12
    NACKED: Final = 13  # when the message is visible again
    EXPIRED: Final = 14
    VISIBLE: Final = 15
    DEAD_LETTERED: Final = 16  # the state that the message was in
    WORKER_CRASHED: Final = 17
    WORKER_RESTARTED: Final = 18
    LOST: Final = 19  # the state that the message was in
    MESSAGE_EXPIRED: Final = 20  # the state that the message was in
    DEDUPLICATED: Final = 21
    REDRIVEN: Final = 22
    PUBLISH_RESPONSE_LOST: Final = 23
    RESPONSE_LOST: Final = 24  # the word for the call
    UNAVAILABLE: Final = 25  # the word for the call
    WORKER_PAUSED: Final = 26  # when it goes on
    WORKER_RESUMED: Final = 27
    WORKER_DRAINING: Final = 28  # when it is killed
    WORKER_PARTITIONED: Final = 29  # when it is over
    CLAIMED: Final = 30  # the word for what the store answered
    DELIVERY_LOST: Final = 31
    LEASE_STARTED: Final = 32  # when it ends
    DEAD_LETTER_EXPIRED: Final = 33
    PRODUCER_GAVE_UP: Final = 34
    HELD_UNTIL_DUE: Final = 35  # when it is due
    CONNECTION_CLOSED: Final = 36
    CONSUMER_CANCELLED: Final = 37
    REPLAYED: Final = 38  # the state that the message was in
    REVOKED: Final = 40
    REWOUND: Final = 41
    REBALANCED: Final = 42  # the generation that begins
    ASSIGNED: Final = 43  # how many partitions
    LEFT_GROUP: Final = 44  # the word for the reason
    SKIPPED: Final = 45
    RELAY_CRASHED: Final = 50
    CALLED: Final = 51  # the word for the call
    RECORDED: Final = 60  # the word for what the job's dedupe row now says


EVENT_NAMES: Final = {
    number: name.lower().replace("_", " ") for name, number in vars(Event).items() if name.isupper()
}


class Ledger:
    """The rows of a run: time (seconds), event, job, delivery, worker, value.

    Deliveries are numbered from 0 in the order in which they were handed over, workers from 1;
    where a row is about none, it says -1. A value is a number, or the place of a word in `words`.
    Rows are packed: as Python objects they would take ten times the memory, and the garbage
    collector would go through all of them again and again.
    """

    def __init__(self) -> None:
        self.words: list[str] = []
        self.deliveries = 0
        self._places: dict[str, int] = {}
        self._rows = bytearray()
        self.write = self._rows.extend

    def record(
        self,
        time: float,
        event: int,
        job: int = -1,
        delivery: int = -1,
        worker: int = -1,
        value: float = math.nan,
    ) -> None:
        """Write a row. Where rows are many, `write(row(...))` does the same with less ado."""
        self.write(row(time, event, job, delivery, worker, value))

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self._rows) // _layout.size

    def word(self, text: str) -> int:
        """Return the place of `text` in `words`, to be the value of a row."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.words)
            self.words.append(text)
        return place

    def table(self) -> NDArray[np.float64]:
        """Return a copy of all rows, as an array of shape (rows, 6)."""
        return np.frombuffer(bytes(self._rows)).reshape(-1, 6)

    def close(self) -> Records:
        """Return all that was written, and forget it: the run is over."""
        records = Records(self.table(), self.words)
        self._rows.clear()
        return records


@dataclass(frozen=True)
class Records:
    """What a ledger holds when its run is over: `table`, shape (rows, 6), and `words`."""

    table: NDArray[np.float64]
    words: list[str]
