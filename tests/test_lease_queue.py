"""Leases, late acks and limits, against results worked out by hand.

F1, F2, ... are the usual exact cases of a lease: work S, lease V, W idle workers, r receives.
"""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts, story

import simqueue as sq

REFUSING = ("latest_receipt", "unexpired")
ACCEPTING = ("deletes", "in_flight_only")


def test_a_job_shorter_than_its_lease_is_delivered_once():
    """Publish, receive, start, effect, finish, ack: the whole story of a job that goes well."""
    assert story(run(work=10, lease=30)) == [
        "0 published 0/-1@-1",
        "0 received 0/0@1",
        "0 started 0/0@1",
        "10 effect 0/0@1",
        "10 finished 0/0@1",
        "10 acked 0/0@1",
    ]


# F1: ample workers, any copy's ack settles the job.


def test_ninety_seconds_of_work_on_a_lease_of_thirty_runs_three_times():
    """S = 90, V = 30, 3 workers: deliveries at 0, 30, 60, settled at 90; the ack wins the tie."""
    result = run(90, workers=3, lease=30, late_ack="deletes")
    assert received(result) == [0, 30, 60]
    assert settled(result) == 90
    assert result.deliveries.ended.tolist() == [90, 120, 150]
    assert result.deliveries.ack.tolist() == ["accepted", "ignored", "ignored"]


def test_an_ack_at_the_very_end_of_a_lease_comes_before_its_expiry():
    """With a fourth worker idle at 90, the tie still gives three deliveries and not four."""
    assert received(run(90, workers=4, lease=30, late_ack="deletes")) == [0, 30, 60]


@pytest.mark.parametrize("late_ack", ACCEPTING)
@pytest.mark.parametrize(
    ("work", "lease", "executions"),
    [(100, 30, 4), (12_826, 3_600, 4), (7_200, 1_800, 4), (7_260, 1_800, 5), (7_200, 300, 24)],
)
def test_executions_are_work_over_lease_rounded_up(work, lease, executions, late_ack):
    """F1: starts 0, V, 2V, …; n = ceil(S / V); settled at S; the last copy ends at (n-1)V + S."""
    result = run(work, workers=executions, lease=lease, late_ack=late_ack)
    assert starts(result) == [n * lease for n in range(executions)]
    assert settled(result) == work
    assert result.deliveries.ended.max() == (executions - 1) * lease + work
    assert result.figures["duplicate_effects"] == executions - 1


# F2: only so many workers.


@pytest.mark.parametrize(("workers", "executions"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4)])
def test_deletes_with_few_workers_runs_as_often_as_there_are_workers(workers, executions):
    """F2: an ack that removes the job wherever it is: min(W, n) executions."""
    result = run(100, workers=workers, lease=30, late_ack="deletes")
    assert len(starts(result)) == executions
    assert settled(result) == 100


@pytest.mark.parametrize(
    ("workers", "executions", "at"), [(4, 4, 12_826), (3, 4, 16_426), (2, 3, 16_426)]
)
def test_an_ack_that_clears_only_in_flight_leaves_the_copy_in_the_queue(workers, executions, at):
    """F2, Celery on Redis: a copy queued at ack time still runs; fewer workers settle later."""
    result = run(12_826, workers=workers, lease=3_600, late_ack="in_flight_only")
    assert len(starts(result)) == executions
    assert settled(result) == at


def test_one_worker_whose_ack_clears_only_in_flight_never_ends():
    """F2: W = 1, S > V: at each ack the copy is back in the queue, and runs again."""
    result = run(40, lease=30, late_ack="in_flight_only", horizon=400)
    assert starts(result) == [40 * n for n in range(10)]
    assert math.isnan(settled(result))


# F3: late acks that do not count.


@pytest.mark.parametrize("late_ack", REFUSING)
def test_work_longer_than_the_lease_never_settles(late_ack):
    """F3, ample workers: one delivery every 30 s, without end."""
    result = run(100, workers=4, lease=30, late_ack=late_ack, horizon=3_001)
    assert received(result) == [30 * n for n in range(101)]
    assert result.cut["unsettled"] == 1


@pytest.mark.parametrize("exhaustion", ["return", "receive"])
@pytest.mark.parametrize("late_ack", REFUSING)
def test_a_job_can_be_dead_lettered_although_every_run_succeeded(late_ack, exhaustion):
    """F3: with 5 receives, in the dead-letter queue at 150, with five effects."""
    result = run(100, workers=4, lease=30, late_ack=late_ack, max_receives=5, exhaustion=exhaustion)
    assert received(result) == [0, 30, 60, 90, 120]
    assert set(result.deliveries.outcome) == {"finished"}
    assert result.jobs.outcome[0] == "dead-lettered"
    assert settled(result) == 150
    assert result.jobs.effects[0] == 5


@pytest.mark.parametrize(("exhaustion", "at"), [("return", (5 - 1) * 40 + 30), ("receive", 5 * 40)])
def test_when_exhaustion_is_noticed_decides_when_one_worker_gives_up(exhaustion, at):
    """F3, one worker: (r-1)S + V where noticed at expiry, rS where noticed at the next receive."""
    result = run(40, lease=30, late_ack="unexpired", max_receives=5, exhaustion=exhaustion)
    assert len(starts(result)) == 5
    assert settled(result) == at


def test_one_worker_can_ack_late_while_nobody_else_received():
    """S = 40, V = 30, one worker: its receipt is still the newest at 40."""
    result = run(40, lease=30, late_ack="latest_receipt")
    assert starts(result) == [0]
    assert settled(result) == 40


def test_one_worker_whose_late_acks_are_refused_never_ends():
    """S = 40, V = 30, one worker: one start every 40 s."""
    result = run(40, lease=30, late_ack="unexpired", horizon=401)
    assert starts(result) == [40 * n for n in range(11)]


def test_two_workers_can_be_worse_than_one():
    """Each delete of an older receipt loses to the newer one: no end, where one worker ends."""
    result = run(40, workers=2, lease=30, late_ack="latest_receipt", horizon=3_000)
    assert received(result)[:5] == [0, 30, 60, 90, 120]
    assert result.cut["unsettled"] == 1


def test_a_worker_is_told_of_a_refused_ack_but_not_of_an_ignored_one():
    """The same ack, too late: "refused" for brokers that tell, "ignored" for those that do not."""
    for late_ack, word in (("unexpired", "refused"), ("latest_receipt", "ignored")):
        result = run(40, workers=2, lease=30, late_ack=late_ack, horizon=45)
        assert result.deliveries.ack[0] == word


def test_a_run_that_would_never_end_says_so():
    """Without a horizon and without a limit, one clear sentence instead of an endless loop."""
    with pytest.raises(sq.NeverSettles, match="Job 0 was delivered 10,000 times"):
        run(100, workers=4, lease=30, late_ack="unexpired")


def test_a_run_that_gets_nowhere_says_so_even_with_a_horizon():
    """It fails at once and is retried at once: time would never reach the horizon."""

    async def fails_at_once(job, ctx):
        raise sq.Retry("no")

    with pytest.raises(sq.NeverSettles, match=r"at one instant: it fails at once .*'no'"):
        run(lease=None, horizon=100, handler=fails_at_once)


def test_many_receives_are_fine_as_long_as_time_goes_on():
    """30,000 deliveries, a horizon, no complaint."""
    result = run(1, lease=None, horizon=30_000, handler=failing)
    assert len(result.deliveries) == 30_000


# F6: a crash.


@pytest.mark.parametrize("crash_at", [0.5, 5, 29.5])
def test_after_a_crash_the_job_comes_back_when_its_lease_ends(crash_at):
    """F6: redelivery at V, V - c after the crash."""
    crash = sq.Crash(at=[(1, crash_at)], restart_after=1)
    result = run(50, workers=2, lease=30, late_ack="deletes", crash=crash)
    assert received(result)[:2] == [0, 30]
    assert result.deliveries.outcome[0] == "crashed"
    assert result.figures["recovery_mean"] == 30 - crash_at


def test_a_heartbeat_moves_the_return_after_a_crash():
    """F6: with a heartbeat every 10 s, redelivery at the last heartbeat + V."""

    async def beating(job, ctx):
        for _ in range(6):
            await ctx.sleep(10)
            await ctx.extend(30)
        await ctx.payments.charge(job.customer, job.amount)

    crash = sq.Crash(at=[(1, 25)], restart_after=1)
    result = run(1, workers=2, lease=30, handler=beating, crash=crash)
    assert received(result) == [0, 20 + 30]
    assert result.figures["duplicate_effects"] == 0


def test_extending_a_lease_that_ran_out_raises():
    """The worker learns that it lost the lease; the message is with another by then."""
    lost = []

    async def late(job, ctx):
        await ctx.sleep(40)
        try:
            await ctx.extend(30)
        except sq.LeaseLost as error:
            lost.append(str(error))

    run(1, workers=2, lease=30, handler=late, max_receives=1)
    assert lost == ["the lease of attempt 1 had run out"]


def test_an_extension_is_counted_from_now_not_added():
    """Extended at 10 by 5 s, a lease of 30 ends at 15."""

    async def shorten(job, ctx):
        if ctx.attempt == 1:
            await ctx.sleep(10)
            await ctx.extend(5)
            await ctx.sleep(10)

    result = run(1, workers=2, lease=30, handler=shorten)
    assert received(result) == [0, 15]


# F8: prefetch.


@pytest.mark.parametrize(("work", "acked"), [(0.1, 200), (0.2, 102), (0.3, 68)])
def test_leases_run_while_messages_wait_in_the_buffer(work, acked):
    """F8: prefetch k, one worker: the first floor(V / S) acks count, the rest come too late."""
    result = run(work, jobs=200, prefetch=200, lease=20.4, late_ack="unexpired", max_receives=1)
    assert (result.deliveries.ack == "accepted").sum() == acked
    assert (result.jobs.outcome == "dead-lettered").sum() == 200 - acked


def test_prefetch_of_one_starts_clock_and_handler_together():
    """Ten jobs of 28 s, lease 30, two workers: ten executions in 140 s, no duplicate."""
    result = run(28, workers=2, jobs=10, prefetch=1, lease=30, late_ack="deletes")
    assert result.figures["duplicate_executions"] == 0
    assert result.duration == 140


def test_an_unlimited_buffer_takes_all_there_is():
    """The first worker takes all ten at 0, though the second is idle."""
    result = run(28, workers=2, jobs=10, prefetch=math.inf, lease=None)
    assert set(result.deliveries.worker) == {1}
    assert result.duration == 280


def test_without_prefetch_workers_take_turns():
    """Three workers of two slots and four jobs: 1, 2, 3, 1."""
    result = run(5, workers=3, concurrency=2, jobs=4)
    assert result.deliveries.worker.tolist() == [1, 2, 3, 1]


# Failures and limits.


async def failing(job, ctx):
    """Work, then fail."""
    await ctx.work()
    raise sq.Retry("not today")


def test_a_failed_message_waits_for_its_lease():
    """Without a retry delay the worker stays silent."""
    assert received(run(1, lease=30, max_receives=3, handler=failing)) == [0, 30, 60]


def test_a_failed_message_comes_back_after_the_retry_delay():
    """With one, the delay counts from the failure."""
    result = run(1, lease=30, max_receives=3, retry_delay=5, handler=failing)
    assert received(result) == [0, 6, 12]
    assert settled(result) == 13


def test_without_a_lease_a_failed_message_is_visible_at_once():
    """There is no other way back."""
    assert received(run(1, lease=None, max_receives=3, handler=failing)) == [0, 1, 2]


@pytest.mark.parametrize("exhaustion", ["return", "receive"])
@pytest.mark.parametrize("limit", [1, 2, 7])
def test_a_limit_of_receives_is_the_number_of_deliveries(limit, exhaustion):
    """Exactly as many deliveries as the limit says, not one fewer or more."""
    result = run(1, lease=30, max_receives=limit, exhaustion=exhaustion, handler=failing)
    assert len(received(result)) == limit
    assert result.jobs.outcome[0] == "dead-lettered"


def test_a_returned_message_goes_to_the_back_or_to_the_front():
    """Three jobs, one worker; the first one fails at once: it is next, or last."""

    async def first_attempt_of_0_fails(job, ctx):
        await ctx.work()
        if job.id == 0 and ctx.attempt == 1:
            raise sq.Retry("once")

    for returns_to, order in (("back", [0, 1, 2, 0]), ("front", [0, 0, 1, 2])):
        result = run(
            1, jobs=3, retry_delay=0, returns_to=returns_to, handler=first_attempt_of_0_fails
        )
        assert result.deliveries.job.tolist() == order


def test_no_lease_means_no_redelivery_while_the_worker_lives():
    """A broker without a timer waits for the worker's word, however long."""
    assert received(run(1e6, workers=3, lease=None)) == [0]


# Ties.


def test_at_one_instant_an_expiry_comes_before_a_receive():
    """Job 0's lease ends as job 1 arrives; the idle worker gets job 0, which was there first."""
    result = run(
        100, workers=2, lease=30, late_ack="deletes", arrivals=sq.Times([0, 5, 30]), jobs=None
    )
    at_thirty = result.events[(result.events.time == 30) & (result.events.job >= 0)]
    words = at_thirty.event.tolist()
    assert words.index("expired") < words.index("visible")
    assert "received" not in words
    lone = run(10, workers=1, lease=10, late_ack="unexpired", max_receives=1)
    assert lone.deliveries.ack.tolist() == ["accepted"]


def test_a_message_freed_at_an_instant_is_handed_over_at_that_instant():
    """Ack, expiry, receive: worker 1 is free at 30 just in time for what comes back at 30."""
    result = run(sq.Recorded([100, 30]), workers=2, jobs=2, lease=30, late_ack="deletes")
    at_thirty = [line for line in story(result) if line.startswith("30 ")]
    assert at_thirty == [
        "30 effect 1/1@2",
        "30 finished 1/1@2",
        "30 acked 1/1@2",
        "30 expired 0/0@1",
        "30 visible 0/-1@-1",
        "30 received 0/2@2",
        "30 started 0/2@2",
    ]
