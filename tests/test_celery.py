"""Celery on Redis and on RabbitMQ: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq

on_redis, on_rabbitmq = sq.brokers.celery_redis, sq.brokers.celery_rabbitmq
BOTH = pytest.mark.parametrize("kind", [on_redis, on_rabbitmq])
HOUR = 3_600


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


async def retries(job, ctx):
    """Work, and then ask for a retry."""
    await ctx.work()
    raise sq.Retry("later")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


@BOTH
def test_an_early_ack_loses_what_runs(kind):
    """Two slots, five tasks fetched: dead at 3, the two that run are lost, the others come back."""
    result = run(10, jobs=5, concurrency=2, prefetch=8, crash=sq.Crash(at=[(1, 3)]), broker=kind())
    assert result.jobs.outcome.tolist() == ["lost", "lost", "acked", "acked", "acked"]


@BOTH
def test_a_late_ack_loses_nothing(kind):
    """All five, late or not."""
    result = run(
        10, jobs=5, concurrency=2, prefetch=8, crash=sq.Crash(at=[(1, 3)]),
        broker=kind(acks_late=True),
    )  # fmt: skip
    assert result.jobs.outcome.tolist() == ["acked"] * 5
    again = {on_redis: HOUR, on_rabbitmq: 3}[kind]
    assert received(result, 0) == [0, again]


@BOTH
@pytest.mark.parametrize("acks_late", [False, True])
def test_a_failure_is_acked(kind, acks_late):
    """One run, and nothing in any queue."""
    result = run(1, handler=fails, broker=kind(acks_late=acks_late))
    assert (starts(result), result.jobs.outcome[0]) == ([0], "acked")


@BOTH
def test_retries_are_three_and_180_seconds_apart(kind):
    """Four runs, and then it has failed."""
    result = run(1, handler=retries, broker=kind(acks_late=True))
    assert starts(result) == [0, 181, 362, 543]
    assert result.jobs.outcome[0] == "dead-lettered"
    once = run(1, handler=retries, broker=kind(max_retries=1, default_retry_delay=5))
    assert starts(once) == [0, 6]


@BOTH
@pytest.mark.parametrize("acks_late", [False, True])
def test_a_task_whose_child_was_killed_is_acked(kind, acks_late):
    """Out of memory at 3: acked, and its effect never comes."""
    crash = sq.Crash(after=3, kills="slot")
    result = run(10, crash=crash, broker=kind(acks_late=acks_late))
    assert (starts(result), result.jobs.outcome[0]) == ([0], "acked")
    assert result.jobs.effects[0] == 0


@BOTH
def test_a_rejected_task_kills_child_after_child(kind):
    """Every 3 s anew, and nobody counts."""
    crash = sq.Crash(after=3, kills="slot")
    broker = kind(acks_late=True, reject_on_worker_lost=True)
    assert starts(run(10, crash=crash, broker=broker, horizon=10)) == [0, 3, 6, 9]


def test_a_rejected_task_goes_to_the_tail_on_redis():
    """Behind the one that waits."""
    crash = sq.Crash(after=3, jobs=[0], kills="slot")
    broker = on_redis(acks_late=True, reject_on_worker_lost=True)
    result = run(10, jobs=2, crash=crash, broker=broker, horizon=14)
    assert [starts(result, job) for job in range(2)] == [[0, 13], [3]]


def test_prefetched_tasks_age_in_the_worker():
    """Two tasks of 3,000 s fetched at 0: the second starts at 3,000, and is restored at 3,600."""
    result = run(3_000, jobs=2, workers=2, prefetch=2, broker=on_redis(acks_late=True))
    assert [starts(result, job) for job in range(2)] == [[0], [3_000, 3_600]]


@BOTH
def test_a_worker_holds_tasks_until_they_are_due(kind):
    """Received at 0, started at 100; meanwhile the worker takes others."""
    producers = sq.Producers(due_after=100)
    result = run(1, jobs=3, producers=producers, broker=kind(acks_late=True))
    assert [received(result, job) for job in range(3)] == [[0], [0], [0]]
    assert [starts(result, job) for job in range(3)] == [[100], [101], [102]]


def test_a_long_task_is_restored_every_hour():
    """The looks are every 100 s: three and a half hours, restored after each of them."""
    result = run(12_826, workers=5, broker=on_redis(acks_late=True))
    assert starts(result) == [0, 3_600, 7_200, 10_800]
    assert settled(result) == 12_826
    soon = on_redis(acks_late=True, unacked_restore_throttle=1, visibility_timeout=3_605)
    assert starts(run(8_000, workers=3, broker=soon)) == [0, 3_610, 7_220]


@pytest.mark.parametrize(("phase", "back"), [(0, 100), (50, 50), (29, 129), (31, 31)])
def test_a_restore_comes_up_to_100_seconds_late(phase, back):
    """A timeout of 30 s, killed at 1: with the first look from 30 on."""
    broker = on_redis(acks_late=True, visibility_timeout=30, sweep_phase=phase)
    assert received(run(5, crash=sq.Crash(at=[(1, 1)]), broker=broker)) == [0, back]


def test_restored_tasks_are_the_next():
    """Restored at 300, when job 3 has waited for long: it is taken first."""
    broker = on_redis(acks_late=True, visibility_timeout=300)
    crash = sq.Crash(at=[(1, 1)], restart_after=1)
    result = run(sq.Recorded([5.0, 250.0, 100.0, 1.0]), jobs=4, crash=crash, broker=broker)
    assert [starts(result, job)[-1] for job in range(4)] == [352, 2, 252, 357]


def test_an_ack_clears_the_other_workers_record():
    """Worker 1 acks at 5,000, worker 2 has it since 3,600 and dies at 6,000: it is gone."""
    result = run(5_000, workers=2, crash=sq.Crash(at=[(2, 6_000)]), broker=on_redis(acks_late=True))
    assert (starts(result), settled(result)) == ([0, 3_600], 5_000)


def test_a_copy_in_the_list_runs_all_the_same():
    """One worker: restored at 3,600, the ack at 5,000 finds no record, and it goes on like that."""
    result = run(5_000, broker=on_redis(acks_late=True), horizon=16_000)
    assert starts(result) == [0, 5_000, 10_000, 15_000]


def test_a_task_due_after_the_timeout_runs_often():
    """Due in 3 h: handed over at 0, 1 h and 2 h, and at 3 h the ack of the first comes in time."""
    producers = sq.Producers(due_after=3 * HOUR)
    result = run(1, workers=4, producers=producers, broker=on_redis(acks_late=True, sweep_phase=50))
    assert received(result) == [0, HOUR + 50, 2 * HOUR + 50]
    assert starts(result) == [3 * HOUR] * 3


@pytest.mark.parametrize(("forgets", "runs"), [(True, 1), (False, 3)])
def test_a_task_due_after_the_consumer_timeout_closes_the_channel(forgets, runs):
    """Due in 4,000 s: the channel is closed at 1,800 and 3,600."""
    producers = sq.Producers(due_after=4_000)
    broker = on_rabbitmq(acks_late=True, forgets_due=forgets)
    result = run(1, concurrency=3, producers=producers, broker=broker)
    assert events(result, "connection closed") == [1_800, 3_600]
    assert received(result) == [0, 1_800, 3_600]
    assert starts(result) == [4_000] * runs


def test_a_lost_connection_runs_tasks_twice():
    """Cut off at 3 for longer than the heartbeat: both are at work from 63 on."""
    cut = sq.Partition(worker=1, window=(3, 500))
    result = run(100, workers=2, faults=[cut], broker=on_rabbitmq(acks_late=True))
    assert starts(result) == [0, 63]
    assert result.jobs.effects[0] == 2


def test_without_a_consumer_timeout_a_long_task_runs_once():
    """A day."""
    broker = on_rabbitmq(acks_late=True, consumer_timeout=None)
    assert starts(run(86_400, workers=2, broker=broker)) == [0]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (on_redis, "visibility_timeout", 0),
        (on_redis, "unacked_restore_interval", 0),
        (on_redis, "unacked_restore_throttle", 0),
        (on_redis, "max_retries", -1),
        (on_rabbitmq, "consumer_timeout", 59),
        (on_rabbitmq, "default_retry_delay", -1),
    ],
)
def test_what_celery_does_not_allow_is_refused(kind, name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        kind(**{name: value})


def test_math_of_the_sweep():
    """Ten seconds times ten calls."""
    settings = on_redis().settings()
    assert settings.sweep_period == 100
    assert settings.sweep_batch == math.inf
