"""A poller that looks after delayed messages only now and then: they become visible late."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from simqueue.grid import on_grid

if TYPE_CHECKING:
    from simqueue.model.randomness import Streams


class Polls:
    """Looks at random intervals: ``every * U(1 - jitter, 1 + jitter)`` seconds.

    The n-th interval is the same in every run with the same seed, whatever happens in between.
    """

    def __init__(self, streams: Streams, *, every: float, jitter: float) -> None:
        self._draws = streams.generator("polls of delayed messages")
        self._every = every
        self._jitter = jitter
        self._times: list[float] = [0.0]

    def next(self, time: float) -> float:
        """The first look at or after `time`, in seconds."""
        while self._times[-1] < time:
            self._times.append(on_grid(self._times[-1] + self._interval()))
        return self._times[bisect_left(self._times, time)]

    def _interval(self) -> float:
        return self._every * (1 + self._jitter * (2 * self._draws.random() - 1))
