"""Sidekiq, basic fetch and super_fetch: each fact by a run that is worked out by hand."""

from __future__ import annotations

import pytest
from runs import received, run, settled, starts

import simqueue as sq

sidekiq, super_fetch = sq.brokers.sidekiq, sq.brokers.sidekiq_super_fetch
BOTH = pytest.mark.parametrize("kind", [sidekiq, super_fetch])
DAY = 86_400
HOUR = 3_600


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


@BOTH
def test_the_first_retries_wait_for_15_seconds_and_more(kind):
    """15 to 24 s and a poll; then 16 to 35; then 31 to 60: at most 7.5 s later."""
    for seed in range(10):
        begun = starts(run(1, seed=seed, handler=fails, broker=kind(retry=3)))
        waits = [begun[n + 1] - begun[n] - 1 for n in range(3)]
        for wait, shortest, random in zip(waits, (15, 16, 31), (9, 19, 29), strict=True):
            assert shortest <= wait <= shortest + random + 7.5


@BOTH
@pytest.mark.parametrize(("retry", "runs"), [(25, 26), (0, 1), (3, 4)])
def test_retry_n_means_n_plus_one_runs(kind, retry, runs):
    """And then the dead set; 25 retries take about 20 days."""
    result = run(1, handler=fails, broker=kind(retry=retry))
    assert (len(starts(result)), result.jobs.deliveries[0]) == (runs, runs)
    assert len(events(result, "dead lettered")) == 1
    if retry == 25:
        assert settled(result) == pytest.approx(20.4 * DAY, rel=0.01)


@BOTH
def test_without_retry_a_failure_is_the_end(kind):
    """No dead set either."""
    result = run(1, handler=fails, broker=kind(retry=False))
    assert (len(starts(result)), result.jobs.outcome[0]) == (1, "lost")


@BOTH
def test_a_job_that_may_not_die_is_dropped(kind):
    """`dead: false`: its retries are used up, and it is gone."""
    result = run(1, handler=fails, broker=kind(retry=1, dead=False))
    assert (len(starts(result)), result.jobs.outcome[0]) == (2, "lost")


@pytest.mark.parametrize(("processes", "most"), [(1, 7.5), (10, 10)])
def test_a_retry_comes_with_the_next_poll(processes, most):
    """Retries that are due at some moment wait for about half of the interval, on average."""
    lags = []
    for seed in range(60):
        broker = sidekiq(retry=1, processes=processes)
        result = run(1, seed=seed, handler=_in_a_minute, broker=broker)
        lags.append(starts(result)[1] - 61)
    assert min(lags) >= 0
    assert max(lags) <= most
    assert 1.5 < sum(lags) / len(lags) < 4.5


async def _in_a_minute(job, ctx):
    """Ask for another attempt in 60 s."""
    await ctx.work()
    raise sq.Retry("later", after=60)


@BOTH
def test_the_dead_set_forgets_after_180_days(kind):
    """From the job's last failure on."""
    result = run(1, handler=fails, broker=kind(retry=0), horizon=181 * DAY)
    assert events(result, "dead letter expired") == [1 + 180 * DAY]


@BOTH
def test_a_long_job_runs_once(kind):
    """A day, with an idle worker beside it, and others that start now and then."""
    crash = sq.Crash(at=[(2, 2 * HOUR), (2, 9 * HOUR)])
    result = run(DAY, workers=2, crash=crash, broker=kind())
    assert starts(result) == [0]


@BOTH
def test_nothing_is_deduped(kind):
    """Pushed twice, run twice."""
    producers = sq.Producers(replicas=2)
    assert len(starts(run(1, producers=producers, broker=kind()))) == 2


def test_a_kill_loses_what_runs():
    """A process with three threads dies: three jobs are gone, and neither retried nor dead."""
    crash = sq.Crash(at=[(1, 5)])
    result = run(10, jobs=5, concurrency=3, crash=crash, broker=sidekiq())
    assert result.jobs.outcome.tolist() == ["lost", "lost", "lost", "acked", "acked"]
    assert result.jobs.executions.tolist() == [1] * 5


def test_a_shutdown_pushes_back_what_is_not_done():
    """TERM at 5, 25 s of grace: a job of 20 s ends in time, one of 60 s runs again from 30 on."""
    deploy = sq.Deploy(at=5, grace=25, push_back=True)
    result = run(sq.Recorded([20.0, 60.0]), jobs=2, concurrency=2, faults=[deploy],
                 broker=sidekiq())  # fmt: skip
    assert [starts(result, job) for job in range(2)] == [[0], [0, 30]]
    assert result.jobs.outcome.tolist() == ["acked", "acked"]


def test_super_fetch_loses_nothing():
    """Dead at 5; a process that starts two hours later finds all three jobs."""
    crash = sq.Crash(at=[(1, 5)], restart_after=2 * HOUR)
    result = run(10, jobs=3, concurrency=3, crash=crash, broker=super_fetch())
    assert result.jobs.outcome.tolist() == ["acked"] * 3
    assert [received(result, job) for job in range(3)] == [[0, 5 + 2 * HOUR]] * 3


@pytest.mark.parametrize(("after", "found"), [(54, False), (55, True)])
def test_an_orphan_is_one_whose_heartbeat_is_over(after, found):
    """Dead at 5, the last heartbeat was at 0: 60 s later it is over, and not sooner."""
    crash = sq.Crash(at=[(1, 5)], restart_after=after)
    broker = super_fetch(super_fetch_orphan_check=0)
    result = run(10, crash=crash, broker=broker, horizon=500)
    assert (len(received(result)) == 2) == found


def test_orphans_wait_for_a_start():
    """Back at 100: too soon after the look at 0. The next start is at 4,000, and finds the job."""
    crash = sq.Crash(at=[(1, 5), (1, 3_900)], restart_after=100)
    result = run(10, crash=crash, broker=super_fetch(), horizon=9_000)
    assert received(result) == [0, 4_000]


def test_the_third_recovery_is_the_end():
    """It kills its process after 5 s: started, and recovered twice; the third time it is dead."""
    crash = sq.Crash(after=5, restart_after=2 * HOUR)
    result = run(10, crash=crash, broker=super_fetch())
    assert len(starts(result)) == 3
    assert result.jobs.deliveries[0] == 3
    assert len(events(result, "dead lettered")) == 1


def test_rare_recoveries_are_no_poison():
    """A day and a half apart, never three of them within 72 hours."""
    crash = sq.Crash(after=5, restart_after=1.5 * DAY)
    result = run(10, crash=crash, broker=super_fetch(), horizon=10 * DAY)
    assert len(starts(result)) == 7


def test_recoveries_are_no_retries():
    """Recovered once, it still has all of its retries: one."""
    crash = sq.faults.At(step="work", when="before", turn=1, seconds=2 * HOUR)
    result = run(1, handler=fails, faults=[crash], broker=super_fetch(retry=1))
    assert len(starts(result)) == 3


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [("retry", -1), ("average_scheduled_poll_interval", 0), ("processes", 0)],
)
def test_what_sidekiq_does_not_have_is_refused(kind, name, value):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        kind(**{name: value})
