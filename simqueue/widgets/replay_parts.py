"""What a moment of a replay is made of: deliveries, workers, rows of the store, effects."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

HOLDS, RAN_OUT, GIVEN_BACK, SETTLED = "holds", "ran out", "given back", "settled"
"""What a delivery still has of its message: the lease, or why it has it no more."""

UP, DEAD, PAUSED, DRAINING, STOPPED = "up", "dead", "paused", "draining", "stopped"
"""How a worker is. One that stopped takes nothing until it is told otherwise."""


class Row(NamedTuple):
    """A row of the ledger, as plain Python values."""

    time: float
    event: int
    job: int
    delivery: int
    worker: int
    value: float


@dataclass
class Held:
    """A delivery in a worker: waiting (`started` is NaN) or at work. Times in seconds.

    `attempt` counts the deliveries of the job from 1. `lease_since` is when the lease was given or
    last extended, `lease_ends` when it ends (infinity without one). `link` is one of `HOLDS`,
    `RAN_OUT`, `GIVEN_BACK` and `SETTLED`, and `link_since` is when it became so.
    """

    number: int
    job: int
    attempt: int
    worker: int
    received: float
    lease_since: float
    lease_ends: float
    started: float = math.nan
    link: str = HOLDS
    link_since: float = math.nan

    @property
    def is_at_work(self) -> bool:
        """Whether its handler runs; otherwise it waits in the worker's buffer."""
        return not math.isnan(self.started)


@dataclass
class WorkerNow:
    """A worker: how it is, until when (seconds; NaN: nobody knows), and what it holds.

    `cut_off_until` is when it can reach the broker again (seconds), where it could not.
    """

    status: str = UP
    until: float = math.nan
    cut_off_until: float = -math.inf
    held: dict[int, Held] = field(default_factory=dict)


class StoreRow(NamedTuple):
    """A row of the dedupe store: what it says, since when, and until when it exists (seconds)."""

    status: str
    since: float
    until: float = math.inf


class Effect(NamedTuple):
    """Something done to the world: `repeat` counts from 0, so that all above 0 are duplicates."""

    time: float
    job: int
    kind: str
    repeat: int
    worker: int
