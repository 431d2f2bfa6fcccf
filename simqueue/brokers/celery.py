"""Celery: its workers, with Redis or RabbitMQ between them.

Sources: celery/celery (`celery/app/task.py`, `worker/request.py`, the configuration reference, the
user guide on Redis) and celery/kombu (`kombu/transport/redis.py`, `transport/virtual/base.py`).
What is known stands in `facts()`, one by one.

In short: a task is acked as it starts (early), or when it is done (late). On Redis the ack is
Celery's own work: a record of what is out, and a sweep that restores what is out for too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from simqueue import checks
from simqueue.brokers.facts import Fact
from simqueue.brokers.generic import Generic
from simqueue.brokers.profile import Profile
from simqueue.brokers.rabbitmq import CONSUMER_TIMEOUT, TIMEOUT_SCAN, RabbitMQ

TASK_FACTS = (
    Fact(
        "early ack",
        "as the task starts: a crash loses what runs, and not what waits in the worker",
        "request.py; task_acks_late False",
        "test_an_early_ack_loses_what_runs",
    ),
    Fact(
        "late ack",
        "when the task is done",
        "task_acks_late True",
        "test_a_late_ack_loses_nothing",
    ),
    Fact(
        "failure",
        "an exception is acked all the same; only a retry is another run",
        "task_acks_on_failure_or_timeout True",
        "test_a_failure_is_acked",
    ),
    Fact(
        "max_retries N",
        "N + 1 runs; 3 unless set, 180 s apart",
        "task.py: max_retries, default_retry_delay",
        "test_retries_are_three_and_180_seconds_apart",
    ),
    Fact(
        "a lost child process",
        "the task is acked and failed, late ack or not",
        "request.py, on_failure: WorkerLostError",
        "test_a_task_whose_child_was_killed_is_acked",
    ),
    Fact(
        "task_reject_on_worker_lost",
        "then it goes back instead, at the tail, and nobody counts",
        "request.py; redis.py, reject",
        "test_a_rejected_task_kills_child_after_child",
    ),
    Fact(
        "prefetch",
        "4 for each process (in simqueue: `Workers.prefetch`), from which the timers run",
        "worker_prefetch_multiplier",
        "test_prefetched_tasks_age_in_the_worker",
    ),
    Fact(
        "ETA and countdown",
        "the worker holds the task, unacked, until it is due",
        "user guide: calling tasks",
        "test_a_worker_holds_tasks_until_they_are_due",
    ),
    Fact(
        "dead-letter queue",
        "none: the task is marked as failed",
        "user guide",
        "test_a_failure_is_acked",
    ),
)

REDIS_FACTS = (
    *TASK_FACTS,
    Fact(
        "visibility timeout",
        "3,600 s from the delivery to the worker; nothing renews it",
        "redis.py: unacked_index",
        "test_a_long_task_is_restored_every_hour",
    ),
    Fact(
        "restore",
        "every 10 s a call, every tenth of which looks: up to 100 s late",
        "redis.py: unacked_restore_interval, unacked_restore_throttle",
        "test_a_restore_comes_up_to_100_seconds_late",
    ),
    Fact(
        "position",
        "restored tasks are the next; rejected ones the last",
        "redis.py, _do_restore_message; reject",
        "test_restored_tasks_are_the_next",
    ),
    Fact(
        "late ack of the first worker",
        "by delivery tag, the same for all copies: it clears the other's record",
        "redis.py, virtual/base.py",
        "test_an_ack_clears_the_other_workers_record",
    ),
    Fact(
        "late ack of a copy in the list",
        "does nothing: the copy runs",
        "redis.py",
        "test_a_copy_in_the_list_runs_all_the_same",
    ),
    Fact(
        "a task due after the timeout",
        "is restored, and executed by each worker that holds it",
        "docs: Redis, caveats",
        "test_a_task_due_after_the_timeout_runs_often",
    ),
    Fact(
        "pop and record",
        "are two steps: a crash between them loses the task",
        "redis.py; derived",
        left_out="a window of a millisecond; `At` with ack on receive shows the loss",
    ),
    Fact(
        "clock skew",
        "stamp and sweep use the workers' clocks",
        "redis.py; derived",
        left_out="there is one clock in the model",
    ),
)

RABBITMQ_FACTS = (
    *TASK_FACTS,
    Fact(
        "consumer timeout",
        "RabbitMQ's: it closes the channel of a worker that holds a task for too long, due or not",
        "user guide: RabbitMQ, visibility",
        "test_a_task_due_after_the_consumer_timeout_closes_the_channel",
    ),
    Fact(
        "after a lost connection",
        "running tasks go on, and run a second time elsewhere",
        "worker_cancel_long_running_tasks_on_connection_loss False",
        "test_a_lost_connection_runs_tasks_twice",
    ),
)


@dataclass(frozen=True, kw_only=True)
class CeleryRedis(Profile):
    """Celery on Redis. Times are in seconds.

    Parameters
    ----------
    acks_late
        `task_acks_late`.
    visibility_timeout
        `visibility_timeout` of the transport options.
    unacked_restore_interval, unacked_restore_throttle
        How often the worker calls for a restore, and which of the calls looks: the n-th.
    sweep_phase
        When the first look is, since the workers started at some time before: 0 or more.
    reject_on_worker_lost
        `task_reject_on_worker_lost`.
    max_retries, default_retry_delay
        Of the task: how many, None for no limit; seconds between them.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = REDIS_FACTS

    acks_late: bool = False
    visibility_timeout: float = 3_600.0
    unacked_restore_interval: float = 10.0
    unacked_restore_throttle: int = 10
    sweep_phase: float = 0.0
    reject_on_worker_lost: bool = False
    max_retries: int | None = 3
    default_retry_delay: float = 180.0

    def __post_init__(self) -> None:
        checks.positive("broker.visibility_timeout", self.visibility_timeout, "seconds")
        interval = self.unacked_restore_interval
        checks.positive("broker.unacked_restore_interval", interval, "seconds")
        checks.whole("broker.unacked_restore_throttle", self.unacked_restore_throttle, 1)
        checks.non_negative("broker.sweep_phase", self.sweep_phase, "seconds")
        check_task(self)

    def generic(self) -> Generic:
        """Return the same in the model's own words."""
        return replace(
            of_tasks(self),
            lease=self.visibility_timeout,
            sweep_period=self.unacked_restore_interval * self.unacked_restore_throttle,
            sweep_phase=self.sweep_phase,
            late_ack="in_flight_only",
            returns_to="front_unless_failed",
        )


@dataclass(frozen=True, kw_only=True)
class CeleryRabbitMQ(Profile):
    """Celery on RabbitMQ up to 4.2, classic queues. Times are in seconds.

    Parameters
    ----------
    acks_late, reject_on_worker_lost, max_retries, default_retry_delay
        As on Redis.
    consumer_timeout
        RabbitMQ's, 60 or more; None: none.
    heartbeat
        RabbitMQ's, in seconds; 0: none.
    forgets_due
        Whether a worker whose channel was closed forgets the tasks that it holds until they are
        due, or runs them then.
    """

    FACTS: ClassVar[tuple[Fact, ...]] = RABBITMQ_FACTS

    acks_late: bool = False
    consumer_timeout: float | None = CONSUMER_TIMEOUT
    heartbeat: float = 60.0
    forgets_due: bool = False
    reject_on_worker_lost: bool = False
    max_retries: int | None = 3
    default_retry_delay: float = 180.0

    def __post_init__(self) -> None:
        self._queue()
        check_task(self)

    def _queue(self) -> RabbitMQ:
        return RabbitMQ(
            version="4.2",
            queue="classic",
            consumer_timeout=self.consumer_timeout,
            heartbeat=self.heartbeat,
        )

    def generic(self) -> Generic:
        """Return the same in the model's own words."""
        queue, task = self._queue().generic(), of_tasks(self)
        return replace(
            task,
            lease=queue.lease,
            sweep_period=TIMEOUT_SCAN,
            on_expiry="close",
            forgets_due=self.forgets_due,
            late_ack=queue.late_ack,
            on_disconnect=queue.on_disconnect,
            silence_after=queue.silence_after,
            returns_to=queue.returns_to,
        )


def check_task(celery: CeleryRedis | CeleryRabbitMQ) -> None:
    """Raise ValueError where a parameter of the task is out of its range."""
    if celery.max_retries is not None:
        checks.whole("broker.max_retries", celery.max_retries)
    delay = celery.default_retry_delay
    checks.non_negative("broker.default_retry_delay", delay, "seconds")


def of_tasks(celery: CeleryRedis | CeleryRabbitMQ) -> Generic:
    """Return what Celery does with tasks on every transport, in the model's own words."""
    lost = "return" if celery.reject_on_worker_lost and celery.acks_late else "ack"
    return Generic(
        ack_when="done" if celery.acks_late else "started",
        on_failure="ack",
        on_slot_lost=lost,
        retry_delay=celery.default_retry_delay,
        max_receives=None if celery.max_retries is None else celery.max_retries + 1,
        counts=("failure",),
        due_held_by="worker",
    )
