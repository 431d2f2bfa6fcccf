"""Azure Service Bus: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, starts

import simqueue as sq

service_bus = sq.brokers.service_bus


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


def by_hand(**options):
    """A queue whose receivers do not renew."""
    return service_bus(max_auto_lock_renewal_duration=0, **options)


def test_a_message_is_locked_for_a_minute():
    """Another receiver gets it at 60 s; with the longest lock at 300 s."""
    assert received(run(90, workers=2, broker=by_hand(), horizon=89)) == [0, 60]
    longest = by_hand(lock_duration=300)
    assert received(run(400, workers=2, broker=longest, horizon=399)) == [0, 300]


def test_a_late_complete_is_refused():
    """Though nobody else has it."""
    assert events(run(90, broker=by_hand(), horizon=91), "ack refused") == [90]


def test_it_comes_back_to_the_front():
    """Job 0 fails at 1, and comes before job 1."""
    result = run(1, jobs=2, handler=fails, broker=by_hand(max_delivery_count=2))
    assert starts(result, 1) == [2, 3]


def test_ten_deliveries_and_then_the_dead_letter_queue():
    """By failures, and by locks that ended."""
    failing = run(1, handler=fails, broker=by_hand())
    assert (len(starts(failing)), events(failing, "dead lettered")) == (10, [10])
    late = run(1_000, workers=20, broker=by_hand())
    assert (len(starts(late)), events(late, "dead lettered")) == (10, [600])


def test_an_abandoned_message_is_back_at_once():
    """Not at the end of its lock."""
    assert starts(run(5, handler=fails, broker=by_hand(max_delivery_count=2))) == [0, 5]


def test_the_processor_renews_for_five_minutes():
    """At 30, 60, … 300: the lock of the last one ends at 360."""
    assert received(run(359, workers=2, broker=service_bus())) == [0]
    assert received(run(400, workers=2, broker=service_bus(), horizon=399)) == [0, 360]


def test_what_waits_in_a_buffer_may_be_dead_lettered_unrun():
    """A job of 20 minutes, renewed; ten others wait behind it, each ten times for a minute."""
    broker = service_bus(max_auto_lock_renewal_duration=3_600)
    result = run(sq.Recorded([1_200.0, *[1.0] * 10]), jobs=11, prefetch=math.inf, broker=broker)
    assert result.jobs.outcome.tolist() == ["acked", *["dead-lettered"] * 10]
    assert result.jobs.effects.tolist()[0] == 1


@pytest.mark.parametrize(("after", "times"), [(599, 1), (600, 2)])
def test_duplicate_detection_has_a_window(after, times):
    """Ten minutes from the first send; and none unless the queue requires it."""
    producers = sq.Producers(replicas=2, offsets=[0, after])
    options = {"producers": producers}
    detecting = service_bus(requires_duplicate_detection=True)
    assert len(received(run(1, broker=detecting, **options))) == times
    assert len(received(run(1, broker=service_bus(), **options))) == 2


def test_receive_and_delete_loses_what_runs():
    """Dead at 3."""
    broker = service_bus(receive_mode="receive_and_delete")
    result = run(5, crash=sq.Crash(at=[(1, 3)]), broker=broker)
    assert result.jobs.outcome[0] == "lost"


def test_a_session_is_in_order():
    """Jobs 0 and 2 of one session: 2 waits for 0, 1 does not."""
    result = run(5, jobs=3, groups=2, workers=3, broker=service_bus(requires_session=True))
    assert [received(result, job) for job in range(3)] == [[0], [0], [5]]


def test_the_dead_letter_queue_never_forgets():
    """No end of it, and nothing else happens to the message."""
    settings = service_bus().settings()
    assert settings.dead_letter_retention is None
    assert not settings.retention_of_dead


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lock_duration", 0),
        ("lock_duration", 301),
        ("max_delivery_count", 0),
        ("receive_mode", "peek"),
        ("duplicate_detection_history_time_window", 19),
    ],
)
def test_what_service_bus_does_not_allow_is_refused(name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        service_bus(**{name: value})
