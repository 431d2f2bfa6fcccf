"""A broker of the lease family, as settings of the queue."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.backoff import Backoff
    from simqueue.model.late_ack import LateAck

CAUSES = ("receive", "failure", "expiry", "disconnect", "slot lost")
"""What may count as an attempt: a delivery, a handler that raised, a lease that ran out, a worker
that died or lost its connection, a slot that died while its process lives."""

STALLS = ("expiry", "disconnect", "slot lost")
"""What may count as a stall: those ways to come back in which the worker gave no word."""


@dataclass(frozen=True, kw_only=True)
class LeaseSettings:
    """What makes one broker of the lease family different from another. Times are in seconds.

    The fields are those of `simqueue.brokers.Generic`, which explains each. Here words stand
    for objects already, and infinity for "no limit".
    """

    late_ack: LateAck
    lease: float | None
    lease_from: str = "hand_over"
    lease_cap: float | None = None
    sweep_period: float | None = None
    sweep_phase: float = 0.0
    sweep_batch: float = math.inf
    two_passes: bool = False
    sweep_at_boot: float | None = None
    renew_every: float | None = None
    renew_for: float = math.inf
    renew_jitter: float = 0.0
    renew_what: str = "running"
    first_heartbeat: float = 0.0
    late_nack: str = "ignored"
    ack_on_start: bool = False
    on_expiry: str = "return"
    resubscribe_after: float | None = None
    forgets_due: bool = False
    on_disconnect: str = "wait"
    disconnect_after: float = 0.0
    silence_after: float = 0.0
    on_slot_lost: str = "wait"
    on_failure: str = "return"
    counts: frozenset[str] = frozenset({"receive"})
    max_attempts: int | None = None
    exhaustion: str = "return"
    exhausted: str = "dead_letter"
    max_stalls: int | None = None
    stalls: frozenset[str] = frozenset({"expiry"})
    stalls_within: float = math.inf
    stalls_noticed: str = "return"
    retry: Backoff | None = None
    retry_on: frozenset[str] = frozenset({"failure"})
    poll_delayed: float | None = None
    poll_jitter: float = 0.0
    ordering: str = "unordered"
    group_batches: bool = False
    most_in_flight: int | None = None
    most_per_receive: int | None = None
    due_held_by: str = "broker"
    returns_to: str = "back"
    delay: float = 0.0
    retention: float | None = None
    retention_of_dead: bool = False
    dead_letter_retention: float | None = None
    dedupe_window: float | None = None
    dedupe_refreshes: bool = False
    dedupe_after: float | None = None
    own_duplicates: float = 0.0
