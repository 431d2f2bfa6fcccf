"""Every fault, one at a time, against results worked out by hand."""

from __future__ import annotations

import math

import pytest
from runs import received, run, settled, starts

import simqueue as sq
from simqueue.faults import At

# Pauses.


def test_a_paused_worker_carries_on_as_if_nothing_had_happened():
    """Work 20, paused at 5 for 60 s: done at 80, while another had the job from 30 to 50."""
    result = run(
        20, workers=2, lease=30, late_ack="deletes", faults=[sq.Pause(seconds=60, at=[(1, 5)])]
    )
    assert received(result) == [0, 30]
    assert result.deliveries.ended.tolist() == [65, 50]
    assert result.figures["duplicate_effects"] == 1


def test_a_paused_worker_takes_no_message():
    """Idle and paused from 5 to 65: the job that comes at 10 waits."""
    result = run(1, arrivals=sq.Times([10]), jobs=None, faults=[sq.Pause(seconds=60, at=[(1, 5)])])
    assert starts(result) == [65]


def test_a_pause_that_ends_before_the_work_does_changes_nothing():
    """Time passes for a timer although the process stands still: work ends when it would have."""
    result = run(20, lease=30, faults=[sq.Pause(seconds=3, at=[(1, 5)])])
    assert result.deliveries.ended.tolist() == [20]


def test_pauses_come_at_their_rate():
    """A share of deliveries is hit; each makes what runs late."""
    result = run(
        10, workers=20, jobs=5_000, arrivals=sq.Poisson(1), lease=None,
        faults=[sq.Pause(seconds=1, mean_time_between=50)],
    )  # fmt: skip
    paused = (result.events.event == "worker paused").sum()
    assert paused / 5_000 == pytest.approx(1 - math.exp(-10 / 50), rel=0.1)


# Deploys.


def test_a_deploy_lets_short_jobs_finish_and_kills_long_ones():
    """Grace 25 s: with 20 s to go it is done, with 30 s it dies, and its lease brings it back."""
    result = run(
        sq.Recorded([30, 40]), jobs=2, workers=2, lease=100, faults=[sq.Deploy(at=10, grace=25)]
    )
    assert result.deliveries.outcome.tolist() == ["finished", "crashed", "finished"]
    assert received(result, job=1) == [0, 100]


def test_push_back_gives_unfinished_jobs_back_at_once():
    """Killed at 35, the job is visible at 35."""
    result = run(40, workers=1, lease=100, faults=[sq.Deploy(at=10, grace=25, push_back=True)])
    assert received(result) == [0, 35]


def test_a_draining_worker_fetches_nothing():
    """Job 1 waits for the new version of the only worker."""
    result = run(20, jobs=2, lease=100, faults=[sq.Deploy(at=10, grace=25, restart_after=5)])
    assert starts(result, job=1) == [40]


def test_a_rolling_deploy_restarts_one_worker_after_the_other():
    """Every 60 s; an idle worker is restarted at once."""
    result = run(1, workers=3, faults=[sq.Deploy(at=10, every=60, restart_after=2)])
    restarted = result.events[result.events.event == "worker restarted"]
    assert restarted.time.tolist() == [12, 72, 132]
    assert restarted.worker.tolist() == [1, 2, 3]


# Partitions.


def test_what_a_worker_says_in_a_partition_does_not_arrive():
    """Done at 10, cut off from 5 to 20: the ack is lost, the lease runs out at 30."""
    result = run(10, workers=2, lease=30, faults=[sq.Partition(worker=1, window=(5, 20))])
    assert result.deliveries.ack.tolist() == ["lost", "accepted"]
    assert received(result) == [0, 30]


def test_renewals_do_not_arrive_in_a_partition():
    """The last one that did was at 10: the lease ends at 40."""
    result = run(
        100, workers=2, lease=30, renew_every=10, late_ack="deletes", horizon=60,
        faults=[sq.Partition(worker=1, window=(15, 90))],
    )  # fmt: skip
    assert received(result) == [0, 40]


def test_a_broker_that_watches_connections_requeues_at_a_partition():
    """RabbitMQ: the second worker starts while the first one works on."""
    result = run(
        50, workers=2, lease=None, on_disconnect="requeue",
        faults=[sq.Partition(worker=1, window=(5, 20))],
    )  # fmt: skip
    assert received(result) == [0, 5]
    assert result.figures["duplicate_effects"] == 1


def test_a_partitioned_worker_gets_nothing_new_until_it_is_over():
    """The job that comes at 10 is delivered at 20."""
    result = run(
        1, arrivals=sq.Times([10]), jobs=None, faults=[sq.Partition(worker=1, window=(5, 20))]
    )
    assert received(result) == [20]


# Crashes, beyond those at a time.


def test_the_chance_of_a_crash_is_per_delivery():
    """With c = 0.1: 1/(1-c) deliveries per job, and a mean completion of s + T c/(1-c)."""
    result = run(
        1, workers=50, jobs=20_000, arrivals=sq.Poisson(5), lease=30, crash=sq.Crash(chance=0.1)
    )
    assert result.figures["deliveries_per_job"] == pytest.approx(1 / 0.9, rel=0.01)
    assert result.figures["time_to_effect_mean"] == pytest.approx(1 + 30 / 9, rel=0.05)


def test_a_job_that_kills_does_so_each_time():
    """Only job 1 does it, 5 s after each start."""
    result = run(
        10, jobs=2, workers=2, lease=30, max_receives=3,
        crash=sq.Crash(after=5, jobs=[1], restart_after=1),
    )  # fmt: skip
    assert result.jobs.outcome.tolist() == ["acked", "dead-lettered"]
    assert starts(result, job=1) == [0, 30, 60]


# Lost responses, outages, slowness.


def test_a_lost_response_leaves_the_effect_and_fails_the_attempt():
    """The charge happened; the handler sees an exception; the retry charges again."""
    result = run(
        1, lease=30, max_receives=2, network=sq.Network(response_lost=1), handler=only_charges
    )
    assert result.jobs.effects[0] == 2
    assert result.figures["failures"] == 2
    assert "response lost" in set(result.events.event)


async def only_charges(job, ctx):
    """Charge, without any work."""
    await ctx.payments.charge(job.customer, job.amount)


def test_responses_are_lost_with_their_probability_for_each_call_apart():
    """With p for each call, two calls fail with 1 - (1-p)^2."""

    async def two_calls(job, ctx):
        await ctx.store.claim(job.key)
        await ctx.payments.charge(job.customer, job.amount)

    result = run(
        0, jobs=20_000, workers=5, arrivals=sq.Poisson(100), lease=1, max_receives=1,
        network=sq.Network(response_lost=0.1), handler=two_calls,
    )  # fmt: skip
    assert result.figures["failures"] / 20_000 == pytest.approx(1 - 0.9**2, rel=0.03)


def test_a_service_that_is_down_has_no_effect():
    """Down from 0 to 40: attempts at 0 and 30 fail after the timeout, the one at 60 charges."""
    outage = sq.Outage(service="payments", window=(0, 40), timeout=5)
    result = run(lease=30, handler=only_charges, faults=[outage])
    assert received(result) == [0, 30, 60]
    assert result.effects.time.tolist() == [60]
    assert result.deliveries.ended.tolist() == [5, 35, 60]


def test_an_outage_is_of_one_service_only():
    """The store is down, payments are not."""
    outage = sq.Outage(service="store", window=(0, 40))
    assert run(handler=only_charges, faults=[outage]).jobs.effects[0] == 1


def test_a_slow_service_makes_leases_expire():
    """40 s slower in the window: the lease of 30 s runs out although there is hardly any work."""
    slow = sq.Slowness(service="payments", window=(0, 35), seconds=40)
    result = run(workers=2, lease=30, late_ack="deletes", handler=only_charges, faults=[slow])
    assert received(result) == [0, 30]
    assert result.effects.time.tolist() == [40, 70]


def test_latency_is_added_to_each_call():
    """A fixed one, and one drawn for each (job, attempt, call)."""
    fixed = run(handler=only_charges, payments=sq.services.Payments(latency=2))
    assert fixed.effects.time.tolist() == [2]
    drawn = run(
        jobs=5_000, workers=5_000, handler=only_charges,
        payments=sq.services.Payments(latency=sq.Exponential(3)),
    )  # fmt: skip
    assert drawn.effects.time.mean() == pytest.approx(3, rel=0.05)


# Scripted faults.


@pytest.mark.parametrize(
    ("fault", "effects", "outcomes"),
    [
        (At(step="work", when="before"), 1, ["crashed", "finished"]),
        (At(step="work", when="after"), 1, ["crashed", "finished"]),
        (At(step="payments.charge", when="before"), 1, ["crashed", "finished"]),
        (At(step="payments.charge", when="after"), 2, ["crashed", "finished"]),
        (At(step="payments.charge", what="response lost"), 2, ["failed", "finished"]),
        (At(step="ack", what="crash"), 2, ["finished", "finished"]),
        (At(step="ack", what="ack lost"), 2, ["finished", "finished"]),
    ],
    ids=str,
)
def test_naive_at_each_of_its_steps(fault, effects, outcomes):
    """Whatever comes after the charge and before the ack makes it charge twice."""
    result = run(10, workers=2, lease=30, faults=[fault])
    assert result.jobs.effects[0] == effects
    assert result.deliveries.outcome.tolist() == outcomes


def test_a_scripted_pause_stands_still_at_its_step():
    """Before the charge for 60 s: the copy charges first, the zombie second."""
    pause = At(step="payments.charge", what="pause", when="before", seconds=60)
    result = run(10, workers=2, lease=30, late_ack="deletes", faults=[pause])
    assert result.effects[["time", "delivery"]].values.tolist() == [[40, 1], [70, 0]]


def test_a_scripted_fault_can_hit_every_delivery():
    """`turn=None`: a poison job, whatever one does."""
    result = run(10, lease=30, max_receives=4, faults=[At(step="work", turn=None, when="after")])
    assert result.jobs.outcome[0] == "dead-lettered"
    assert len(starts(result)) == 4


def test_faults_can_come_together():
    """Crash on the first delivery, lost ack on the second: three deliveries, two effects."""
    result = run(
        10, lease=30,
        faults=[At(step="work"), At(step="ack", what="ack lost", turn=2)],
    )  # fmt: skip
    assert received(result) == [0, 30, 60]
    assert result.jobs.effects[0] == 2
    assert settled(result) == 70


def test_a_fault_of_ones_own_is_a_small_class():
    """One that stops the only worker's clock for new deliveries: it hooks in like the others."""

    class NightShift(sq.faults.Fault):
        def install(self, world):
            for worker in world.workers:
                world.clock.at(0, lambda _, worker=worker: worker.stop_asking(self))
                world.clock.at(100, lambda _, worker=worker: worker.go_on(self))

    assert starts(run(1, jobs=2, arrivals=sq.Times([0.5, 3]), faults=[NightShift()])) == [100]


def test_a_worker_can_be_held_back_from_the_start_and_after_each_restart():
    """A slow start: it takes nothing for 20 s, then and after its crash at 50."""

    class SlowStart(sq.faults.Fault):
        def install(self, world):
            def hold(worker):
                worker.stop_asking(self)
                world.clock.at(world.clock.after(20), lambda _: worker.go_on(self))

            for worker in world.workers:
                worker.on_restart.append(hold)
                hold(worker)

    crash = sq.Crash(at=[(1, 50)], restart_after=5)
    result = run(1, arrivals=sq.Times([0, 52]), jobs=None, crash=crash, faults=[SlowStart()])
    assert [starts(result, job) for job in (0, 1)] == [[20], [75]]


def test_a_fault_can_stand_around_a_call():
    """A request that the network delivers twice: two effects of one call."""

    class Twice(sq.faults.Fault):
        def install(self, world):
            def around(ctx, call, action):
                return (lambda: (action(), action())[1]) if call == "payments.charge" else action

            world.steps.around.append(around)

    assert run(handler=only_charges, faults=[Twice()]).jobs.effects[0] == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sq.Pause(seconds=0), "pause.seconds must be a number of seconds above 0"),
        (lambda: sq.Pause(seconds=1, at=[3]), "pause.at must be pairs of"),
        (lambda: sq.Deploy(at=-1), "deploy.at must be a number of seconds of 0 or more"),
        (lambda: sq.Partition(worker=1, window=(5, 5)), "partition.window must be a pair"),
        (lambda: sq.Partition(worker=0, window=(5, 6)), "partition.worker must be a whole"),
        (lambda: sq.Outage(service="payments", window=7), "outage.window must be a pair"),
        (
            lambda: run(faults=[sq.Outage(service="fax", window=(0, 1))]),
            "outage.service must be one of 'store', 'payments', 'mailer'",
        ),
        (
            lambda: run(faults=[sq.Partition(worker=4, window=(0, 1))]),
            "partition.worker: the worker must be a whole number from 1 to 1, not 4",
        ),
        (lambda: run(faults=[5]), "faults must be a sequence of faults"),
        (lambda: sq.Network(publish_response_lost=1), "below 1, or sending never ends"),
        (lambda: sq.Crash(chance=2), "crash.chance must be a number from 0 to 1, not 2"),
        (lambda: At(step="work", what="explode"), "at.what must be one of 'crash'"),
        (lambda: run(faults=[At(step="payment.charge")]), "at.step must be 'work', 'sleep'"),
        (lambda: run(faults=[sq.Pause]), "with their parentheses"),
    ],
)
def test_wrong_faults_are_refused_with_one_sentence(make, sentence):
    """Name, value, what is allowed."""
    with pytest.raises(ValueError, match=sentence):
        make()


def test_a_receive_counts_even_if_its_reply_is_lost():
    """F7: P(dead unseen) = p^r."""
    p, r = 0.5, 3
    result = run(
        0, jobs=20_000, workers=5, arrivals=sq.Poisson(50), lease=10, max_receives=r,
        network=sq.Network(delivery_lost=p),
    )  # fmt: skip
    unseen = (result.jobs.executions == 0) & (result.jobs.outcome == "dead-lettered")
    assert unseen.mean() == pytest.approx(p**r, rel=0.05)
    assert result.figures["dead_letter_rate"] == unseen.mean()


@pytest.mark.parametrize(("jobs", "dead"), [(700, 124), (500, 0), (576, 0), (577, 1)])
def test_throttled_receives_use_up_attempts_of_jobs_that_never_ran(jobs, dead):
    """F9: C = 64 slots, r = 9: dead unrun = max(0, N - C r)."""
    result = run(1, jobs=jobs, concurrency=64, throttled=True, lease=30, max_receives=9)
    unrun = result.jobs.executions == 0
    assert unrun.sum() == dead
    assert (result.jobs.outcome[unrun] == "dead-lettered").all()


@pytest.mark.parametrize(("ttl", "window"), [(None, 2), (0.5, 5)])
def test_kills_between_effect_mark_and_ack(ttl, window):
    """F10: duplicates k * (effect->mark), and k * (mark->ack) too if the key is gone by then."""
    per_second = 0.01

    async def effect_mark_ack(job, ctx):
        if await ctx.store.is_done(job.key):
            return
        await ctx.payments.charge(job.customer, job.amount)
        await ctx.sleep(2)
        await ctx.store.complete(job.key)
        await ctx.sleep(3)

    result = run(
        jobs=20_000, workers=50, arrivals=sq.Poisson(2), lease=20, handler=effect_mark_ack,
        store=sq.services.Store(ttl=ttl), crash=sq.Crash(mean_time_between=1 / per_second),
    )  # fmt: skip
    chance = 1 - math.exp(-per_second * window)
    expected = chance / (1 - chance) if ttl else chance
    assert result.figures["extra_effects"] == pytest.approx(expected, rel=0.15)
