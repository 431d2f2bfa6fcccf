"""A broker of the lease family, as settings of the queue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.backoff import Backoff
    from simqueue.model.late_ack import LateAck

CAUSES = ("receive", "failure", "expiry", "disconnect")
"""What may count as an attempt: a delivery, a handler that raised, a lease that ran out, a worker
that died."""


@dataclass(frozen=True, kw_only=True)
class LeaseSettings:
    """What makes one broker of the lease family different from another. Times are in seconds.

    Parameters
    ----------
    lease
        For how long a received message is hidden; None: until its worker speaks or dies.
    lease_from
        "hand_over": the lease starts as the message is delivered; "start": as its handler starts.
    sweep_period, sweep_phase, sweep_batch
        Leases that ran out are noticed every `sweep_period`, first at `sweep_phase`, at most
        `sweep_batch` at a time; None: at once.
    two_passes
        A sweep ends only leases that the sweep before has marked.
    renew_every, renew_for
        The client library extends the lease of what runs, at this interval, until so long after the
        start; None: never.
    late_ack
        What an ack does after the lease ran out.
    on_disconnect
        What a worker's death means for the messages it held: "wait" for their leases; "requeue"
        them, `disconnect_after` later; "lose" them.
    counts
        Which of `CAUSES` count as attempts.
    max_attempts
        Attempts after which the message is exhausted; None: no limit.
    exhaustion
        "return": noticed as the message comes back; "receive": when somebody next asks for it.
    exhausted
        "dead_letter" it, or "drop" it.
    retry
        The delay until a failed message is visible again; None: the worker stays silent.
    ordering
        "unordered", "fifo", or "group": first in, first out within each group of jobs.
    returns_to
        The "back" or the "front" of the queue, for messages that come back.
    delay
        From publish until a message is visible.
    retention
        From publish until a message expires, wherever it is; None: never.
    dedupe_window, dedupe_refreshes
        A second publish of the same key within so long after the first is swallowed; whether it
        starts the window anew. None: no dedupe.
    own_duplicates
        Probability that the broker makes a second copy of a message by itself.
    """

    late_ack: LateAck
    lease: float | None
    lease_from: str = "hand_over"
    sweep_period: float | None = None
    sweep_phase: float = 0.0
    sweep_batch: float = math.inf
    two_passes: bool = False
    renew_every: float | None = None
    renew_for: float = math.inf
    on_disconnect: str = "wait"
    disconnect_after: float = 0.0
    counts: frozenset[str] = frozenset({"receive"})
    max_attempts: int | None = None
    exhaustion: str = "return"
    exhausted: str = "dead_letter"
    retry: Backoff | None = None
    ordering: str = "unordered"
    returns_to: str = "back"
    delay: float = 0.0
    retention: float | None = None
    dedupe_window: float | None = None
    dedupe_refreshes: bool = False
    own_duplicates: float = 0.0
