"""Every real broker with parameters drawn at random from what it allows, and scenarios for it.

Times are as small as the broker's ranges let them be, so that they matter within a run's horizon.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from faults_at_random import SECONDS, crashes, faults, networks, seldom
from hypothesis import assume
from hypothesis import strategies as st
from scenarios_at_random import HANDLERS, TEAMS, arrivals, producers, services, work, workers

import simqueue as sq
from simqueue import backoff
from simqueue.brokers.all_facts import KINDS
from simqueue.model.log.settings import COMMITS, ON_FAILURE, ON_REVOKE, PARTITION_BY, REJOINS

FLAG = st.booleans()
SOON = st.sampled_from([5, 10, 12.5, 20, 30])
LIMITS = st.integers(1, 4)
DELAYS = st.sampled_from([1, 5, 7.5, 20, backoff.Linear(5), backoff.FullJitter(base=5)])

DRAWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "sqs": {
        "visibility_timeout": SOON,
        "max_receive_count": seldom(LIMITS),
        "delay_seconds": seldom(SECONDS, 0.0),
        "message_retention_period": st.sampled_from([60, 90, 345_600]),
        "duplicates": seldom(st.just(0.3), 0.0),
    },
    "sqs_fifo": {
        "visibility_timeout": SOON,
        "max_receive_count": seldom(LIMITS),
        "delay_seconds": seldom(SECONDS, 0.0),
        "message_retention_period": st.sampled_from([60, 90, 345_600]),
    },
    "rabbitmq": {
        "version": st.sampled_from(["3.13", "4.2", "4.3", "4.3"]),
        "queue": st.sampled_from(["quorum", "quorum", "classic"]),
        "auto_ack": seldom(FLAG, False),
        "heartbeat": st.sampled_from([0, 5, 20]),
        "consumer_timeout": st.sampled_from([60, 70, None]),
        "delivery_limit": seldom(st.integers(0, 3)),
        "on_error": st.sampled_from(["nack", "reject", "dead_letter"]),
        "dead_letter_exchange": FLAG,
        "delayed_retry_type": seldom(st.sampled_from(["all", "failed", "returned"]), "disabled"),
        "delayed_retry_min": SECONDS,
        "delayed_retry_max": st.none() | SECONDS,
        "resubscribe_after": st.none() | SECONDS,
    },
    "bullmq": {
        "lock_duration": SOON,
        "lock_renew_time": seldom(SECONDS),
        "stalled_interval": SOON,
        "max_stalled_count": st.integers(0, 2),
        "attempts": LIMITS,
        "backoff": seldom(DELAYS),
        "skip_lock_renewal": FLAG,
        "skip_stalled_check": seldom(FLAG, False),
        "remove_on_complete": seldom(SECONDS),
        "deduplication": seldom(st.just("simple") | SECONDS),
    },
    "sidekiq": {
        "retry": st.sampled_from([False, 0, 1, 2]),
        "dead": FLAG,
        "average_scheduled_poll_interval": SECONDS,
        "processes": st.sampled_from([1, 10]),
    },
    "sidekiq_super_fetch": {
        "retry": st.sampled_from([False, 0, 1, 2]),
        "dead": FLAG,
        "average_scheduled_poll_interval": SECONDS,
        "super_fetch_orphan_check": st.sampled_from([0, 10, 60, 3_600]),
    },
    "pubsub": {
        "ack_deadline": st.sampled_from([10, 12.5, 20]),
        "lease_management": FLAG,
        "max_lease_duration": st.sampled_from([0, 10, 25, 3_600]),
        "enable_exactly_once_delivery": FLAG,
        "retry_policy": seldom(st.sampled_from([(0, 10), (5, 5), (10, 60)])),
        "max_delivery_attempts": seldom(st.just(5)),
        "enable_message_ordering": FLAG,
    },
    "kafka": {
        "partitions": st.integers(1, 4),
        "partition_by": st.sampled_from(PARTITION_BY),
        "retention": seldom(st.sampled_from([30, 60])),
        "enable_idempotence": FLAG,
        "heartbeat_interval": st.sampled_from([1, 3]),
        "session_timeout": st.sampled_from([6, 10, 45]),
        "max_poll_interval": st.sampled_from([15, 30, 300]),
        "max_poll_records": st.sampled_from([1, 2, 5, 500]),
        "initial_rebalance_delay": st.sampled_from([0, 3]),
        "group_instance_id": seldom(FLAG, False),
        "rejoin": st.sampled_from(REJOINS),
        "commit": st.sampled_from(COMMITS),
        "auto_commit_interval": st.sampled_from([1, 5, 20]),
        "fenced": seldom(FLAG, True),
        "on_revoke": st.sampled_from(ON_REVOKE),
        "drain_limit": seldom(SECONDS),
        "fence_first": seldom(FLAG, False),
        "on_failure": st.sampled_from(ON_FAILURE),
        "retry_delay": DELAYS,
        "max_attempts": seldom(LIMITS),
        "dead_letter": FLAG,
    },
    "redis_list": {
        "pop": st.sampled_from(["BLMOVE", "BLMOVE", "BRPOP"]),
        "monitor_every": st.none() | SECONDS,
        "stale_after": SOON,
    },
    "redis_stream": {
        "claim_every": st.none() | SECONDS | SECONDS,
        "min_idle_time": SOON,
        "count": st.sampled_from([1, 2, 100]),
        "heartbeat_every": seldom(SECONDS),
        "max_deliveries": seldom(LIMITS),
        "noack": seldom(FLAG, False),
    },
    "row_lock": {"keepalive": st.sampled_from([0, 10, 7_200])},
    "good_job": {"keepalive": st.sampled_from([0, 10, 7_200])},
    "pgmq": {"vt": SOON, "pop": seldom(FLAG, False)},
    "status_column": {
        "rescue_after": SOON,
        "rescue_every": SECONDS,
        "rescue_phase": seldom(SECONDS, 0.0),
        "heartbeat_every": seldom(SECONDS),
        "rescued": st.sampled_from(["return", "return", "dead_letter"]),
        "max_attempts": seldom(LIMITS),
        "retry_delay": DELAYS,
        "late_ack": st.sampled_from(["in_flight_only", "overrides", "deletes", "unexpired"]),
    },
    "celery_redis": {
        "acks_late": FLAG,
        "visibility_timeout": SOON,
        "unacked_restore_interval": st.sampled_from([1, 5]),
        "unacked_restore_throttle": st.sampled_from([1, 3]),
        "sweep_phase": seldom(SECONDS, 0.0),
        "reject_on_worker_lost": FLAG,
        "max_retries": st.integers(0, 3),
        "default_retry_delay": SECONDS,
    },
    "celery_rabbitmq": {
        "acks_late": FLAG,
        "consumer_timeout": st.sampled_from([60, 70, None]),
        "heartbeat": st.sampled_from([0, 5, 20]),
        "forgets_due": FLAG,
        "reject_on_worker_lost": FLAG,
        "max_retries": st.integers(0, 3),
        "default_retry_delay": SECONDS,
    },
    "service_bus": {
        "lock_duration": SOON,
        "max_delivery_count": LIMITS,
        "max_auto_lock_renewal_duration": st.sampled_from([0, 10, 25, 300]),
        "receive_mode": st.sampled_from(["peek_lock", "peek_lock", "receive_and_delete"]),
        "requires_duplicate_detection": FLAG,
        "duplicate_detection_history_time_window": st.sampled_from([20, 30]),
        "requires_session": FLAG,
    },
}
"""Of each broker, what its parameters are drawn from. What is not here keeps its default."""


@st.composite
def real_brokers(draw: st.DrawFn, name: str) -> Any:
    """The broker with this name, with parameters that it allows."""
    parameters = {key: draw(values) for key, values in DRAWN[name].items()}
    try:
        return KINDS[name](**parameters)
    except ValueError:  # some do not go together
        assume(False)


@st.composite
def scenarios_on(draw: st.DrawFn, name: str) -> sq.Scenario:
    """A scenario of 1 to 20 jobs on the broker with this name."""
    jobs = draw(st.integers(6, 20) | st.integers(1, 4))
    crew = draw(workers(draw(st.sampled_from(TEAMS))))
    network = draw(seldom(networks(), sq.Network()))
    sends = draw(producers())
    broker = draw(real_brokers(name))
    sweeps = getattr(broker.settings(), "sweep_period", None) is not None
    others = draw(faults(crew.count, sweeps=sweeps))
    if name == "kafka":
        crash = draw(seldom(crashes(crew.count)))
        threads = draw(st.integers(1, 1 if broker.commit == "after_batch" else 2))
        crew = sq.Workers(count=crew.count, concurrency=threads, crash=crash)
        network = dataclasses.replace(network, delivery_lost=0.0)
        others = [fault for fault in others if fits_a_log(fault)]
        sends = dataclasses.replace(sends, due_after=0.0)
    elif crew.batch and crew.batch > (broker.settings().most_per_receive or crew.batch):
        crew = dataclasses.replace(crew, batch=None)
    elif broker.settings().due_held_by == "worker":
        crew = dataclasses.replace(crew, throttled=False)
    handlers = HANDLERS if comes_to_an_end(broker.settings()) else (sq.handlers.naive,)
    return sq.Scenario(
        arrivals=draw(arrivals(jobs)),
        jobs=jobs,
        work=draw(work(jobs)),
        workers=crew,
        broker=broker,
        handler=draw(st.sampled_from(handlers)),
        network=network,
        producers=sends,
        groups=draw(st.integers(1, 4)),
        customers=draw(st.none() | st.integers(1, 3)),
        faults=others,
        horizon=draw(st.sampled_from([75, 150])),
        **draw(services()),
    )


def comes_to_an_end(settings: Any) -> bool:
    """Whether a handler that fails at once is not tried again at once for ever."""
    at_once = settings.retry == backoff.Constant(0)
    counts = getattr(settings, "counts", {"failure"})
    limited = settings.max_attempts is not None and counts & {"receive", "failure"}
    return bool(limited) or not at_once


def fits_a_log(fault: Any) -> bool:
    """Whether a log knows what this fault is about."""
    return not (getattr(fault, "push_back", False) or getattr(fault, "delivery_lost", 0))
