"""Amazon SQS: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq

DAY = 86_400

BOTH = pytest.mark.parametrize("kind", [sq.brokers.sqs, sq.brokers.sqs_fifo])


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


@BOTH
def test_a_message_is_hidden_for_the_visibility_timeout(kind):
    """30 s unless set: a job of 40 s is delivered again at 30."""
    assert received(run(40, workers=2, broker=kind(), horizon=41)) == [0, 30]
    assert received(run(40, workers=2, broker=kind(visibility_timeout=43_200))) == [0]


@BOTH
def test_sqs_does_not_see_a_crash(kind):
    """Dead at 3, and back at 4: the message is hidden until 30 all the same."""
    crash = sq.Crash(at=[(1, 3)], restart_after=1)
    assert received(run(10, crash=crash, broker=kind())) == [0, 30]


@BOTH
def test_the_timeouts_of_a_batch_start_together(kind):
    """Ten of 4 s: seven are done by 28, the eighth at 32 is too late."""
    result = run(4, jobs=10, batch=10, broker=kind(), horizon=33)
    assert [received(result, job)[0] for job in range(10)] == [0] * 10
    expired = result.events[result.events.event == "expired"]
    assert expired.job.tolist() == [7, 8, 9]
    assert set(expired.time) == {30}


@BOTH
def test_more_than_ten_at_once_are_refused(kind):
    """One clear sentence."""
    with pytest.raises(ValueError, match=r"workers\.batch must be at most 10"):
        run(1, batch=11, broker=kind())


async def beats(job, ctx):
    """Extend at 20 s by 30 s: to 50, not to 60."""
    await ctx.sleep(20)
    await ctx.extend(30)
    await ctx.sleep(35)


@BOTH
def test_a_heartbeat_counts_from_now(kind):
    """Extended at 20 to 50, a job of 55 s is delivered again at 50."""
    assert received(run(handler=beats, workers=2, broker=kind(), horizon=54)) == [0, 50]


async def asks_for_too_much(job, ctx):
    """At 1 h, ask for 12 h more, and then for the 11 h that are left."""
    await ctx.extend(3_600)
    await ctx.sleep(3_600)
    try:
        await ctx.extend(43_200)
    except sq.LeaseLimit:
        await ctx.extend(39_600)
    await ctx.sleep(39_600)


@BOTH
def test_more_than_twelve_hours_is_an_error(kind):
    """The error changes nothing: what is left can still be asked for, to 12 h after the receive."""
    result = run(handler=asks_for_too_much, workers=2, broker=kind())
    extended = result.events[result.events.event == "extended"]
    assert extended.until.tolist() == [3_600, 43_200]
    assert received(result) == [0]


@BOTH
def test_a_receive_whose_reply_is_lost_counts(kind):
    """Every reply is lost: with a limit of 1 the job is dead at the next receive, and never ran."""
    result = run(
        1, network=sq.Network(delivery_lost=1.0), broker=kind(max_receive_count=1), horizon=100
    )
    assert (received(result), starts(result)) == ([0], [])
    assert events(result, "dead lettered") == [30]


@BOTH
def test_it_is_dead_lettered_at_the_receive_after_the_last(kind):
    """Three deliveries, at 0, 30 and 60; at 90 it is visible, and gone as somebody asks: at 140."""
    arrivals = sq.Times([0, 65])
    result = run(
        handler=fails, jobs=2, arrivals=arrivals, work=sq.Recorded([1.0, 75.0]),
        broker=kind(max_receive_count=3), horizon=141, groups=2,
    )  # fmt: skip
    assert received(result) == [0, 30, 60]
    assert events(result, "dead lettered") == [140]


@BOTH
def test_without_a_redrive_policy_only_the_retention_ends_it(kind):
    """It fails every 30 s for four days, and then it expires."""
    result = run(handler=fails, broker=kind(), horizon=5 * DAY)
    assert len(received(result)) == 4 * DAY / 30
    assert events(result, "message expired") == [4 * DAY]


@BOTH
def test_delayed_messages_are_visible_later(kind):
    """At 900 s, and no delay is longer."""
    assert received(run(1, broker=kind(delay_seconds=900))) == [900]
    with pytest.raises(ValueError, match=r"broker\.delay_seconds"):
        kind(delay_seconds=901)


@BOTH
def test_a_failed_message_waits_for_its_timeout(kind):
    """It fails at 5, and comes back at 30."""
    assert received(run(5, handler=fails, broker=kind(max_receive_count=2))) == [0, 30]


@BOTH
def test_only_so_many_messages_are_in_flight(kind):
    """A worker that takes all it can get gets 120,000 of 120,001."""
    assert kind().settings().most_in_flight == 120_000
    one_less = sq.brokers.generic(most_in_flight=2)
    result = run(1, jobs=3, prefetch=math.inf, broker=one_less)
    assert [received(result, job)[0] for job in range(3)] == [0, 0, 1]


def test_a_late_delete_works_until_the_next_receive():
    """One worker, 40 s: nobody has received it since, and its delete at 40 works.

    Two workers: at 40 the message is the other's, the delete says "success" and does nothing.
    """
    assert settled(run(40, broker=sq.brokers.sqs())) == 40
    result = run(40, workers=2, broker=sq.brokers.sqs(), horizon=45)
    assert events(result, "ack ignored") == [40]
    assert events(result, "acked") == []


def test_a_late_delete_is_an_error_on_a_fifo_queue():
    """Even where nobody has received the message since."""
    result = run(40, broker=sq.brokers.sqs_fifo(), horizon=45)
    assert events(result, "ack refused") == [40]


def test_a_standard_queue_makes_duplicates_of_its_own():
    """With probability 1 each job has a second message; without, none."""
    result = run(1, jobs=20, workers=40, broker=sq.brokers.sqs(duplicates=1.0))
    assert result.jobs.deliveries.tolist() == [2] * 20
    assert run(1, jobs=20, workers=40, broker=sq.brokers.sqs()).jobs.deliveries.max() == 1


def test_the_retention_of_a_standard_dead_letter_goes_on():
    """Sent at 0, dead at 30, gone at 60: its time in the queue counts."""
    broker = sq.brokers.sqs(max_receive_count=1, message_retention_period=60)
    result = run(1, handler=fails, broker=broker, horizon=200)
    assert events(result, "dead letter expired") == [60]


def test_the_retention_of_a_fifo_dead_letter_starts_anew():
    """Sent at 0, dead at 30, gone 60 s after that."""
    broker = sq.brokers.sqs_fifo(max_receive_count=1, message_retention_period=60)
    result = run(1, handler=fails, broker=broker, horizon=200)
    assert events(result, "dead letter expired") == [90]


def sends_again(after, broker):
    """A job of 1 s whose producer sends it at 0 and again `after` seconds later."""
    return run(1, producers=sq.Producers(replicas=2, offsets=[0, after]), broker=broker)


def test_a_standard_queue_dedupes_nothing():
    """Two sends, two messages."""
    assert len(received(sends_again(1, sq.brokers.sqs()))) == 2


@pytest.mark.parametrize(("after", "times"), [(1, 1), (299.9, 1), (300, 2)])
def test_fifo_dedupes_for_five_minutes(after, times):
    """From the first send on, also once the message is deleted: at 300 s it is a new one."""
    assert len(received(sends_again(after, sq.brokers.sqs_fifo()))) == times


def test_a_group_waits_while_one_of_it_is_in_flight():
    """Jobs 0 and 2 are of one group, 1 of another: 2 waits for 0, and 1 does not."""
    result = run(5, jobs=3, groups=2, workers=3, broker=sq.brokers.sqs_fifo())
    assert [received(result, job) for job in range(3)] == [[0], [0], [5]]


def test_a_group_is_blocked_until_the_timeout_of_a_dead_consumer():
    """Dead at 1: the next of its group waits until the first one is back at 30 and done at 35."""
    result = run(5, jobs=2, workers=2, crash=sq.Crash(at=[(1, 1)]), broker=sq.brokers.sqs_fifo())
    assert [received(result, job) for job in range(2)] == [[0, 30], [35]]


def test_a_receive_may_bring_several_of_a_group():
    """All three at once, to one worker; the other gets none of them."""
    result = run(5, jobs=3, workers=2, batch=10, broker=sq.brokers.sqs_fifo())
    assert [received(result, job) for job in range(3)] == [[0], [0], [0]]
    assert set(result.deliveries.worker) == {1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("visibility_timeout", 0),
        ("visibility_timeout", 43_201),
        ("max_receive_count", 0),
        ("max_receive_count", 1_001),
        ("message_retention_period", 59),
        ("message_retention_period", 1_209_601),
    ],
)
@BOTH
def test_what_sqs_does_not_allow_is_refused(kind, name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        kind(**{name: value})
