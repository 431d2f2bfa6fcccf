"""Google Pub/Sub: each fact by a run that is worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from runs import received, run, starts

import simqueue as sq
from simqueue.faults import At

pubsub = sq.brokers.pubsub
DAY = 86_400


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


def by_hand(**options):
    """A subscription whose client extends nothing."""
    return pubsub(lease_management=False, **options)


def test_without_lease_management_the_deadline_is_all():
    """10 s unless set, and 600 at most."""
    assert received(run(15, workers=2, broker=by_hand(), horizon=14)) == [0, 10]
    longest = by_hand(ack_deadline=600)
    assert received(run(700, workers=2, broker=longest, horizon=699)) == [0, 600]


def test_the_client_keeps_what_it_holds():
    """Two jobs of 100 s, one thread: the one that waits is not delivered again either."""
    result = run(100, jobs=2, workers=1, prefetch=1_000, broker=pubsub())
    assert [received(result, job) for job in range(2)] == [[0], [0]]
    unmanaged = run(100, jobs=2, prefetch=1_000, broker=by_hand(), horizon=60)
    assert len(unmanaged.events[unmanaged.events.event == "expired"]) >= 2


def test_renewals_come_at_random_in_time():
    """Intervals between 0.01 s and 9 s, in no pattern; the mean of many is about half of that."""
    result = run(3_000, broker=pubsub())
    times = [0.0, *events(result, "extended")]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) >= 0.0099
    assert max(gaps) <= 9
    assert 4 < sum(gaps) / len(gaps) < 5
    assert len(set(gaps)) > len(gaps) / 2


def test_the_client_lets_go_after_an_hour():
    """No renewal later than an hour after the start, and another delivery at most 10 s after it."""
    result = run(4_000, workers=2, broker=pubsub(), horizon=3_999)
    second = received(result)[1]
    assert 3_600 < second <= 3_610
    early = run(60, workers=2, broker=pubsub(max_lease_duration=30), horizon=59)
    assert 30 < received(early)[1] <= 40


def test_after_a_crash_the_last_deadline_counts():
    """Dead at 25: back within 10 s, at the end of what was granted last."""
    result = run(100, workers=2, crash=sq.Crash(at=[(1, 25)]), broker=pubsub())
    granted = result.events[(result.events.event == "extended") & (result.events.time <= 25)]
    assert received(result)[1] == granted.until.tolist()[-1]
    assert 25 < received(result)[1] <= 35


def test_at_least_once_an_ack_can_get_lost():
    """Nobody extends after it: the job is back when its deadline passes."""
    result = run(1, faults=[At(step="ack", what="ack lost")], broker=pubsub())
    assert received(result) == [0, 10]


def test_at_least_once_a_late_ack_is_no_error():
    """It works if nobody has the message, and else does nothing: silent both times."""
    alone = run(15, broker=by_hand())
    assert events(alone, "acked") == [15]
    both = run(15, workers=2, broker=by_hand(), horizon=16)
    assert (events(both, "ack ignored"), events(both, "ack refused")) == ([15], [])


def test_exactly_once_only_the_newest_ack_id_is_valid():
    """Expired and not delivered again: good. Delivered again: refused, and the worker is told."""
    options = {"enable_exactly_once_delivery": True}
    alone = run(90, broker=by_hand(**options))
    assert events(alone, "acked") == [90]
    both = run(90, workers=2, broker=by_hand(**options), horizon=91)
    assert events(both, "ack refused") == [90]


def test_exactly_once_has_a_deadline_of_a_minute():
    """Though the subscription says 10 s; a longer one stays."""
    assert pubsub(enable_exactly_once_delivery=True).settings().lease == 60
    longer = pubsub(enable_exactly_once_delivery=True, ack_deadline=90)
    assert longer.settings().lease == 90


def test_a_nack_is_back_at_once():
    """It fails each second."""
    assert starts(run(1, handler=fails, broker=pubsub(), horizon=3.5)) == [0, 1, 2, 3]


def test_the_retry_policy_delays_both():
    """10, 20, 40, … up to 600 s after nacks; the same after deadlines that passed."""
    policy = pubsub(retry_policy=(10, 600), max_delivery_attempts=9)
    begun = starts(run(1, handler=fails, broker=policy))
    waits = [later - earlier - 1 for earlier, later in pairwise(begun)]
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]
    late = by_hand(retry_policy=(10, 600), max_delivery_attempts=5)
    assert received(run(5_000, workers=9, broker=late)) == [0, 20, 50, 100, 190]


@pytest.mark.parametrize("handler", [fails, sq.handlers.naive])
def test_it_is_dead_lettered_after_its_attempts(handler):
    """Five failures, or five deadlines."""
    result = run(50, handler=handler, workers=9, broker=by_hand(max_delivery_attempts=5))
    assert len(received(result)) == 5
    assert result.jobs.outcome[0] == "dead-lettered"


def test_without_a_policy_only_the_retention_ends_it():
    """Every 600 s for seven days."""
    broker = by_hand(retry_policy=(600, 600))
    result = run(1, handler=fails, broker=broker, horizon=8 * DAY)
    assert events(result, "message expired") == [7 * DAY]
    assert len(received(result)) == pytest.approx(7 * DAY / 601, abs=1)


def test_keys_are_in_order():
    """Jobs 0 and 2 have one key: 2 comes when 0 is done, 1 at once."""
    result = run(5, jobs=3, groups=2, workers=3, broker=pubsub(enable_message_ordering=True))
    assert [starts(result, job) for job in range(3)] == [[0], [0], [5]]


def test_a_redelivery_brings_back_acked_successors():
    """One key, jobs of 2 s: the ack of job 0 is lost at 2; 1, 2 and 3 are acked at 4, 6 and 8.

    At 10 the deadline of job 0 passes: all that were acked run again, in order.
    """
    lost = At(step="ack", what="ack lost", job=0)
    broker = by_hand(enable_message_ordering=True)
    result = run(
        2, jobs=5, arrivals=sq.Times([0, 0, 0, 0, 9]), workers=1, faults=[lost], broker=broker
    )
    assert [starts(result, job) for job in range(4)] == [[0, 11], [2, 13], [4, 15], [6, 17]]
    assert starts(result, 4) == [9]  # its ack at 11 still counts: nobody has received it since
    assert events(result, "replayed") == [10, 10, 10]
    assert result.jobs.outcome.tolist() == ["acked"] * 5


def test_a_redelivery_of_the_last_one_brings_back_nothing_else():
    """What came before it stays acked."""
    lost = At(step="ack", what="ack lost", job=1)
    result = run(2, jobs=2, faults=[lost], broker=by_hand(enable_message_ordering=True))
    assert [starts(result, job) for job in range(2)] == [[0], [2, 12]]


def test_flow_control_limits_what_a_client_holds():
    """Three of five."""
    result = run(5, jobs=5, prefetch=3, broker=pubsub(), horizon=4)
    assert len(result.deliveries) == 3


def test_nothing_is_deduped():
    """Published twice, delivered twice."""
    assert len(received(run(1, producers=sq.Producers(replicas=2), broker=pubsub()))) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ack_deadline", 9),
        ("ack_deadline", 601),
        ("max_delivery_attempts", 4),
        ("max_delivery_attempts", 101),
        ("retry_policy", (20, 10)),
        ("retry_policy", 10),
        ("message_retention_duration", 599),
    ],
)
def test_what_pubsub_does_not_allow_is_refused(name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        pubsub(**{name: value})
