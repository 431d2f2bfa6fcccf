"""Redis as a queue: lists (BRPOP; BLMOVE with a monitor), and streams with consumer groups.

Sources: Redis's documentation of RPOPLPUSH (pattern: reliable queue), XREADGROUP, XAUTOCLAIM,
XCLAIM, and of streams, and its source (`src/t_stream.c`). What is known stands in `facts()`.

In short: Redis has no timers for this. What a dead consumer held comes back when somebody asks for
it: a monitor that you write, or XAUTOCLAIM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

LIST_FACTS = (
    Fact(
        "BRPOP",
        "at most once: what a consumer has popped is lost with it",
        "RPOPLPUSH: pattern, reliable queue",
        "test_brpop_loses_what_runs",
    ),
    Fact(
        "BLMOVE to a processing list",
        "nothing is lost, and nothing comes back by itself",
        "RPOPLPUSH: pattern, reliable queue",
        "test_without_a_monitor_nothing_comes_back",
    ),
    Fact(
        "a monitor",
        "pushes back what has been in the processing list for too long, dead consumer or slow one",
        "RPOPLPUSH: pattern, reliable queue",
        "test_a_monitor_brings_back_what_is_old",
    ),
    Fact(
        "LREM",
        "goes by value: a late ack removes whatever copy is in the processing list",
        "LREM; derived",
        "test_a_late_lrem_removes_the_other_consumers_entry",
    ),
    Fact(
        "attempts",
        "nobody counts",
        "derived",
        "test_a_list_never_gives_up",
    ),
    Fact(
        "failover",
        "replication is asynchronous: what was written last may be gone",
        "Redis replication",
        left_out="the store is one node here",
    ),
)

STREAM_FACTS = (
    Fact(
        "pending entries",
        "what was read and not acked stays pending; nothing expires by itself",
        "XREADGROUP",
        "test_without_claims_an_entry_stays_pending",
    ),
    Fact(
        "XAUTOCLAIM",
        "takes over what has been idle for min-idle-time, whenever somebody calls it",
        "XAUTOCLAIM; t_stream.c (at least that idle; the documentation says longer)",
        "test_a_claim_takes_what_is_idle_for_long_enough",
    ),
    Fact(
        "COUNT",
        "at most that many claimed by a call, 100 unless set",
        "XAUTOCLAIM",
        "test_a_claim_takes_only_so_many",
    ),
    Fact(
        "overrun",
        "the entry is claimed while the first consumer is at work",
        "XAUTOCLAIM",
        "test_a_slow_consumer_loses_its_entry",
    ),
    Fact(
        "XACK",
        "from anyone: a late one removes the new owner's entry",
        "XACK; t_stream.c",
        "test_anyone_may_ack",
    ),
    Fact(
        "COUNT of a read",
        "starts the idle time of all that it brings",
        "XREADGROUP",
        "test_a_batch_grows_idle_together",
    ),
    Fact(
        "heartbeat",
        "XCLAIM to oneself with JUSTID sets the idle time back",
        "XCLAIM; derived from the source",
        "test_claiming_from_oneself_is_a_heartbeat",
    ),
    Fact(
        "delivery count",
        "is kept, and up to you: look with XPENDING, and move it yourself",
        "XPENDING",
        "test_a_limit_is_what_the_claimer_looks_at",
    ),
    Fact(
        "NOACK",
        "at most once",
        "XREADGROUP",
        "test_noack_loses_what_runs",
    ),
    Fact(
        "reading one's own pending entries again",
        "a consumer that restarts under its name may read them from id 0",
        "XREADGROUP",
        left_out="consumers here wait for the claim; it would be a requeue at the restart",
    ),
)


@dataclass(frozen=True, kw_only=True)
class RedisList(Profile):
    """A list and its consumers. Times are in seconds.

    Parameters
    ----------
    pop
        "BRPOP", or "BLMOVE" to a processing list.
    monitor_every, stale_after
        With "BLMOVE": a monitor looks every so often, and pushes back what has been in the
        processing list for so long. None: there is no monitor.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = LIST_FACTS

    pop: str = "BLMOVE"
    monitor_every: float | None = None
    stale_after: float = 300.0

    def __post_init__(self) -> None:
        checks.one_of("broker.pop", self.pop, ("BRPOP", "BLMOVE"))
        checks.positive("broker.stale_after", self.stale_after, "seconds")
        if self.monitor_every is not None:
            checks.positive("broker.monitor_every", self.monitor_every, "seconds")
            if self.pop == "BRPOP":
                raise checks.fail("broker.monitor_every", self.monitor_every, "None with BRPOP")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return Generic(
            lease=None if self.monitor_every is None else self.stale_after,
            sweep_period=self.monitor_every,
            ack_when="received" if self.pop == "BRPOP" else "done",
            late_ack="in_flight_only",
            retry_delay=0.0,
            counts=(),
        )


@dataclass(frozen=True, kw_only=True)
class RedisStream(Profile):
    """A stream with a consumer group. Times are in seconds.

    Parameters
    ----------
    claim_every
        How often somebody calls XAUTOCLAIM; None: nobody does.
    min_idle_time
        `min-idle-time` of the call (there in ms).
    count
        `COUNT` of the call, 1 or more.
    heartbeat_every
        How often consumers claim their own entries, so that they are not idle; None: they don't.
    max_deliveries
        After how many deliveries the claimer moves an entry to a dead-letter stream; None: never.
    noack
        `NOACK` of XREADGROUP.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = STREAM_FACTS

    claim_every: float | None = 5.0
    min_idle_time: float = 60.0
    count: int = 100
    heartbeat_every: float | None = None
    max_deliveries: int | None = None
    noack: bool = False

    def __post_init__(self) -> None:
        for name in ("claim_every", "heartbeat_every"):
            if getattr(self, name) is not None:
                checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        checks.positive("broker.min_idle_time", self.min_idle_time, "seconds")
        checks.whole("broker.count", self.count, 1)
        if self.max_deliveries is not None:
            checks.whole("broker.max_deliveries", self.max_deliveries, 1)

    def generic(self) -> Generic:
        """Return the same stream in the model's own words."""
        claims = self.claim_every is not None
        return Generic(
            lease=self.min_idle_time if claims else None,
            sweep_period=self.claim_every,
            sweep_batch=self.count if claims else None,
            renew_every=self.heartbeat_every if claims else None,
            ack_when="received" if self.noack else "done",
            late_ack="deletes",
            max_receives=self.max_deliveries,
            exhaustion="receive",
            returns_to="front",
        )
