"""RabbitMQ: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq

rabbitmq = sq.brokers.rabbitmq
OLD = ("3.13", "4.0", "4.1", "4.2")
ALL = pytest.mark.parametrize("version", [*OLD, "4.3"])
BOTH = pytest.mark.parametrize("queue", ["quorum", "classic"])
HALF_AN_HOUR = 1_800


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


@BOTH
@ALL
def test_a_dead_consumer_gives_all_back_at_once(version, queue):
    """Dead at 3: another one has its job at 3."""
    broker = rabbitmq(version=version, queue=queue)
    result = run(10, workers=2, crash=sq.Crash(at=[(1, 3)]), broker=broker)
    assert received(result) == [0, 3]


@pytest.mark.parametrize(("heartbeat", "missed"), [(60, 63), (10, 13), (0, 663)])
def test_a_dead_machine_is_missed_after_the_heartbeat(heartbeat, missed):
    """Dead at 3, with nobody to close the connection."""
    crash = sq.Crash(at=[(1, 3)], kills="machine")
    result = run(10, workers=2, crash=crash, broker=rabbitmq(heartbeat=heartbeat))
    assert received(result) == [0, missed]


def test_a_crash_releases_the_whole_prefetch_buffer():
    """Five of 10 s held by one that dies at 3: all five are with the other then."""
    result = run(
        10, jobs=5, workers=2, prefetch=math.inf, crash=sq.Crash(at=[(1, 3)], restart_after=999),
        broker=rabbitmq(),
    )  # fmt: skip
    assert [received(result, job) for job in range(5)] == [[0, 3]] * 5


def test_what_comes_back_is_delivered_before_new_work():
    """One slot: job 0 is given back at 1, and comes before job 1, which waits since 0."""
    result = run(1, jobs=2, handler=fails, broker=rabbitmq(on_error="reject", delivery_limit=1))
    assert [starts(result, job) for job in range(2)] == [[0, 1], [2, 3]]


@ALL
def test_with_automatic_ack_a_crash_loses_all_that_was_sent(version):
    """Five sent at 0; one is done at 2, four die with their consumer at 3."""
    result = run(
        2, jobs=5, prefetch=math.inf, crash=sq.Crash(at=[(1, 3)]),
        broker=rabbitmq(version=version, auto_ack=True),
    )  # fmt: skip
    assert result.jobs.outcome.tolist() == ["acked", *["lost"] * 4]
    long = run(4_000, workers=2, broker=rabbitmq(version=version, auto_ack=True))
    assert received(long) == [0]


@pytest.mark.parametrize("version", OLD)
def test_an_ack_on_a_closed_channel_is_refused(version):
    """Closed at 1,800; its handler returns at 2,000, and nobody takes its word."""
    result = run(2_000, workers=2, broker=rabbitmq(version=version), horizon=2_001)
    assert events(result, "ack refused") == [2_000]


@ALL
def test_a_nack_comes_back_at_once(version):
    """Each second anew."""
    broker = rabbitmq(version=version, queue="classic")
    assert starts(run(1, handler=fails, broker=broker, horizon=3.5)) == [0, 1, 2, 3]


@pytest.mark.parametrize(("exchange", "outcome"), [(True, "dead-lettered"), (False, "lost")])
def test_reject_without_requeue_is_dead_lettered_or_dropped(exchange, outcome):
    """At the first failure."""
    broker = rabbitmq(on_error="dead_letter", dead_letter_exchange=exchange)
    result = run(1, handler=fails, broker=broker)
    assert (starts(result), result.jobs.outcome[0]) == ([0], outcome)


@BOTH
@pytest.mark.parametrize("version", OLD)
def test_up_to_4_2_a_timeout_closes_the_channel(version, queue):
    """A buffer of three, taken at 30: all are late at 1,830, which is seen at 1,860."""
    broker = rabbitmq(version=version, queue=queue)
    result = run(
        1_900, jobs=3, workers=2, prefetch=3, arrivals=sq.Times([30, 31, 32]), broker=broker,
        horizon=1_870,
    )  # fmt: skip
    assert events(result, "connection closed") == [1_860]
    assert [received(result, job) for job in range(3)] == [[30, 1_860], [31, 1_860], [32, 1_860]]


def test_from_4_3_only_the_late_message_comes_back():
    """Job 0 is late at 1,800 to the moment; job 1, taken at 10, is at 1,810: each by itself."""
    result = run(
        5_000, jobs=2, workers=2, prefetch=2, arrivals=sq.Times([0, 10]), broker=rabbitmq(),
        horizon=1_805,
    )  # fmt: skip
    assert events(result, "expired") == [HALF_AN_HOUR]
    assert received(result, 0) == [0, HALF_AN_HOUR]
    assert received(result, 1) == [10]
    assert events(result, "consumer cancelled") == [HALF_AN_HOUR]


def test_from_4_3_a_consumer_that_is_cancelled_gets_nothing_more():
    """It is idle from 2,000 on, and gets the message again only when it subscribes, at 2,400."""
    assert received(run(handler=slow_at_first, broker=rabbitmq(), horizon=9_000)) == [0]
    again = run(handler=slow_at_first, broker=rabbitmq(resubscribe_after=600), horizon=9_000)
    assert received(again) == [0, 2_400]


async def slow_at_first(job, ctx):
    """2,000 s on the first attempt, 1 s on the next."""
    await ctx.sleep(2_000 if ctx.attempt == 1 else 1)


def test_from_4_3_a_late_ack_is_ignored():
    """Released at 1,800, done at 2,000: nothing happens, though nobody else has it."""
    result = run(2_000, broker=rabbitmq(), horizon=2_001)
    assert events(result, "ack ignored") == [2_000]
    assert events(result, "ack refused") == []


def test_from_4_3_classic_queues_have_no_timeout():
    """A job of two hours runs once."""
    result = run(7_200, workers=2, broker=rabbitmq(queue="classic"))
    assert (received(result), settled(result)) == ([0], 7_200)


@pytest.mark.parametrize(
    ("version", "limit", "deliveries"), [("4.0", None, 21), ("4.2", 3, 4), ("4.3", 3, 4)]
)
def test_a_limit_of_n_allows_n_plus_one_deliveries(version, limit, deliveries):
    """20 unless set: given up at the 21st return."""
    options = {} if limit is None else {"delivery_limit": limit}
    broker = rabbitmq(version=version, on_error="reject", **options)
    result = run(1, handler=fails, broker=broker)
    assert (len(received(result)), result.jobs.outcome[0]) == (deliveries, "dead-lettered")


def test_3_13_has_no_limit():
    """A hundred failures and more."""
    result = run(1, handler=fails, broker=rabbitmq(version="3.13"), horizon=100)
    assert len(received(result)) == 100


@pytest.mark.parametrize("on_error", ["nack", "reject"])
@pytest.mark.parametrize("version", ["4.0", "4.1", "4.2"])
def test_up_to_4_2_every_return_counts(version, on_error):
    """A nack as well as a reject; and a timeout, and a lost connection."""
    limited = rabbitmq(version=version, delivery_limit=1, on_error=on_error)
    assert len(received(run(1, handler=fails, broker=limited))) == 2
    assert len(received(run(7_200, workers=9, broker=limited))) == 2
    crash = sq.Crash(after=0.5)
    assert len(received(run(1, workers=9, crash=crash, broker=limited))) == 2


def test_from_4_3_a_nack_does_not_count():
    """Under a limit of 1 it fails for ever; a reject counts, a crash counts, a timeout does not."""
    nacks, rejects = rabbitmq(delivery_limit=1), rabbitmq(delivery_limit=1, on_error="reject")
    assert len(received(run(1, handler=fails, broker=nacks, horizon=50))) == 50
    assert len(received(run(1, handler=fails, broker=rejects))) == 2
    assert len(received(run(1, workers=9, crash=sq.Crash(after=0.5), broker=nacks))) == 2
    times_out = run(7_200, workers=4, broker=rejects, horizon=6_000)
    assert received(times_out) == [0, 1_800, 3_600, 5_400]


def test_a_crash_counts_for_the_whole_buffer():
    """One message kills its consumer; its two neighbours, that never ran, are given up with it."""
    crash = sq.Crash(after=0.5, jobs=[0])
    result = run(1, jobs=3, prefetch=3, crash=crash, broker=rabbitmq(delivery_limit=1))
    assert result.jobs.outcome.tolist() == ["dead-lettered"] * 3
    assert [starts(result, job) for job in (1, 2)] == [[], []]


@ALL
def test_a_classic_queue_never_gives_up(version):
    """It kills its consumer again and again."""
    broker = rabbitmq(version=version, queue="classic")
    crash = sq.Crash(after=1, restart_after=1)
    assert len(received(run(2, crash=crash, broker=broker, horizon=100))) == 50


def test_delayed_retry_is_linear():
    """From 10 to 25 s: 10, 20, 25, 25 after rejects; 10 each time after a nack."""
    options = {"delayed_retry_type": "all", "delayed_retry_min": 10, "delayed_retry_max": 25}
    rejects = rabbitmq(on_error="reject", delivery_limit=4, **options)
    assert starts(run(1, handler=fails, broker=rejects)) == [0, 11, 32, 58, 84]
    nacks = rabbitmq(**options)
    assert starts(run(1, handler=fails, broker=nacks, horizon=40)) == [0, 11, 22, 33]


@pytest.mark.parametrize(("kind", "delayed"), [("failed", "reject"), ("returned", "nack")])
def test_delayed_retry_may_be_for_some_only(kind, delayed):
    """Of the two ways to give a message back, one is delayed."""
    for on_error in ("nack", "reject"):
        broker = rabbitmq(on_error=on_error, delayed_retry_type=kind, delayed_retry_min=10)
        second = starts(run(1, handler=fails, broker=broker, horizon=30))[1]
        assert second == (11 if on_error == delayed else 1)


def test_a_lost_confirm_makes_a_duplicate():
    """Each job has as many messages as its publisher heard no confirm, and one more."""
    network = sq.Network(publish_response_lost=0.5)
    result = run(1, jobs=50, workers=50, network=network, broker=rabbitmq())
    lost = (result.events.event == "publish response lost").sum()
    assert lost > 10
    assert len(result.deliveries) == 50 + lost


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"version": "5.0"}, "version"),
        ({"queue": "stream"}, "queue"),
        ({"version": "4.2", "consumer_timeout": 59}, "consumer_timeout"),
        ({"queue": "classic", "delivery_limit": 5}, "delivery_limit"),
        ({"delivery_limit": -1}, "delivery_limit"),
        ({"version": "4.2", "delayed_retry_type": "all"}, "delayed_retry_type"),
        ({"on_error": "requeue"}, "on_error"),
    ],
)
def test_what_rabbitmq_does_not_have_is_refused(options, name):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        rabbitmq(**options)
