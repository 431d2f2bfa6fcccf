"""A second limit, beside that of the attempts: how often a message may come back unfinished."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.model.clock import Clock
    from simqueue.model.message import Message


class Stalls:
    """Counts the returns of a message for which its worker gave no word: `causes` says which.

    `most` of them within `within` seconds are allowed; the next one exhausts the message: at once,
    or, if `lazily`, as soon as somebody next asks for it (BullMQ).
    """

    def __init__(
        self, clock: Clock, *, causes: frozenset[str], most: int, within: float, lazily: bool
    ) -> None:
        self._clock = clock
        self._causes = causes
        self._most = most
        self._within = within
        self._lazily = lazily

    def exhaust(self, message: Message, cause: str) -> bool:
        """Count a return for `cause`; whether it exhausts `message` at once."""
        if cause not in self._causes:
            return False
        now = self._clock.now
        recent = [time for time in message.stalls or () if now - time <= self._within]
        message.stalls = [*recent, now]
        if len(message.stalls) <= self._most:
            return False
        if self._lazily:
            message.attempts = math.inf  # more than any limit: whoever asks for it is not given it
            return False
        return True
