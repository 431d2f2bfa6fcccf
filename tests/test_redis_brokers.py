"""Redis lists and streams as queues: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq

redis_list, redis_stream = sq.brokers.redis_list, sq.brokers.redis_stream


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


DEAD_AT_3 = sq.Crash(at=[(1, 3)])


def test_brpop_loses_what_runs():
    """Dead at 3: gone; what was still in the list is not."""
    result = run(5, jobs=2, crash=DEAD_AT_3, broker=redis_list(pop="BRPOP"))
    assert result.jobs.outcome.tolist() == ["lost", "acked"]


def test_without_a_monitor_nothing_comes_back():
    """It stays in the processing list."""
    result = run(5, crash=DEAD_AT_3, broker=redis_list())
    assert (received(result), result.jobs.outcome[0]) == ([0], "unfinished")


def test_a_monitor_brings_back_what_is_old():
    """300 s old at 300, seen at 360; it takes a slow consumer's job as well as a dead one's."""
    broker = redis_list(monitor_every=60, stale_after=290)
    assert received(run(5, crash=DEAD_AT_3, broker=broker)) == [0, 300]
    assert received(run(400, workers=2, broker=broker, horizon=399)) == [0, 300]


def test_a_late_lrem_removes_the_other_consumers_entry():
    """The first is done at 400, while the second is at work since 300: the entry is gone.

    So when the second dies at 500, nothing comes back.
    """
    broker = redis_list(monitor_every=60, stale_after=290)
    crash = sq.Crash(at=[(2, 500)])
    result = run(400, workers=2, crash=crash, broker=broker)
    assert (received(result), settled(result)) == ([0, 300], 400)


def test_a_copy_back_in_the_list_runs_all_the_same():
    """Alone: pushed back at 300, the LREM at 400 finds nothing, and it runs again, for ever."""
    broker = redis_list(monitor_every=60, stale_after=290)
    result = run(400, broker=broker, horizon=1_700)
    assert starts(result) == [0, 400, 800, 1_200, 1_600]


def test_a_list_never_gives_up():
    """A hundred failures."""
    assert len(received(run(1, handler=fails, broker=redis_list(), horizon=100))) == 100


def test_without_claims_an_entry_stays_pending():
    """Nobody calls XAUTOCLAIM."""
    result = run(5, crash=DEAD_AT_3, broker=redis_stream(claim_every=None))
    assert (received(result), result.jobs.outcome[0]) == ([0], "unfinished")


@pytest.mark.parametrize(("every", "claimed"), [(5, 60), (7, 63), (60, 60), (45, 90)])
def test_a_claim_takes_what_is_idle_for_long_enough(every, claimed):
    """Idle for 60 s: at the first call from 60 on."""
    result = run(5, crash=DEAD_AT_3, broker=redis_stream(claim_every=every))
    assert received(result) == [0, claimed]


def test_a_claim_takes_only_so_many():
    """Four of a dead consumer, two a call."""
    broker = redis_stream(claim_every=10, count=2)
    result = run(1, jobs=4, concurrency=4, crash=sq.Crash(at=[(1, 0.5)]), broker=broker)
    assert [received(result, job)[1] for job in range(4)] == [60, 60, 70, 70]


def test_a_slow_consumer_loses_its_entry():
    """Both are at work from 60 on."""
    result = run(90, workers=2, broker=redis_stream())
    assert starts(result) == [0, 60]


def test_anyone_may_ack():
    """The first one's XACK at 90 removes the entry, which is the second one's by now."""
    result = run(90, workers=2, broker=redis_stream())
    assert settled(result) == 90
    late = events(result, "ack ignored")
    assert late == [150]


def test_a_batch_grows_idle_together():
    """Three of 25 s read at once: the third is still waiting when it is claimed."""
    result = run(25, jobs=3, workers=2, batch=3, broker=redis_stream(), horizon=61)
    assert received(result, 2) == [0, 60]


def test_claiming_from_oneself_is_a_heartbeat():
    """Every 20 s: never idle for 60."""
    assert starts(run(600, workers=2, broker=redis_stream(heartbeat_every=20))) == [0]


def test_a_limit_is_what_the_claimer_looks_at():
    """It kills its consumer; the third claim moves it, and nobody runs it again."""
    crash = sq.Crash(after=3)
    result = run(5, workers=5, crash=crash, broker=redis_stream(max_deliveries=2))
    assert (len(starts(result)), events(result, "dead lettered")) == (2, [120])


def test_noack_loses_what_runs():
    """Dead at 3."""
    result = run(5, crash=DEAD_AT_3, broker=redis_stream(noack=True))
    assert result.jobs.outcome[0] == "lost"
    assert not math.isnan(settled(result))


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (redis_list, "pop", "LPOP"),
        (redis_list, "monitor_every", 0),
        (redis_stream, "min_idle_time", 0),
        (redis_stream, "count", 0),
        (redis_stream, "claim_every", 0),
    ],
)
def test_what_redis_does_not_allow_is_refused(kind, name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        kind(**{name: value})
