"""One run: what it repeats exactly, what a handler may do, and what a crash takes with it."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from runs import run, scenario, starts, story

import simqueue as sq
from simqueue.model import execution
from simqueue.simulation import in_slices

EVERYTHING_ON = """
import hashlib, simqueue as sq
scenario = sq.Scenario(
    arrivals=sq.Poisson(rate=2), jobs=3_000,
    work=sq.LogNormal(median=5, p99=60), work_per="attempt",
    workers=sq.Workers(count=20, concurrency=2, prefetch=4,
                       crash=sq.Crash(mean_time_between=300, restart_after=10, at=[(3, 100)])),
    network=sq.Network(ack_lost=0.05),
    broker=sq.brokers.generic(lease=20, late_ack="in_flight_only", max_receives=6, retry_delay=3),
    handler=sq.handlers.claim,
)
result = sq.simulate(scenario, seed=7)
print(len(result.events))
print(hashlib.sha256(repr(result.events.values.tolist()).encode()).hexdigest())
"""


def test_same_scenario_and_seed_same_events_in_any_process():
    """Another process under another hash seed has the same events, to the last bit."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", EVERYTHING_ON],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("0", "1", "4711")
    }
    assert len(printed) == 1


def test_the_events_are_those_of_this_version():
    """A change of any event of this run is seen here, whichever platform or library made it."""
    result = run(
        sq.LogNormal(median=5, p99=60),
        workers=4,
        seed=3,
        jobs=200,
        arrivals=sq.Poisson(0.5),
        lease=20,
        late_ack="latest_receipt",
        max_receives=4,
        crash=sq.Crash(mean_time_between=200, restart_after=10),
    )
    digest = hashlib.sha256("\n".join(story(result)).encode()).hexdigest()
    assert digest[:16] == "9adf1d48a5cb75d0"


def test_another_seed_gives_another_run():
    """The seed is not ignored."""
    what = scenario(sq.Exponential(1), jobs=10, arrivals=sq.Poisson(1))
    assert story(sq.simulate(what, 1)) != story(sq.simulate(what, 2))


def durations(result: sq.Result) -> np.ndarray:
    """Busy seconds of each job's first attempt."""
    first = result.deliveries.drop_duplicates("job").set_index("job").sort_index()
    return (first.ended - first.started).to_numpy()


@pytest.mark.parametrize(
    "change",
    [
        {"broker.lease": 3},
        {"broker.late_ack": "unexpired"},
        {"handler": sq.handlers.claim},
        {"workers.count": 1_000},
        {"network.ack_lost": 0.5},
        {"broker.retry_delay": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_change_of_one_thing_changes_no_draw_of_another(change):
    """Common random numbers: the same arrivals and durations, whatever else is changed."""
    what = scenario(
        sq.Exponential(mean=5),
        workers=500,
        arrivals=sq.Poisson(2),
        jobs=2_000,
        lease=10,
        late_ack="deletes",
        max_receives=20,
    )
    before, after = sq.simulate(what, 1), sq.simulate(what.replace(change), 1)
    assert (before.jobs.published == after.jobs.published).all()
    np.testing.assert_allclose(durations(before), durations(after), atol=2e-6)


def test_more_jobs_change_nothing_about_the_first_ones():
    """Job 17 is the same job in a run of 100 and in one of 5,000."""
    few, many = (
        run(sq.Exponential(3), workers=100, arrivals=sq.Poisson(1), jobs=jobs)
        for jobs in (100, 5_000)
    )
    assert few.jobs.published.equals(many.jobs.published[:100])
    np.testing.assert_allclose(durations(few), durations(many)[:100], atol=2e-6)


def test_work_per_attempt_draws_anew_and_per_job_does_not():
    """A slow job is slow on every attempt, unless one says otherwise."""
    for work_per, different in (("job", 1), ("attempt", 4)):
        result = run(
            sq.Exponential(5), lease=None, max_receives=4, work_per=work_per, handler=failing
        )
        took = (result.deliveries.ended - result.deliveries.started).round(5)
        assert took.nunique() == different


async def failing(job, ctx):
    """Work, then fail."""
    await ctx.work()
    raise sq.Retry("no")


# Handlers.


def test_a_handler_sees_the_job_the_attempt_and_the_time():
    """`job` and `ctx` say which delivery of what this is, and when."""
    seen = []

    async def look(job, ctx):
        seen.append((job.id, job.key, ctx.attempt, ctx.now))
        await ctx.sleep(2)
        if ctx.attempt == 1:
            raise sq.Retry("again")

    run(handler=look, lease=None)
    assert seen == [(0, "job-0", 1, 0), (0, "job-0", 2, 2)]


def test_work_can_be_done_in_parts():
    """`ctx.work(share)` is that share of the job's work."""

    async def in_parts(job, ctx):
        await ctx.work(0.25)
        await ctx.payments.charge(job.customer, job.amount)
        await ctx.work(0.75)

    result = run(8, handler=in_parts)
    assert result.effects.time.tolist() == [2]
    assert result.deliveries.ended.tolist() == [8]


def test_any_exception_of_a_handler_is_a_failed_attempt():
    """As at work: the job is not acked, and the exception is in the events."""

    async def broken(job, ctx):
        raise ZeroDivisionError("oh")

    result = run(handler=broken, lease=None, max_receives=2)
    assert result.figures["failures"] == 2
    failed = result.events[result.events.event == "failed"]
    assert failed.detail.tolist() == ["ZeroDivisionError('oh')"] * 2


def test_a_run_that_never_ends_names_the_failure_that_keeps_it_going():
    """The sentence says what the last attempt raised."""
    with pytest.raises(sq.NeverSettles, match=r"raised Retry\('no'\)\."):
        run(handler=failing, lease=None)


async def foreign(job, ctx):
    """Await something that is not of ctx."""
    await asyncio.sleep(0)


async def into_the_past(job, ctx):
    """Sleep a negative time."""
    await ctx.sleep(-1)


async def extends_by_nothing(job, ctx):
    """Extend the lease by zero."""
    await ctx.extend(0)


def not_a_coroutine(job, ctx):
    """A plain function."""


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [
        (foreign, "may await only what ctx gives it"),
        (into_the_past, "ctx.sleep takes a finite number of 0 or more, not -1."),
        (extends_by_nothing, "ctx.extend takes a number of seconds above 0, not 0."),
        (not_a_coroutine, "must be an async function of \\(job, ctx\\)"),
    ],
)
def test_a_handler_that_cannot_work_gets_one_clear_sentence(handler, sentence):
    """A mistake in the code ends the run; it is not one more failed attempt."""
    with pytest.raises((sq.HandlerError, ValueError), match=sentence):
        run(handler=handler, max_receives=3)


# Crashes.


def test_a_crash_runs_no_except_and_no_finally():
    """The process is gone: not even its `finally` runs, then or later."""
    ran = []

    async def careful(job, ctx):
        try:
            await ctx.work()
            ran.append("done")
        except BaseException:
            ran.append("except")
            raise
        finally:
            ran.append("finally")

    result = run(
        10, workers=2, lease=30, handler=careful, crash=sq.Crash(at=[(1, 5)], restart_after=1)
    )
    assert result.deliveries.outcome.tolist() == ["crashed", "finished"]
    assert ran == ["done", "finally"]
    del result


def test_crashed_handlers_without_cleanup_are_let_go():
    """Hundreds of crashes leave no coroutine behind, unless it would run code of its own."""
    before = len(execution._kept)
    crash = sq.Crash(mean_time_between=20, restart_after=0)
    options = {"workers": 20, "jobs": 500, "arrivals": sq.Poisson(1), "lease": 30, "crash": crash}
    assert run(5, **options).figures["crashes"] > 50
    assert len(execution._kept) == before

    async def careful(job, ctx):
        try:
            await ctx.work()
        finally:
            pass

    crashes = run(5, handler=careful, **options).figures["crashes"]
    assert len(execution._kept) == before + crashes


def test_a_crash_takes_all_slots_and_the_buffer_with_it():
    """Two running and two buffered deliveries are gone; their leases bring all four back."""
    result = run(
        10,
        jobs=4,
        concurrency=2,
        prefetch=4,
        lease=30,
        late_ack="unexpired",
        crash=sq.Crash(at=[(1, 5)], restart_after=1),
    )
    first = result.deliveries[result.deliveries.attempt == 1]
    assert first.outcome.tolist() == ["crashed", "crashed", "unstarted", "unstarted"]
    assert first.expired.tolist() == [30] * 4
    assert (result.jobs.outcome == "acked").all()
    assert (result.jobs.effects == 1).all()


def test_a_crashed_worker_takes_nothing_until_it_is_back():
    """The only worker dies at 5 for 100 s; the lease ends at 30; it starts again at 105."""
    result = run(10, lease=30, crash=sq.Crash(at=[(1, 5)], restart_after=100))
    assert starts(result) == [0, 105]
    assert result.figures["recovery_mean"] == 100


def test_an_idle_worker_can_crash_too():
    """It takes no job with it, and is away for a while."""
    result = run(
        10, arrivals=sq.Times([20]), jobs=None, crash=sq.Crash(at=[(1, 5)], restart_after=30)
    )
    assert starts(result) == [35]
    assert result.figures["crashes"] == 0


def test_a_second_crash_while_it_is_down_changes_nothing():
    """A process that is not there can't die."""
    result = run(10, lease=30, crash=sq.Crash(at=[(1, 5), (1, 6)], restart_after=10))
    assert (result.events.event == "worker crashed").sum() == 1
    assert (result.events.event == "worker restarted").sum() == 1


def test_crashes_come_at_their_rate_per_busy_second():
    """A share 1 - exp(-S / mean) of deliveries dies before it is done."""
    result = run(
        5,
        workers=50,
        jobs=20_000,
        arrivals=sq.Poisson(2),
        lease=20,
        crash=sq.Crash(mean_time_between=50, restart_after=0),
    )
    share = result.figures["crashes"] / len(result.deliveries)
    assert share == pytest.approx(1 - np.exp(-5 / 50), rel=0.05)


def test_a_worker_that_died_on_another_job_still_takes_its_neighbours_along():
    """Slots of one process die together."""
    result = run(
        sq.Recorded([100, 10]),
        jobs=2,
        concurrency=2,
        lease=200,
        crash=sq.Crash(at=[(1, 50)], restart_after=1),
    )
    assert result.deliveries.outcome.tolist()[:2] == ["crashed", "finished"]


# Lost acks.


def test_a_lost_ack_means_a_second_delivery_though_the_worker_believes_it_is_done():
    """The effect stands, the lease runs out, the job is delivered again."""
    result = run(5, lease=30, max_receives=3, network=sq.Network(ack_lost=1))
    assert starts(result) == [0, 30, 60]
    assert set(result.deliveries.ack) == {"lost"}
    assert result.figures["acks_lost"] == 3
    assert result.jobs.effects[0] == 3


def test_acks_are_lost_with_their_probability():
    """Per delivery, independently."""
    result = run(
        1,
        workers=50,
        jobs=20_000,
        arrivals=sq.Poisson(5),
        lease=10,
        network=sq.Network(ack_lost=0.2),
    )
    assert result.figures["deliveries_per_job"] == pytest.approx(1 / 0.8, rel=0.02)


def test_claim_turns_a_second_delivery_into_no_second_effect():
    """The same lost acks: naive charges again, claim does not."""
    options = {"lease": 30, "max_receives": 3, "network": sq.Network(ack_lost=1)}
    assert run(5, handler=sq.handlers.naive, **options).jobs.effects[0] == 3
    assert run(5, handler=sq.handlers.claim, **options).jobs.effects[0] == 1


def test_claim_whose_owner_dies_leaves_the_job_stuck():
    """All later deliveries find the key taken: no effect, and the dead-letter queue."""
    result = run(
        10,
        workers=2,
        lease=30,
        max_receives=4,
        handler=sq.handlers.claim,
        crash=sq.Crash(at=[(1, 5)], restart_after=1),
    )
    assert result.jobs.effects[0] == 0
    assert result.jobs.outcome[0] == "dead-lettered"
    assert result.figures["failures"] == 3


# The end of a run.


@pytest.mark.parametrize("events", [1, 7, 1_000])
@pytest.mark.parametrize("horizon", [None, 20])
def test_a_run_in_slices_is_the_same_run(events, horizon):
    """Stopped each few events, with another run in between, it comes to the same events."""
    what = scenario(
        sq.Exponential(10), workers=3, jobs=30, arrivals=sq.Poisson(1), lease=15, max_receives=3,
        crash=sq.Crash(mean_time_between=60, restart_after=2), horizon=horizon,
    )  # fmt: skip
    whole = sq.simulate(what, 4)
    slices, stops = in_slices(what, 4, events), 0
    try:
        while True:
            next(slices)
            stops += 1
            if stops == 3:
                sq.simulate(what, 5)
    except StopIteration as end:
        result = end.value
    assert result.events.equals(whole.events)
    assert (stops >= 3) == (events < 10)


def test_a_run_that_is_left_half_way_does_not_clean_up_after_itself():
    """Closed between two slices, no handler runs on: neither now nor when it is forgotten."""
    began, ran_on = [], []

    async def tidies_up(job, ctx):
        began.append(job.id)
        try:
            await ctx.work()
        finally:
            ran_on.append(job.id)

    slices = in_slices(scenario(30, workers=5, jobs=20, handler=tidies_up), 1, 1)
    while not began:
        next(slices)
    slices.close()
    del slices
    gc.collect()
    assert ran_on == []


def test_a_run_drains():
    """All jobs are settled and no worker is busy, however late that is."""
    result = run(90, workers=3, lease=30, late_ack="deletes")
    assert result.cut == {"unpublished": 0, "unsettled": 0, "running": 0}
    assert result.duration == 60 + 90


def test_a_horizon_cuts_and_says_what():
    """At 10: two of five jobs published, one of them settled, one running."""
    result = run(6, arrivals=sq.EvenlySpaced(interval=5), jobs=5, horizon=10.5, lease=30)
    assert result.cut == {"unpublished": 2, "unsettled": 2, "running": 1}
    assert result.figures["jobs"] == 3
    assert result.figures["unfinished_rate"] == pytest.approx(2 / 3)


def test_what_a_horizon_cuts_does_not_clean_up_after_itself():
    """The run is over: no `finally` of a handler that was still at work is run."""
    ran = []

    async def careful(job, ctx):
        try:
            await ctx.work()
        finally:
            ran.append(ctx.now)
            await ctx.store.complete(job.key)

    result = run(90, handler=careful, horizon=50)
    assert result.cut["running"] == 1
    del result
    gc.collect()
    assert ran == []


def test_seed_must_be_a_whole_number():
    """One clear sentence."""
    with pytest.raises(ValueError, match="seed must be a whole number of 0 or more, not -1"):
        run(seed=-1)
