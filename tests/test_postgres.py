"""PostgreSQL queues: each fact by a run that is worked out by hand."""

from __future__ import annotations

import pytest
from runs import received, run, settled, starts

import simqueue as sq

brokers = sq.brokers
HOUR = 3_600
DEAD_AT_3 = sq.Crash(at=[(1, 3)])


async def fails(job, ctx):
    """Work, and then fail."""
    await ctx.work()
    raise RuntimeError("no")


def events(result, kind):
    """The times of the rows that say `kind`."""
    return result.events.time[result.events.event == kind].tolist()


# A row lock.


def test_a_row_lock_has_no_time_limit():
    """A day, with an idle worker beside it."""
    assert starts(run(86_400, workers=2, broker=brokers.row_lock())) == [0]


def test_a_dead_process_frees_its_row_at_once():
    """At 3."""
    assert starts(run(5, workers=2, crash=DEAD_AT_3, broker=brokers.row_lock())) == [0, 3]


def test_a_dead_machine_holds_its_row():
    """Until the server notices, after 60 s here."""
    crash = sq.Crash(at=[(1, 3)], kills="machine")
    result = run(5, workers=2, crash=crash, broker=brokers.row_lock(keepalive=60))
    assert starts(result) == [0, 63]


def test_a_commit_after_a_lost_connection_fails():
    """Cut off at 3, noticed at 13: the second starts, and the first one's commit at 20 fails."""
    cut = sq.Partition(worker=1, window=(3, 19))
    result = run(20, workers=2, faults=[cut], broker=brokers.row_lock(keepalive=10))
    assert starts(result) == [0, 13]
    assert events(result, "ack refused") == [20]
    assert result.jobs.effects[0] == 2


def test_a_poison_row_goes_round_for_ever():
    """It kills its process after 1 s, which is back 1 s later."""
    crash = sq.Crash(after=1, restart_after=1)
    result = run(5, crash=crash, broker=brokers.row_lock(), horizon=100)
    assert len(starts(result)) == 50


def test_good_job():
    """As long as the session lives, and no longer."""
    assert starts(run(86_400, workers=2, broker=brokers.good_job())) == [0]
    assert starts(run(5, workers=2, crash=DEAD_AT_3, broker=brokers.good_job())) == [0, 3]


# pgmq.


def test_pgmq_hides_for_vt():
    """For 30 s here; there is no default."""
    assert starts(run(45, workers=2, broker=brokers.pgmq(vt=30))) == [0, 30]
    with pytest.raises(TypeError):
        brokers.pgmq()


def test_a_late_delete_of_pgmq_deletes():
    """At 45, under the second reader, whose own delete at 75 finds nothing."""
    result = run(45, workers=2, broker=brokers.pgmq(vt=30))
    assert (settled(result), events(result, "ack ignored")) == (45, [75])


def test_pgmq_never_gives_up():
    """A hundred reads, one each 30 s."""
    result = run(1, handler=fails, broker=brokers.pgmq(vt=30), horizon=3_000)
    assert received(result) == [30 * n for n in range(100)]


async def beats(job, ctx):
    """Keep the message with set_vt."""
    for _ in range(5):
        await ctx.work(0.2)
        await ctx.extend(30)


def test_set_vt_is_a_heartbeat():
    """100 s of work, extended every 20."""
    assert starts(run(100, workers=2, handler=beats, broker=brokers.pgmq(vt=30))) == [0]


def test_pop_loses_what_runs():
    """Dead at 3."""
    result = run(5, crash=DEAD_AT_3, broker=brokers.pgmq(vt=30, pop=True))
    assert result.jobs.outcome[0] == "lost"


def test_pollers_are_late_by_their_interval():
    """Sent at 0.25, seen at 0.3 by one that looks every 100 ms."""
    result = run(1, arrivals=sq.Times([0.25]), poll_every=0.1, broker=brokers.pgmq(vt=30))
    assert starts(result) == [pytest.approx(0.3)]


# A status column.


def test_nobody_sees_that_the_owner_is_dead():
    """Back after 1 s, idle for the rest: its row is "active" until the rescuer comes."""
    crash = sq.Crash(at=[(1, 3)], restart_after=1)
    result = run(5, crash=crash, broker=brokers.pg_boss())
    assert starts(result) == [0, 900]


def test_pg_boss():
    """15 min, seen at the next full minute; three runs; then the dead-letter queue."""
    late = run(2_000, workers=9, arrivals=sq.Times([10]), broker=brokers.pg_boss(), horizon=1_999)
    assert starts(late) == [10, 960, 1_860]
    failing = run(1, handler=fails, broker=brokers.pg_boss())
    assert (len(starts(failing)), failing.jobs.outcome[0]) == (3, "dead-lettered")


def test_pg_boss_with_heartbeats():
    """10 s: a slow job is left alone for an hour, a dead worker's is back within a minute."""
    broker = brokers.pg_boss(heartbeat_seconds=10)
    assert starts(run(HOUR, workers=2, broker=broker)) == [0]
    assert starts(run(5, workers=2, crash=DEAD_AT_3, broker=broker)) == [0, 60]


def test_river():
    """Rescued at an hour, to the half minute; the handler itself is stopped after a minute."""
    broker = brokers.river(rescue_phase=7)
    result = run(2 * HOUR, workers=2, broker=broker, horizon=2 * HOUR - 1)
    assert starts(result) == [0, HOUR + 7]
    stopped = run(300, time_limit=60, broker=brokers.river(max_attempts=2))
    assert starts(stopped)[0] == 0
    assert 60.9 <= starts(stopped)[1] <= 61.1
    assert len(starts(run(1, handler=fails, broker=brokers.river()))) == 25


def test_oban():
    """An hour, to the minute; straight back, without a delay; 20 attempts."""
    result = run(2 * HOUR, workers=2, broker=brokers.oban(rescue_phase=7), horizon=2 * HOUR - 1)
    assert starts(result) == [0, HOUR + 7]
    assert len(starts(run(1, handler=fails, broker=brokers.oban()))) == 20


def test_oban_without_lifeline():
    """Executing for ever."""
    result = run(5, crash=DEAD_AT_3, broker=brokers.oban(lifeline=False))
    assert (starts(result), result.jobs.outcome[0]) == ([0], "unfinished")


def test_procrastinate():
    """Without a task of your own, nothing; with one every 10 min, at the first of them."""
    nothing = run(5, crash=DEAD_AT_3, broker=brokers.procrastinate())
    assert (starts(nothing), nothing.jobs.outcome[0]) == ([0], "unfinished")
    options = {"workers": 2, "broker": brokers.procrastinate(rescue_every=600, max_attempts=1)}
    assert starts(run(5, crash=DEAD_AT_3, **options)) == [0, 600]
    assert starts(run(HOUR, **options)) == [0]
    runs = starts(run(1, handler=fails, broker=brokers.procrastinate(max_attempts=3)))
    assert len(runs) == 4


def test_graphile_worker():
    """Four hours, seen within ten minutes: a job of six hours runs twice."""
    result = run(6 * HOUR, workers=3, broker=brokers.graphile_worker())
    assert starts(result) == [0, 14_580]
    assert 4 * HOUR <= starts(result)[1] <= 4 * HOUR + 600


def test_solid_queue():
    """Dead at 3, missed at 300: failed, and nobody runs it again. A long job is left alone."""
    result = run(5, crash=DEAD_AT_3, workers=2, broker=brokers.solid_queue())
    assert (starts(result), result.jobs.outcome[0]) == ([0], "dead-lettered")
    assert events(result, "dead lettered") == [300]
    assert starts(run(HOUR, workers=2, broker=brokers.solid_queue())) == [0]


def test_a_late_completion_completes_somebody_elses_attempt():
    """Rescued at 900, done at 1,000: pg-boss takes it; Oban does even for a job that has failed."""
    result = run(1_000, workers=2, broker=brokers.pg_boss())
    assert settled(result) == 1_000
    given_up = run(2 * HOUR, broker=brokers.oban(max_attempts=1))
    assert events(given_up, "dead lettered") == [HOUR]
    assert given_up.jobs.outcome[0] == "acked"


@pytest.mark.parametrize(
    ("make", "options", "name"),
    [
        (brokers.row_lock, {"keepalive": -1}, "keepalive"),
        (brokers.pgmq, {"vt": 0}, "vt"),
        (brokers.pg_boss, {"expire_in_seconds": 86_400}, "expire_in_seconds"),
        (brokers.pg_boss, {"heartbeat_seconds": 9}, "heartbeat_seconds"),
        (brokers.graphile_worker, {"scan_every": 60}, "scan_every"),
        (brokers.status_column, {"rescue_after": 5, "rescue_every": None}, "rescue_every"),
    ],
)
def test_what_they_do_not_allow_is_refused(make, options, name):
    """With the parameter's name."""
    with pytest.raises(ValueError, match=rf"broker\.{name} must be"):
        make(**options)
