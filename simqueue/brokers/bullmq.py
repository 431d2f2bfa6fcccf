"""BullMQ, on Redis, as of version 5 and 6.

Sources: taskforcesh/bullmq (`src/commands/*.lua`, `src/classes/job.ts`, `lock-manager.ts`,
`worker.ts`, `backoffs.ts`, its guide). What is known stands in `facts()`, one by one.

In short: a worker takes a lock on the job that it runs, and renews it. A job whose lock is gone is
stalled; a check that looks twice before it believes so puts it back. How often it may stall is
counted apart from its attempts. Who finishes without its lock is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simqueue import checks
from simqueue.backoff import Backoff, as_backoff
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

FACTS = (
    Fact(
        "lock",
        "30 s, for each job that runs; it starts as the job is picked up (no prefetch)",
        "moveToActive, prepareJobForProcessing; worker-options.ts",
        "test_a_job_that_is_not_renewed_stalls",
    ),
    Fact(
        "renewal",
        "by the worker, every lockRenewTime (half of the lock unless set), while it runs the job",
        "lock-manager.ts; extendLock.lua",
        "test_a_worker_renews_its_locks",
    ),
    Fact(
        "a blocked event loop",
        "renews nothing: longer than the lock, and the job runs twice",
        "guide: stalled jobs",
        "test_a_blocked_event_loop_stalls_its_jobs",
    ),
    Fact(
        "a lost lock",
        "can't be had back, and the processor goes on",
        "extendLock.lua",
        "test_a_lost_lock_is_not_renewed",
    ),
    Fact(
        "stalled check",
        "every 30 s, in two phases: it marks all active jobs, and the next one puts back those "
        "still marked whose lock is gone",
        "moveStalledJobsToWait-9.lua",
        "test_the_stalled_check_looks_twice",
    ),
    Fact(
        "after a crash",
        "back 15 to 60 s later, with the defaults",
        "derived from the two above",
        "test_a_crash_is_noticed_within_a_minute",
    ),
    Fact(
        "a stalled job",
        "is the next to be taken",
        "moveStalledJobsToWait-9.lua: RPUSH",
        "test_a_stalled_job_is_the_next",
    ),
    Fact(
        "maxStalledCount N",
        "N + 1 starts; one stall more fails the job",
        "moveStalledJobsToWait-9.lua, stc",
        "test_one_stall_is_allowed_by_default",
    ),
    Fact(
        "failing of a stalled job",
        "only when a worker next takes it, without a run; attempts don't help",
        "worker.ts, deferred failure since v5",
        "test_a_job_that_stalled_too_often_fails_lazily",
    ),
    Fact(
        "stalls and attempts",
        "are counted apart",
        "job.ts: atm and stc",
        "test_stalls_are_no_attempts",
    ),
    Fact(
        "finishing without the lock",
        "is refused (missing lock, lock mismatch), also if nobody has taken the job yet",
        "finished-errors.ts, removeLock",
        "test_finishing_without_the_lock_is_refused",
    ),
    Fact(
        "attempts N",
        "N runs; 1 unless set; then the job is in the failed set",
        "job.ts, shouldRetryJob",
        "test_attempts_are_runs",
    ),
    Fact(
        "backoff",
        "none: at once, behind all others; fixed; exponential: 2^(n-1) times the delay; jitter "
        "takes a random share of up to that much off",
        "backoffs.ts",
        "test_backoff_is_fixed_or_exponential",
    ),
    Fact(
        "jobId",
        "a second add is ignored while the job is there, in any state; by default for ever",
        "addStandardJob, handleDuplicatedJob.lua",
        "test_a_job_id_is_known_for_as_long_as_the_job_is_kept",
    ),
    Fact(
        "deduplication",
        "simple: until the job is done; throttle: for a time; debounce: each add starts it anew",
        "guide: deduplication",
        "test_deduplication_ends_with_the_job_or_with_time",
    ),
    Fact(
        "maxStartedAttempts",
        "a limit of all starts, stalled or not",
        "worker-options.ts",
        left_out="it would be a third limit beside the two; unset by default",
    ),
    Fact(
        "sandboxed processors",
        "renew in the parent, whatever the child does",
        "guide: sandboxed processors",
        left_out="the same as no pause: leave the fault out",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Exponential:
    """BullMQ's exponential backoff: 2^(n-1) times `delay` seconds, n failures in.

    `jitter`, 0 to 1, takes a random share of up to that much off. Source: `backoffs.ts`.
    """

    delay: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative("backoff.delay", self.delay, "seconds")
        checks.probability("backoff.jitter", self.jitter)

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return the delay after failure number `attempt`, in seconds."""
        longest = self.delay * 2.0 ** (attempt - 1)
        return longest * (1 - self.jitter * rng.random()) if self.jitter else longest


@dataclass(frozen=True, kw_only=True)
class BullMQ(Profile):
    """A queue of BullMQ and its workers. Times are in seconds, where BullMQ has milliseconds.

    Parameters
    ----------
    lock_duration, lock_renew_time
        `lockDuration`, above 0, and `lockRenewTime`; None: half of it. The lock is renewed every
        `lock_renew_time` while the job runs. (The real timer looks twice as often and renews what
        is older than half the time, so intervals lie between half and the whole.)
    stalled_interval
        `stalledInterval`, above 0. The first check is at 0.
    max_stalled_count
        `maxStalledCount`, 0 or more.
    attempts, backoff
        `attempts` of a job: how many runs, 1 or more. Its `backoff`: None; a number of seconds;
        `bullmq.Exponential`, or any rule of `simqueue.backoff`.
    skip_lock_renewal, skip_stalled_check
        `skipLockRenewal`, `skipStalledCheck`.
    remove_on_complete
        `removeOnComplete`: after so many seconds a job that is done, or has failed, is forgotten,
        and its jobId with it; None: never.
    deduplication, debounce
        `deduplication` instead of the jobId: "simple", or for so many seconds, its `ttl`; with
        `debounce` (`extend`) each add starts them anew. None: by jobId.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FACTS

    lock_duration: float = 30.0
    lock_renew_time: float | None = None
    stalled_interval: float = 30.0
    max_stalled_count: int = 1
    attempts: int = 1
    backoff: float | Backoff | None = None
    skip_lock_renewal: bool = False
    skip_stalled_check: bool = False
    remove_on_complete: float | None = None
    deduplication: str | float | None = None
    debounce: bool = False

    def __post_init__(self) -> None:
        for name in ("lock_duration", "stalled_interval"):
            checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        if self.lock_renew_time is not None:
            checks.positive("broker.lock_renew_time", self.lock_renew_time, "seconds")
        checks.whole("broker.max_stalled_count", self.max_stalled_count)
        checks.whole("broker.attempts", self.attempts, 1)
        if self.backoff is not None:
            as_backoff("broker.backoff", self.backoff)
        if self.remove_on_complete is not None:
            checks.non_negative("broker.remove_on_complete", self.remove_on_complete, "seconds")
        if isinstance(self.deduplication, str):
            checks.one_of("broker.deduplication", self.deduplication, ("simple",))
        elif self.deduplication is not None:
            checks.positive("broker.deduplication", self.deduplication, "seconds")
        if self.debounce and not isinstance(self.deduplication, int | float):
            raise checks.fail("broker.debounce", True, "False without a deduplication in seconds")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        renew = self.lock_duration / 2 if self.lock_renew_time is None else self.lock_renew_time
        by_time = isinstance(self.deduplication, int | float)
        return Generic(
            lease=self.lock_duration,
            sweep_period=None if self.skip_stalled_check else self.stalled_interval,
            two_passes=not self.skip_stalled_check,
            sweep_at_boot=math.inf if self.skip_stalled_check else None,
            renew_every=None if self.skip_lock_renewal else renew,
            late_ack="unexpired",
            retry_delay=0.0 if self.backoff is None else self.backoff,
            returns_to="front_unless_failed",
            max_receives=self.attempts,
            counts=("failure",),
            max_stalls=self.max_stalled_count,
            stalls=("expiry",),
            stalls_noticed="receive",
            dedupe_window=float(self.deduplication) if by_time and self.deduplication else None,
            dedupe_refreshes=self.debounce,
            dedupe_after=None if by_time else self._known_after(),
        )

    def _known_after(self) -> float:
        if self.deduplication == "simple":
            return 0.0
        return math.inf if self.remove_on_complete is None else self.remove_on_complete
