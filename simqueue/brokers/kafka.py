"""Apache Kafka: consumer groups on a partitioned log.

Facts (Apache Kafka's documentation of consumer and producer configurations, the javadoc of
`KafkaConsumer` and `KafkaProducer`, and the sources of client and group coordinator; `facts` lists
them one by one):

- A record is never handed back, hidden or acked by itself. A partition belongs to one member of the
  group, and the group commits an offset: who gets the partition next begins to read there.
- A member that dies is missed `session.timeout.ms` after its last heartbeat. One that does not poll
  for `max.poll.interval.ms` leaves by itself, while what it works on goes on.
- Any join or leave takes all partitions away from all members (the classic protocol, eager).
- Auto-commit happens inside poll() and covers what earlier polls returned.
- There is no retry, no limit of attempts and no dead-letter queue in the broker.
- The idempotent producer lets no resend of its own become a second record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from simqueue import checks
from simqueue.backoff import Backoff, as_backoff
from simqueue.brokers.kafka_facts import FACTS
from simqueue.model.log.settings import (
    COMMITS,
    ON_FAILURE,
    ON_REVOKE,
    PARTITION_BY,
    REJOINS,
    LogSettings,
)

if TYPE_CHECKING:
    from simqueue.brokers.facts import Fact
    from simqueue.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Kafka:
    """A topic, its consumer group, and how the group's consumers are written. Times in seconds.

    The workers of the scenario are the members; with a concurrency above 1 each hands its records
    over to so many threads and polls on, fetching more as soon as a thread has nothing to do.

    Parameters
    ----------
    partitions
        How many the topic has, 1 or more.
    partition_by
        What decides on the partition: "job" (each has a key of its own: its id modulo the number of
        partitions) or "group" (the job's group, likewise).
    retention
        `retention.ms`: seconds after which a record is deleted, read or not; None: never.
    enable_idempotence
        `enable.idempotence` of the producer: its own resends are recognised.
    heartbeat_interval, session_timeout
        `heartbeat.interval.ms`, and `session.timeout.ms` from 6 to 1,800 (the broker's limits),
        above the former.
    max_poll_interval, max_poll_records
        `max.poll.interval.ms`; `max.poll.records`, 1 or more.
    initial_rebalance_delay
        `group.initial.rebalance.delay.ms` of the broker: how long an empty group waits for members.
    group_instance_id
        Whether each worker has a `group.instance.id`: a static member, which takes its old place
        when it restarts, and never says good-bye.
    rejoin
        Where a client joins again in a rebalance: in its next "poll" (Java), or at its next
        heartbeat in the "background" (librdkafka without a callback, aiokafka), whatever runs. With
        threads (concurrency above 1) polls come all the time, and both are the same.
    commit
        "auto": `enable.auto.commit`, inside poll; "after": each record, when it is done;
        "after_batch": when all is done that a poll returned; "before": as soon as a poll has
        returned; "background": every `auto_commit_interval`, all that was handed to the handler
        (librdkafka, offsets stored automatically); "stored": the same, but what is done. With
        threads, "after" and "stored" commit up to the first record that is not done.
    auto_commit_interval
        `auto.commit.interval.ms`.
    fenced
        Whether the coordinator refuses commits of who is not the owner (any more). It does; some
        old clients went around it.
    on_revoke
        What a consumer does before it gives partitions up while its records run: "drop": nothing,
        and what waits is thrown away; "drain": wait for what runs, and commit it; "keep": go on
        with all that it has, as if nothing had happened.
    drain_limit
        Longest time that "drain" waits; None: no limit but those of the coordinator.
    fence_first
        Whether the right to commit is gone before the drain begins.
    on_failure
        What a consumer does with a record whose handler raised: "stop": try it again in its place,
        and nothing behind it in its partition meanwhile; "skip": go on; "retry_topic": append it
        anew after the delay, and go on.
    retry_delay
        Until it is tried again: a number, or a rule of `simqueue.backoff`.
    max_attempts
        After so many "stop" and "retry_topic" give up, as "skip" does; None: never.
    dead_letter
        Whether a record that is given up goes to a dead-letter topic, or nowhere.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = FACTS

    partitions: int = 1
    partition_by: str = "job"
    retention: float | None = None
    enable_idempotence: bool = True
    heartbeat_interval: float = 3.0
    session_timeout: float = 45.0
    max_poll_interval: float = 300.0
    max_poll_records: int = 500
    initial_rebalance_delay: float = 3.0
    group_instance_id: bool = False
    rejoin: str = "poll"
    commit: str = "auto"
    auto_commit_interval: float = 5.0
    fenced: bool = True
    on_revoke: str = "drop"
    drain_limit: float | None = None
    fence_first: bool = False
    on_failure: str = "stop"
    retry_delay: float | Backoff = 0.0
    max_attempts: int | None = None
    dead_letter: bool = False

    def __post_init__(self) -> None:
        for name in ("partitions", "max_poll_records"):
            checks.whole(f"broker.{name}", getattr(self, name), 1)
        for name in ("heartbeat_interval", "max_poll_interval", "auto_commit_interval"):
            checks.positive(f"broker.{name}", getattr(self, name), "seconds")
        for name in ("retention", "drain_limit"):
            if getattr(self, name) is not None:
                checks.non_negative(f"broker.{name}", getattr(self, name), "seconds")
        checks.between("broker.session_timeout", self.session_timeout, 6, 1_800, "seconds")
        if self.heartbeat_interval >= self.session_timeout:
            allowed = f"below the session_timeout of {self.session_timeout:g} s"
            raise checks.fail("broker.heartbeat_interval", self.heartbeat_interval, allowed)
        checks.non_negative(
            "broker.initial_rebalance_delay", self.initial_rebalance_delay, "seconds"
        )
        for name, words in WORDS.items():
            checks.one_of(f"broker.{name}", getattr(self, name), words)
        for name in FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise checks.fail(f"broker.{name}", getattr(self, name), "True or False")
        as_backoff("broker.retry_delay", self.retry_delay)
        if self.max_attempts is not None:
            checks.whole("broker.max_attempts", self.max_attempts, 1)

    def settings(self) -> LogSettings:
        """Return the group as settings of the model."""
        return LogSettings(
            partitions=self.partitions,
            partition_by=self.partition_by,
            retention=self.retention,
            idempotent_producer=self.enable_idempotence,
            heartbeat_interval=self.heartbeat_interval,
            session_timeout=self.session_timeout,
            max_poll_interval=self.max_poll_interval,
            initial_rebalance_delay=self.initial_rebalance_delay,
            static_members=self.group_instance_id,
            rejoin=self.rejoin,
            max_poll_records=self.max_poll_records,
            commit=self.commit,
            auto_commit_interval=self.auto_commit_interval,
            fenced=self.fenced,
            on_revoke=self.on_revoke,
            drain_limit=math.inf if self.drain_limit is None else self.drain_limit,
            fence_first=self.fence_first,
            on_failure=self.on_failure,
            retry=as_backoff("broker.retry_delay", self.retry_delay),
            max_attempts=self.max_attempts,
            dead_letter=self.dead_letter,
        )

    def check_fits(self, scenario: Scenario) -> None:
        """Raise ValueError where `scenario` asks for what a log does not have."""
        workers = scenario.workers
        if workers.concurrency > 1 and self.commit == "after_batch":
            allowed = "1 with commit 'after_batch': threads that are fed all the time have no batch"
            raise checks.fail("workers.concurrency", workers.concurrency, allowed)
        for name, value, plain, why in (
            ("workers.prefetch", workers.prefetch, None, "max_poll_records says what a poll takes"),
            ("workers.batch", workers.batch, None, "max_poll_records says what a poll takes"),
            ("workers.throttled", workers.throttled, False, "a consumer runs all that it polls"),
            ("workers.holds_once", workers.holds_once, False, "no record is hidden by itself"),
            ("workers.poll_every", workers.poll_every, None, "consumers poll all the time"),
            ("network.delivery_lost", scenario.network.delivery_lost, 0, "a poll asks again"),
            ("producers.due_after", scenario.producers.due_after, 0, "it has no delayed records"),
        ):
            if value != plain:
                raise checks.fail(name, value, f"{plain} with a log: {why}")
        for fault in scenario.faults:
            if getattr(fault, "push_back", False):
                allowed = "False with a log: nothing can be given back to it"
                raise checks.fail("deploy.push_back", True, allowed)

    def facts(self) -> tuple[Fact, ...]:
        """Return what is known of Kafka and modelled here, with sources and tests."""
        return self.FACTS


WORDS = {
    "partition_by": PARTITION_BY,
    "rejoin": REJOINS,
    "commit": COMMITS,
    "on_revoke": ON_REVOKE,
    "on_failure": ON_FAILURE,
}
FLAGS = ("enable_idempotence", "group_instance_id", "fenced", "fence_first", "dead_letter")
