"""Which of many leases ends first."""

from __future__ import annotations

import math
from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.message import Delivery

Deadline = tuple[float, int, "Delivery"]


class Deadlines:
    """Deliveries by the end of their leases; those of one instant in the order in which they came.

    Leases of one length end in the order in which they began, so most deadlines just stand in line.
    Only those that come out of order, after an extension, go into a heap.
    """

    def __init__(self) -> None:
        self._line: deque[Deadline] = deque()
        self._heap: list[Deadline] = []
        self._latest = -math.inf
        self._count = 0

    def __len__(self) -> int:
        return len(self._line) + len(self._heap)

    def push(self, ends: float, delivery: Delivery) -> None:
        """Add `delivery`, whose lease ends at `ends`, in seconds."""
        self._count += 1
        if ends >= self._latest:
            self._latest = ends
            self._line.append((ends, self._count, delivery))
        else:
            heappush(self._heap, (ends, self._count, delivery))

    def first(self) -> Deadline:
        """Return the first to end, as (seconds, order, delivery); IndexError if there is none."""
        if not self._heap:
            return self._line[0]
        if not self._line:
            return self._heap[0]
        return min(self._heap[0], self._line[0])

    def pop(self) -> None:
        """Take the first to end away."""
        if self._heap and (not self._line or self._heap[0] < self._line[0]):
            heappop(self._heap)
        else:
            self._line.popleft()
