"""Sidekiq: basic fetch, and the super_fetch of Sidekiq Pro.

Sources: sidekiq/sidekiq (`lib/sidekiq/fetch.rb`, `processor.rb`, `manager.rb`, `launcher.rb`,
`job_retry.rb`, `scheduled.rb`), its wiki (Reliability, Error Handling), and for super_fetch, whose
source is closed, the wiki and issues 3196, 3273 and 4633. What is known stands in `facts()`.

In short: basic fetch takes a job out of Redis and runs it; a process that is killed takes its jobs
along. super_fetch keeps them in a list of the process's own; when a process starts, it looks for
the lists of the dead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from simqueue import checks, schedules
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile

DAY = 86_400.0
HEARTBEAT = 10.0
HEARTBEAT_LIFE = 60.0
POISON_PILL_RECOVERIES = 3
POISON_PILL_WITHIN = 3 * DAY
MANY_PROCESSES = 10

RETRY_FACTS = (
    Fact(
        "retry delay",
        "n^4 + 15 s and up to 10 (n + 1) s at random, for the retry number n, from 0",
        "job_retry.rb",
        "test_the_first_retries_wait_for_15_seconds_and_more",
    ),
    Fact(
        "retry 25",
        "25 retries unless set: 26 runs, and then the dead set",
        "job_retry.rb",
        "test_retry_n_means_n_plus_one_runs",
    ),
    Fact(
        "retry false",
        "one run; a failure is forgotten",
        "job_retry.rb",
        "test_without_retry_a_failure_is_the_end",
    ),
    Fact(
        "poll lag",
        "retries and scheduled jobs are looked at every 5 s on average: half to one and a half of "
        "that; from ten processes on, nothing to twice",
        "scheduled.rb",
        "test_a_retry_comes_with_the_next_poll",
    ),
    Fact(
        "dead set",
        "a job is kept there for 180 days",
        "dead_timeout_in_seconds",
        "test_the_dead_set_forgets_after_180_days",
    ),
    Fact(
        "dead set, most",
        "10,000 jobs are kept there",
        "dead_max_jobs",
        left_out="dead-lettered jobs are few in the scenarios of a course; they are kept by age",
    ),
    Fact(
        "scheduled jobs",
        "popped from one set and pushed to a queue: a crash in between loses the job",
        "scheduled.rb",
        left_out="a window of a millisecond; the poller is part of the broker here",
    ),
    Fact(
        "time limit",
        "none: a long job is never started a second time by that alone",
        "wiki: Reliability",
        "test_a_long_job_runs_once",
    ),
    Fact(
        "dedupe",
        "none (unique jobs are an Enterprise feature)",
        "Ent-Changes.md",
        "test_nothing_is_deduped",
    ),
)

BASIC_FACTS = (
    *RETRY_FACTS,
    Fact(
        "fetch is the ack",
        "BRPOP: a process that is killed takes its jobs along",
        "fetch.rb",
        "test_a_kill_loses_what_runs",
    ),
    Fact(
        "shutdown",
        "25 s to finish; then what runs is pushed back, to be popped next, and killed",
        "manager.rb, hard_shutdown; fetch.rb, bulk_requeue",
        "test_a_shutdown_pushes_back_what_is_not_done",
    ),
)

SUPER_FACTS = (
    *RETRY_FACTS,
    Fact(
        "private list",
        "a job stays in its process's list until it is done",
        "wiki: Reliability",
        "test_super_fetch_loses_nothing",
    ),
    Fact(
        "heartbeat",
        "of the process, every 10 s, with 60 s to live",
        "launcher.rb",
        "test_an_orphan_is_one_whose_heartbeat_is_over",
    ),
    Fact(
        "orphans",
        "are looked for when a process starts, if the last look was an hour ago or more",
        "wiki: Reliability; issues 3196, 3273",
        "test_orphans_wait_for_a_start",
    ),
    Fact(
        "poison pill",
        "a job that was recovered three times within 72 h goes to the dead set",
        "wiki: Reliability; issue 4633",
        "test_the_third_recovery_is_the_end",
    ),
    Fact(
        "recoveries and retries",
        "are counted apart",
        "derived; no source",
        "test_recoveries_are_no_retries",
    ),
    Fact(
        "a periodic look between starts",
        "a reimplementation's specification has one a minute",
        "unverified",
        left_out="not confirmed; `sweep_period` of the generic broker would show it",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Sidekiq(Profile):
    """A queue of Sidekiq with basic fetch. Times are in seconds.

    A deploy is `Deploy(grace=25, push_back=True)`: the `timeout` of 25 s is the process's.

    Parameters
    ----------
    retry
        `retry` of the job: how many retries, 0 or more; False: none, and no dead set.
    dead
        `dead`: whether a job whose retries are used up goes to the dead set, or is dropped.
    average_scheduled_poll_interval
        Seconds between two looks at retries, over all processes.
    processes
        How many processes look: from ten on, the intervals vary more.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = BASIC_FACTS

    retry: int | bool = 25
    dead: bool = True
    average_scheduled_poll_interval: float = 5.0
    processes: int = 1

    def __post_init__(self) -> None:
        if self.retry is not False:
            checks.whole("broker.retry", self.retry)
        interval = self.average_scheduled_poll_interval
        checks.positive("broker.average_scheduled_poll_interval", interval, "seconds")
        checks.whole("broker.processes", self.processes, 1)

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return replace(self.retries(), ack_when="received")

    def retries(self) -> Generic:
        """Return what both ways to fetch share: retries and the dead set."""
        return Generic(
            lease=None,
            retry_delay=schedules.sidekiq,
            max_receives=int(self.retry) + 1,
            counts=("failure",),
            exhausted="dead_letter" if self.dead and self.retry is not False else "drop",
            dead_letter_retention=180 * DAY,
            poll_delayed=self.average_scheduled_poll_interval,
            poll_jitter=1.0 if self.processes >= MANY_PROCESSES else 0.5,
        )


@dataclass(frozen=True, kw_only=True)
class SidekiqSuperFetch(Sidekiq):
    """A queue of Sidekiq Pro with super_fetch. Times are in seconds.

    Parameters
    ----------
    retry, dead, average_scheduled_poll_interval, processes
        As for basic fetch.
    super_fetch_orphan_check
        A process that starts looks for orphans only if nobody has for so long.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = SUPER_FACTS

    super_fetch_orphan_check: float = 3_600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check = self.super_fetch_orphan_check
        checks.non_negative("broker.super_fetch_orphan_check", check, "seconds")

    def generic(self) -> Generic:
        """Return the same queue in the model's own words."""
        return replace(
            self.retries(),
            lease=HEARTBEAT_LIFE,
            renew_every=HEARTBEAT,
            renew_what="process",
            sweep_at_boot=self.super_fetch_orphan_check,
            late_ack="ignored",
            max_stalls=POISON_PILL_RECOVERIES - 1,
            stalls=("expiry",),
            stalls_within=POISON_PILL_WITHIN,
        )
