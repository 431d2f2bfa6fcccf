"""A broker of the log family, as settings of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simqueue.backoff import Backoff

PARTITION_BY = ("job", "group")
COMMITS = ("auto", "after", "after_batch", "before", "background", "stored")
REJOINS = ("poll", "background")
ON_REVOKE = ("drop", "drain", "keep")
ON_FAILURE = ("stop", "skip", "retry_topic")


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """What makes one log, with the consumers that read it, different from another.

    Times are in seconds. The fields are those of `simqueue.brokers.Kafka`, which explains each of
    them, with these differences: `idempotent_producer` and `static_members` say whether, `retry` is
    the delay until a failed record is tried again, and a `drain_limit` of infinity is none.
    """

    partitions: int = 1
    partition_by: str = "job"
    retention: float | None = None
    idempotent_producer: bool = True
    heartbeat_interval: float = 3.0
    session_timeout: float = 45.0
    max_poll_interval: float = 300.0
    initial_rebalance_delay: float = 3.0
    static_members: bool = False
    rejoin: str = "poll"
    max_poll_records: int = 500
    commit: str = "auto"
    auto_commit_interval: float = 5.0
    fenced: bool = True
    on_revoke: str = "drop"
    drain_limit: float = math.inf
    fence_first: bool = False
    on_failure: str = "stop"
    retry: Backoff
    max_attempts: int | None = None
    dead_letter: bool = False
