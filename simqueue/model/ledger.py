"""What happened, in order: one flat list that everything else is computed from."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

WIDTH = 6


class Event(enum.IntEnum):
    """What a row of the ledger says. The comment tells what its `value` holds, if anything."""

    PUBLISHED = enum.auto()
    RECEIVED = enum.auto()  # when the lease ends, in seconds; infinity without a lease
    STARTED = enum.auto()
    FINISHED = enum.auto()
    FAILED = enum.auto()  # the exception, in words
    CRASHED = enum.auto()
    EFFECT = enum.auto()  # which effect, a word
    EXTENDED = enum.auto()  # when the lease now ends
    ACKED = enum.auto()  # where the message was: 1 in flight, 0 visible
    ACK_LOST = enum.auto()
    ACK_IGNORED = enum.auto()
    ACK_REFUSED = enum.auto()
    NACKED = enum.auto()  # when the message is visible again
    EXPIRED = enum.auto()
    VISIBLE = enum.auto()
    DEAD_LETTERED = enum.auto()  # where the message was: 1 in flight, 0 visible
    WORKER_CRASHED = enum.auto()
    WORKER_RESTARTED = enum.auto()


class Ledger:
    """The rows of a run: time (seconds), event, job, delivery, worker, value.

    `record` takes one row as a tuple of these six. Deliveries are numbered from 0 in the order in
    which they were handed over, workers from 1; where a row is about none, it says -1. The rows lie
    in one flat list: a list of a million tuples would cost twice the memory.
    """

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.record: Callable[[tuple[float, int, int, int, int, Any]], None] = self.rows.extend
        self.deliveries = 0

    def column(self, position: int, dtype: Any) -> NDArray[Any]:
        """Return one column, by its position in the row, as an array."""
        return np.array(self.rows[position::WIDTH], dtype=dtype)
