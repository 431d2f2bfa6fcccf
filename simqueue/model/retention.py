"""Messages that expire at a given age, wherever they are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from simqueue.model.message import State

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.message import Message
    from simqueue.model.publishing import Publish


class Retention:
    """Publishes messages, and calls `end` with each that is there `seconds` later.

    All have the same time, so they stand in line by the end of it, and one alarm is enough: that of
    the first. `of_dead`: a dead-lettered message is still there. `replays`: an acked one may come
    back, as a dead-lettered one always may.
    """

    def __init__(
        self,
        publish: Publish,
        end: Callable[[Message], None],
        clock: Clock,
        *,
        seconds: float,
        of_dead: bool,
        replays: bool,
    ) -> None:
        self._publish = publish
        self._end = end
        self._clock = clock
        self._seconds = seconds
        self._gone = {State.ACKED, State.LOST, State.EXPIRED}
        if not of_dead:
            self._gone.add(State.DEAD_LETTERED)
        self._gone_for_good = {State.LOST, State.EXPIRED}
        if not replays:
            self._gone_for_good.add(State.ACKED)
        self._line: deque[tuple[float, Message]] = deque()

    def __call__(self, message: Message) -> None:
        """Publish `message`, for a while."""
        self._publish(message)
        self._line.append((self._clock.after(self._seconds), message))
        if len(self._line) == 1:
            self._set_alarm()

    def _set_alarm(self) -> None:
        self._clock.at(self._line[0][0], self._ring)

    def _ring(self, _: object) -> None:
        line, now = self._line, self._clock.now
        while line and (line[0][0] <= now or line[0][1].state in self._gone_for_good):
            message = line.popleft()[1]
            if message.state not in self._gone:
                self._end(message)
        if line:
            self._set_alarm()
