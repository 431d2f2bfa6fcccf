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
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import NORMAL, URGENT, Event, EventPriority

from simqueue.grid import PER_SECOND

EXPIRY: Final = EventPriority(NORMAL + 1)
RECEIVE: Final = EventPriority(NORMAL + 2)
AFTER_RECEIVE: Final = EventPriority(NORMAL + 3)

Action = Callable[[Any], None]


class Clock(simpy.Environment):
    """SimPy's environment, which can also schedule for a time, rather than by a delay.

    What runs for each job reads `_now` itself: the property `now` is a call.

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

    def end_at(self, time: float | None) -> None:
        """Let nothing happen from `time` on, if it is not None."""
        if time is not None:
            end = Moment(self, time, URGENT)
            end.callbacks.append(StopSimulation.callback)

    def let_happen(self, events: int) -> bool:
        """Let so many events happen, and tell whether there are more to come."""
        step = self.step
        try:
            for _ in range(events):
                step()
        except (EmptySchedule, StopSimulation):
            return False
        return True

    def forget(self) -> None:
        """Let nothing more happen."""
        self._queue.clear()

    def is_quiet(self) -> bool:
        """Whether nothing else is scheduled for this instant."""
        return not self._queue or self._queue[0][0] > self._now


class Signal:
    """Something that happens once, which any number of coroutines can wait for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._happened = False
        self._waiting: list[Moment] = []

    def happen(self) -> None:
        """It happens now."""
        self._happened = True
        for event in self._waiting:
            event.schedule_at(self._clock.now)
        self._waiting.clear()

    async def wait(self) -> None:
        """Wait for it; return at once if it has happened."""
        if not self._happened:
            event = Moment(self._clock, None)
            self._waiting.append(event)
            await event


class Moment(Event):
    """An event that happens at a given time, or when it is told to (None).

    Processes can yield it, coroutines await it.
    """

    callbacks: list[Action]

    def __init__(self, clock: Clock, time: float | None, priority: EventPriority = NORMAL) -> None:
        self.env = clock
        self.callbacks = []
        self._value = None
        self._ok = True
        if time is not None:
            heappush(clock._queue, (time, priority, next(clock._eid), self))

    def schedule_at(self, time: float) -> None:
        """Let it happen at `time` after all: it was made without one."""
        heappush(self.env._queue, (time, NORMAL, next(self.env._eid), self))

    def __await__(self) -> Generator[Event, Any, None]:
        yield self
