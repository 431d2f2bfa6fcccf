"""Whether the coordinator hears a consumer, and when a consumer hears of a rebalance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from simqueue.grid import on_grid

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.log.group import Group, Member


class Heartbeats:
    """The heartbeats of one consumer, which nobody simulates one by one.

    They come every `every` seconds from the moment of an assignment on, so it is known when the
    last one was and when the next one is. Only their staying away is an event.
    """

    def __init__(self, clock: Clock, group: Group, every: float) -> None:
        self._clock = clock
        self._group = group
        self._every = every

    def stop(self, member: Member) -> None:
        """From now on there are none. One that is due just now was sent."""
        if member.silence is None and not member.removed:
            self._group.miss(member, self._beat(member, math.floor))

    def go_on(self, member: Member) -> None:
        """There are some again, from now on."""
        if member.silence is not None:
            member.silence = None
            member.beats_from = self._clock.now

    def at_next(self, member: Member, action: Callable[[object], None]) -> None:
        """Call `action` at the next one, or now if one is due now."""
        self._clock.at(self._beat(member, math.ceil), action)

    def _beat(self, member: Member, rounded: Callable[[float], int]) -> float:
        slack = 1e-9 if rounded is math.floor else -1e-9
        beats = rounded((self._clock.now - member.beats_from) / self._every + slack)
        return max(on_grid(member.beats_from + beats * self._every), member.beats_from)
