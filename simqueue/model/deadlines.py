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

    Leases of one length end in the order in which they began, so most deadlines just stand in line;
    only those that come out of order, after an extension, go into a heap. What was acked, taken
    back or extended since is passed over when its turn comes, so that none of these cost anything.
    """

    def __init__(self) -> None:
        self._line: deque[Deadline] = deque()
        self._heap: list[Deadline] = []
        self._latest = -math.inf
        self._count = 0

    def push(self, delivery: Delivery) -> None:
        """Add `delivery`, by its `lease_ends`."""
        ends = delivery.lease_ends
        self._count += 1
        if ends >= self._latest:
            self._latest = ends
            self._line.append((ends, self._count, delivery))
        else:
            heappush(self._heap, (ends, self._count, delivery))

    def take_ended(self, now: float, most: float = math.inf) -> list[Delivery]:
        """Take out, and return, those whose leases have run out by `now`: `most` of them at most.

        The order is that of their ends.
        """
        ended: dict[Delivery, None] = {}  # some stand here twice, extended to the same end
        while self._line or self._heap:
            ends, _count, delivery = self._first()
            if delivery.lease_ends == ends and delivery.message.is_held_by(delivery):
                if ends > now or len(ended) >= most:
                    break
                ended[delivery] = None
            self._drop_first()
        return list(ended)

    def next_end(self) -> float:
        """Return when the first of them ends, in seconds; infinity if there is none."""
        return self._first()[0] if self._line or self._heap else math.inf

    def _first(self) -> Deadline:
        if not self._heap:
            return self._line[0]
        if not self._line:
            return self._heap[0]
        return min(self._heap[0], self._line[0])

    def _drop_first(self) -> None:
        if self._heap and (not self._line or self._heap[0] < self._line[0]):
            heappop(self._heap)
        else:
            self._line.popleft()
