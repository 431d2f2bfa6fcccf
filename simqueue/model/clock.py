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
from simpy.events import NORMAL, Event, EventPriority, Timeout

EXPIRY: Final = EventPriority(NORMAL + 1)
RECEIVE: Final = EventPriority(NORMAL + 2)

Action = Callable[[Any], None]


class Clock(simpy.Environment):
    """SimPy's environment, which can also schedule for an absolute time.

    SimPy schedules by delay, and ``now + (time - now)`` may miss `time` by a rounding error, enough
    to turn a tie the wrong way.
    """

    def at(self, time: float, action: Action, priority: EventPriority = NORMAL) -> None:
        """Call `action` (with the event, which it may ignore) at `time`, in seconds, from now on."""
        event = Event(self)
        event._ok = True
        event._value = None
        event.callbacks.append(action)
        heappush(self._queue, (time, priority, next(self._eid), event))

    def until(self, time: float) -> Event:
        """Return an event that happens at `time`, in seconds: for processes to yield."""
        event = Event(self)
        event._ok = True
        event._value = None
        heappush(self._queue, (time, NORMAL, next(self._eid), event))
        return event

    def is_quiet(self) -> bool:
        """Whether nothing else is scheduled for this instant."""
        return not self._queue or self._queue[0][0] > self._now


class Wait(Timeout):
    """A SimPy timeout that a coroutine can await."""

    def __await__(self) -> Generator[Event, Any, None]:
        yield self
