"""The outbox: what a transaction wants sent, and the relay that sends it after commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simqueue.model.leases import next_look
from simqueue.model.ledger import Event

if TYPE_CHECKING:
    from simqueue.context import Job
    from simqueue.model.world import World


@dataclass(eq=False)
class Letter:
    """A row of the outbox: which effect, under which key, for which job; how often it was sent."""

    effect: str
    key: str
    job: Job
    sends: int = 0


MarkFails = Callable[[Letter], bool]


class Relay:
    """Looks into the outbox every `every` seconds, sends what is there, and then marks it as sent.

    A letter whose mark fails, because the relay died between the two or the answer got lost, is
    sent again at the next look: at least once. `uses_key`: the receiver knows the letter's key, and
    a second copy has no effect. All of `mark_fails` are asked after each send.
    """

    def __init__(self, world: World, *, every: float, uses_key: bool, relays: int) -> None:
        self.mark_fails: list[MarkFails] = []
        self._world = world
        self._every = every
        self._uses_key = uses_key
        self._relays = relays
        self._pending: list[Letter] = []
        self._delivered: set[tuple[str, str]] = set()
        self._waits = False

    def receive(self, letter: Letter) -> None:
        """Take a letter that was committed."""
        self._pending.append(letter)
        self._wait()

    def _wait(self) -> None:
        if self._pending and not self._waits:
            self._waits = True
            clock = self._world.clock
            look = next_look(clock.after(1e-6), self._every, 0.0)
            clock.at(look, self._look)

    def _look(self, _: object) -> None:
        self._waits = False
        self._pending = [letter for letter in self._pending if not self._send(letter)]
        self._wait()

    def _send(self, letter: Letter) -> bool:
        """Send the letter; whether it could be marked as sent."""
        for _ in range(self._relays):
            letter.sends += 1
            if not (self._uses_key and (letter.effect, letter.key) in self._delivered):
                self._delivered.add((letter.effect, letter.key))
                self._world.ledger.record(
                    self._world.clock.now,
                    Event.EFFECT,
                    letter.job.id,
                    value=self._world.ledger.word(letter.effect),
                )
        return not any(fails(letter) for fails in self.mark_fails)
