"""Simulated time: SimPy's environment, and the rule for what comes first at one instant.

At one instant an ack comes before an expiry, and an expiry before a receive; otherwise the order is
that of scheduling. SimPy orders simultaneous events by a priority, so the rule is three numbers:
handlers (and with them their acks) run at `NORMAL`, leases run out at `EXPIRY`, workers are handed
messages at `RECEIVE`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappush
from typing import Any, Final

import simpy
from simpy.events import NORMAL, Event, EventPriority

from simqueue.grid import PER_SECOND

EXPIRY: Final = EventPriority(NORMAL + 1)
RECEIVE: Final = EventPriority(NORMAL + 2)
AFTER_RECEIVE: Final = EventPriority(NORMAL + 3)

Action = Callable[[Any], None]


class Clock(simpy.Environment):
    """SimPy's environment, which can also schedule for a time, rather than by a delay.

    SimPy's ``now + delay`` may miss the time that was meant by a rounding error, enough to turn a
    tie the wrong way; see `simqueue.grid`.
    """

    def after(self, seconds: float) -> float:
        """Return the time that is `seconds` from now, on the grid."""
        return round((self._now + seconds) * PER_SECOND) / PER_SECOND

    def at(self, time: float, action: Action, priority: EventPriority = NORMAL) -> None:
        """Call `action` with the event, which it may ignore, at `time`, in seconds."""
        event = Moment(self, time, priority)
        event.callbacks.append(action)

    def is_quiet(self) -> bool:
        """Whether nothing else is scheduled for this instant."""
        return not self._queue or self._queue[0][0] > self._now


class Moment(Event):
    """An event that happens at a given time. Processes can yield it, coroutines await it."""

    callbacks: list[Action]

    def __init__(self, clock: Clock, time: float, priority: EventPriority = NORMAL) -> None:
        self.env = clock
        self.callbacks = []
        self._value = None
        self._ok = True
        heappush(clock._queue, (time, priority, next(clock._eid), self))

    def __await__(self) -> Generator[Event, Any, None]:
        yield self
