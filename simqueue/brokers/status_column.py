"""PostgreSQL as a queue: a column that says who is at work, and a rescuer who looks at its age.

Sources: pg-boss (`src/plans.ts`, its documentation), River (rescuer and completion), Oban
(`lib/oban/plugins/lifeline.ex`, `worker.ex`), Procrastinate (`retry.py`, documentation of stalled
jobs), Graphile Worker, Solid Queue. What is known stands in `facts()`, one by one.

In short: the database knows nothing of the owner but when it began, or when its process was last
heard of. So whoever rescues cannot tell slow from dead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from simqueue import checks, schedules
from simqueue.backoff import Backoff, as_backoff
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

STATUS_FACTS = (
    Fact(
        "claim",
        "a committed status: nothing about the owner is known to the database",
        "pg-boss, River, Oban, Procrastinate",
        "test_nobody_sees_that_the_owner_is_dead",
    ),
    Fact(
        "pg-boss",
        "fails after 15 min, seen every minute; 2 retries, then the dead-letter queue",
        "plans.ts; docs: expireInSeconds 900, monitorIntervalSeconds 60, retryLimit 2",
        "test_pg_boss",
    ),
    Fact(
        "pg-boss, heartbeat",
        "with heartbeatSeconds a dead worker is seen sooner, and a slow one is left alone",
        "docs: heartbeatSeconds",
        "test_pg_boss_with_heartbeats",
    ),
    Fact(
        "River",
        "rescued after an hour, seen every 30 s; 25 attempts; a handler is stopped after a minute",
        "RescueStuckJobsAfter, JobTimeout, rescuer",
        "test_river",
    ),
    Fact(
        "Oban",
        "rescued after an hour, seen every minute, without backoff; 20 attempts",
        "lifeline.ex",
        "test_oban",
    ),
    Fact(
        "Oban without Lifeline",
        "nothing is rescued",
        "lifeline.ex: opt-in",
        "test_oban_without_lifeline",
    ),
    Fact(
        "Procrastinate",
        "a stalled worker's jobs are found by its heartbeat, and retried by a task of your own",
        "docs: retry stalled jobs (every 10 minutes in the example)",
        "test_procrastinate",
    ),
    Fact(
        "Graphile Worker",
        "locks older than 4 h are taken, seen every 8 to 10 minutes; 25 attempts",
        "graphile/worker: resetLockedAt",
        "test_graphile_worker",
    ),
    Fact(
        "Solid Queue",
        "a process is missed 5 min after its last heartbeat, and its jobs are marked as failed",
        "process_alive_threshold; ProcessPrunedError",
        "test_solid_queue",
    ),
    Fact(
        "late completion",
        "pg-boss, River: if the job is active, whoever's it is; Oban: always",
        "plans.ts; River's completion; Oban: complete_job",
        "test_a_late_completion_completes_somebody_elses_attempt",
    ),
    Fact(
        "poll",
        "pg-boss every 2 s, River every second and on notice",
        "pollingIntervalSeconds, FetchPollInterval",
        left_out="`Workers.poll_every` says it: workers poll, not brokers",
    ),
    Fact(
        "queueing lock, singleton keys",
        "unique while a job waits",
        "Procrastinate, pg-boss",
        left_out="`dedupe_after` of the generic broker is unique while unsettled, which is longer",
    ),
)


@dataclass(frozen=True, kw_only=True)
class StatusColumn(Profile):
    """A column that says who is at work, and a rescuer. Times are in seconds.

    The real ones are made of it: `pg_boss`, `river`, `oban`, `procrastinate`, `graphile_worker`,
    `solid_queue`.

    Parameters
    ----------
    rescue_after
        Age of an attempt, or of a heartbeat, after which it is rescued; None: it never is.
    rescue_every, rescue_phase
        When the rescuer looks: so often, and for the first time then.
    heartbeat_every
        How often a process says that it lives; None: it doesn't, and age alone counts.
    rescued
        What becomes of it: "return", or "dead_letter": it counts as failed.
    max_attempts
        Attempts, counted at the claim; None: no limit.
    retry_delay
        After a failure: a number, or a rule.
    late_ack
        What a completion does that comes too late, as of the generic broker.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = STATUS_FACTS

    rescue_after: float | None
    rescue_every: float | None
    rescue_phase: float = 0.0
    heartbeat_every: float | None = None
    rescued: str = "return"
    max_attempts: int | None = None
    retry_delay: float | Backoff = 0.0
    late_ack: str = "in_flight_only"

    def __post_init__(self) -> None:
        for name in ("rescue_after", "rescue_every", "heartbeat_every"):
            if getattr(self, name) is not None:
                checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        if (self.rescue_after is None) != (self.rescue_every is None):
            raise checks.fail("broker.rescue_every", self.rescue_every, "given with rescue_after")
        checks.non_negative("broker.rescue_phase", self.rescue_phase, "seconds")
        checks.one_of("broker.rescued", self.rescued, ("return", "dead_letter"))
        if self.max_attempts is not None:
            checks.whole("broker.max_attempts", self.max_attempts, 1)
        as_backoff("broker.retry_delay", self.retry_delay)
        self.generic()

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        beats = self.rescue_after is not None and self.heartbeat_every is not None
        return Generic(
            lease=self.rescue_after,
            sweep_period=self.rescue_every,
            sweep_phase=self.rescue_phase,
            renew_every=self.heartbeat_every if beats else None,
            renew_what="process" if beats else "running",
            on_expiry=self.rescued,
            late_ack=self.late_ack,
            retry_delay=self.retry_delay,
            max_receives=self.max_attempts,
        )


def pg_boss(
    *,
    expire_in_seconds: float = 900.0,
    heartbeat_seconds: float | None = None,
    monitor_interval_seconds: float = 60.0,
    retry_limit: int = 2,
    retry_delay: float | Backoff = 0.0,
) -> StatusColumn:
    """Return pg-boss: `expireInSeconds` below 86,400, `heartbeatSeconds` of 10 or more, and so on.

    With heartbeats a worker sends one at half of their time.
    """
    checks.between("broker.expire_in_seconds", expire_in_seconds, 1, 86_399, "seconds")
    if heartbeat_seconds is not None:
        checks.between("broker.heartbeat_seconds", heartbeat_seconds, 10, math.inf, "seconds")
    checks.whole("broker.retry_limit", retry_limit)
    return StatusColumn(
        rescue_after=expire_in_seconds if heartbeat_seconds is None else heartbeat_seconds,
        rescue_every=monitor_interval_seconds,
        heartbeat_every=None if heartbeat_seconds is None else heartbeat_seconds / 2,
        max_attempts=retry_limit + 1,
        retry_delay=retry_delay,
    )


def river(
    *, rescue_stuck_jobs_after: float = 3_600.0, max_attempts: int = 25, rescue_phase: float = 0.0
) -> StatusColumn:
    """Return River: `RescueStuckJobsAfter`, looked at every 30 s; `MaxAttempts`.

    Its `JobTimeout` of a minute is ``Workers(time_limit=60)``.
    """
    return StatusColumn(
        rescue_after=rescue_stuck_jobs_after,
        rescue_every=30.0,
        rescue_phase=rescue_phase,
        max_attempts=max_attempts,
        retry_delay=schedules.river,
    )


def oban(
    *,
    lifeline: bool = True,
    rescue_after: float = 3_600.0,
    interval: float = 60.0,
    rescue_phase: float = 0.0,
    max_attempts: int = 20,
) -> StatusColumn:
    """Return Oban, with its Lifeline plugin (`rescue_after`, `interval`) or without."""
    return StatusColumn(
        rescue_after=rescue_after if lifeline else None,
        rescue_every=interval if lifeline else None,
        rescue_phase=rescue_phase,
        max_attempts=max_attempts,
        retry_delay=schedules.oban,
        late_ack="overrides",
    )


def procrastinate(*, rescue_every: float | None = None, max_attempts: int = 0) -> StatusColumn:
    """Return Procrastinate: `max_attempts` retries, N + 1 runs.

    A process sends a heartbeat every 10 s and is stalled after 30 s; a task of your own retries
    stalled jobs, every `rescue_every` seconds. None: you have none, and they stay as they are.
    """
    checks.whole("broker.max_attempts", max_attempts)
    return StatusColumn(
        rescue_after=None if rescue_every is None else 30.0,
        rescue_every=rescue_every,
        heartbeat_every=10.0,
        max_attempts=max_attempts + 1,
        late_ack="deletes",
    )


def graphile_worker(*, scan_every: float = 540.0, max_attempts: int = 25) -> StatusColumn:
    """Return Graphile Worker: locks of 4 h, which cannot be changed; a scan every 480 to 600 s."""
    checks.between("broker.scan_every", scan_every, 480, 600, "seconds")
    return StatusColumn(
        rescue_after=14_400.0,
        rescue_every=scan_every,
        max_attempts=max_attempts,
        retry_delay=schedules.graphile,
    )


def solid_queue(
    *, process_heartbeat_interval: float = 60.0, process_alive_threshold: float = 300.0
) -> StatusColumn:
    """Return Solid Queue: jobs of a process that is missed are marked as failed, not retried."""
    return StatusColumn(
        rescue_after=process_alive_threshold,
        rescue_every=process_alive_threshold,
        heartbeat_every=process_heartbeat_interval,
        rescued="dead_letter",
    )
