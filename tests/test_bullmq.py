"""BullMQ: each fact by a run that is worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq
from simqueue.brokers.bullmq import Exponential

bullmq = sq.brokers.bullmq


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


def test_a_job_that_is_not_renewed_stalls():
    """Taken at 1: its lock ends at 31, the check at 30 marks it, that at 60 puts it back."""
    broker = bullmq(skip_lock_renewal=True)
    result = run(90, workers=2, arrivals=sq.Times([1]), broker=broker, horizon=61)
    assert received(result) == [1, 60]


def test_a_worker_renews_its_locks():
    """Every 15 s: an hour's job runs once."""
    result = run(3_600, workers=2, broker=bullmq())
    assert received(result) == [0]
    assert events(result, "extended")[:3] == [15, 30, 45]


def test_a_blocked_event_loop_stalls_its_jobs():
    """Blocked from 20 on for 50 s: renewed at 15, the lock ends at 45; marked at 30, back at 60."""
    pause = sq.Pause(seconds=50, at=[(1, 20)])
    result = run(100, workers=2, faults=[pause], broker=bullmq(), horizon=99)
    assert received(result) == [0, 60]


def test_a_short_block_does_no_harm():
    """Blocked from 20 to 40: the lock of 15 lasts until 45, and the next renewal is at 40."""
    pause = sq.Pause(seconds=20, at=[(1, 20)])
    assert received(run(100, workers=2, faults=[pause], broker=bullmq())) == [0]


def test_a_lost_lock_is_not_renewed():
    """Awake at 70, ten seconds after another took the job: no renewal, and it works on."""
    pause = sq.Pause(seconds=50, at=[(1, 20)])
    result = run(100, workers=2, faults=[pause], broker=bullmq(), horizon=101)
    table = result.events
    own = table[(table.event == "extended") & (table.delivery == 0)]
    assert own.time.tolist() == [15]
    assert result.deliveries.ended[0] == 100


@pytest.mark.parametrize(("taken", "back"), [(1, 60), (29, 60), (30, 90), (31, 90)])
def test_the_stalled_check_looks_twice(taken, back):
    """Locks of 30 s, checks at 0, 30, 60, 90: the first marks the job, the next one puts it back.

    At 30 itself the check comes before the pick-up.
    """
    broker = bullmq(skip_lock_renewal=True)
    result = run(500, workers=2, arrivals=sq.Times([taken]), broker=broker, horizon=91)
    assert received(result)[1] == back


def test_a_crash_is_noticed_within_a_minute():
    """Over all moments of the crash: not sooner than 15 s after it, nor later than 60 s."""
    waits = []
    for moment in range(30, 60):
        crash = sq.Crash(at=[(1, moment)])
        result = run(300, workers=2, crash=crash, broker=bullmq(), horizon=130)
        waits.append(received(result)[1] - moment)
    assert min(waits) >= 15
    assert max(waits) <= 60
    assert max(waits) - min(waits) > 20


def test_a_stalled_job_is_the_next():
    """Put back at 60, when job 1 has waited for long: taken first, as soon as a worker is free."""
    pause = sq.Pause(seconds=100, at=[(1, 1)])
    result = run(
        sq.Recorded([65.0, 65.0, 1.0]), jobs=3, workers=2, faults=[pause], broker=bullmq(),
        horizon=70,
    )  # fmt: skip
    assert received(result, 0) == [0, 65]
    assert received(result, 2) in ([], [66])


def test_a_failed_job_is_the_last():
    """It fails at 1 and is tried again behind job 1."""
    result = run(1, jobs=2, handler=fails, broker=bullmq(attempts=2))
    assert [starts(result, job) for job in range(2)] == [[0, 2], [1, 3]]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_one_stall_is_allowed_by_default(limit):
    """N stalls allowed: N + 1 starts."""
    crash = sq.Crash(after=5)
    options = {} if limit == 1 else {"max_stalled_count": limit}
    result = run(50, workers=9, crash=crash, broker=bullmq(**options))
    assert len(starts(result)) == limit + 1
    assert result.jobs.outcome[0] == "dead-lettered"


def test_a_job_that_stalled_too_often_fails_lazily():
    """Both workers are busy: it is back at 60, and fails when one of them asks, without a run."""
    pause = sq.Pause(seconds=200, at=[(1, 1)])
    result = run(
        sq.Recorded([150.0, 100.0]), jobs=2, workers=2, faults=[pause],
        broker=bullmq(max_stalled_count=0),
    )  # fmt: skip
    assert events(result, "expired") == [60]
    assert events(result, "dead lettered") == [100]
    assert starts(result, 0) == [0]


def test_stalls_are_no_attempts():
    """One stall and two failures: three starts under attempts 2."""
    result = run(handler=_dies_and_fails, workers=9, broker=bullmq(attempts=2, max_stalled_count=5),
                 faults=[sq.faults.At(step="work", when="before", turn=1)])  # fmt: skip
    assert len(starts(result)) == 3


async def _dies_and_fails(job, ctx):
    """Fail, if it comes to that."""
    await ctx.work()
    raise RuntimeError("no")


def test_finishing_without_the_lock_is_refused():
    """The lock ends at 30, nobody has noticed at 45, and the job does not count as done."""
    broker = bullmq(skip_lock_renewal=True)
    result = run(45, broker=broker, horizon=50)
    assert events(result, "ack refused") == [45]
    assert events(result, "expired") == []
    assert result.jobs.effects[0] == 1


@pytest.mark.parametrize("attempts", [1, 3])
def test_attempts_are_runs(attempts):
    """N attempts, N runs."""
    result = run(1, handler=fails, broker=bullmq(attempts=attempts))
    assert (len(starts(result)), result.jobs.outcome[0]) == (attempts, "dead-lettered")


def test_backoff_is_fixed_or_exponential():
    """Fixed 5; then 5, 10, 20; with jitter j, up to that share less."""
    fixed = run(1, handler=fails, broker=bullmq(attempts=3, backoff=5))
    assert starts(fixed) == [0, 6, 12]
    growing = run(1, handler=fails, broker=bullmq(attempts=4, backoff=Exponential(delay=5)))
    assert starts(growing) == [0, 6, 17, 38]
    rule = Exponential(delay=5, jitter=0.4)
    for seed in range(20):
        result = run(1, seed=seed, handler=fails, broker=bullmq(attempts=2, backoff=rule))
        assert 1 + 3 <= starts(result)[1] <= 1 + 5


def added_again(at, **options):
    """How often a job of 10 s runs whose producer adds it at 0 and again."""
    producers = sq.Producers(replicas=2, offsets=[0, at])
    return len(starts(run(10, workers=2, producers=producers, broker=bullmq(**options))))


def test_a_job_id_is_known_for_as_long_as_the_job_is_kept():
    """For ever; or until 100 s after its end at 10."""
    assert added_again(1_000_000) == 1
    assert added_again(109, remove_on_complete=100) == 1
    assert added_again(110, remove_on_complete=100) == 2
    assert added_again(11, remove_on_complete=0) == 2


def test_deduplication_ends_with_the_job_or_with_time():
    """Simple: until its end at 10. Throttled for 5 s: from the add on, whatever becomes of it."""
    assert (added_again(9, deduplication="simple"), added_again(10.5, deduplication="simple")) == (
        1,
        2,
    )
    assert (added_again(4, deduplication=5), added_again(5, deduplication=5)) == (1, 2)


def test_debounce_starts_the_window_anew():
    """Adds at 0, 4 and 8 s, a window of 5 s: the third is still within that of the second."""
    producers = sq.Producers(replicas=3, offsets=[0, 4, 8])
    for debounce, runs in ((False, 2), (True, 1)):
        broker = bullmq(deduplication=5, debounce=debounce)
        assert len(starts(run(1, producers=producers, broker=broker))) == runs


def test_without_the_check_a_stalled_job_stays_where_it_is():
    """Nobody puts it back."""
    result = run(50, crash=sq.Crash(at=[(1, 1)]), broker=bullmq(skip_stalled_check=True))
    assert (starts(result), math.isnan(settled(result))) == ([0], True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lock_duration", 0),
        ("lock_renew_time", 0),
        ("stalled_interval", 0),
        ("max_stalled_count", -1),
        ("attempts", 0),
        ("deduplication", "throttle"),
        ("debounce", True),
    ],
)
def test_what_bullmq_does_not_have_is_refused(name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        bullmq(**{name: value})
