"""Crashes, failures and stores against mathematics: 99.9 % intervals that would catch 3 %."""

from __future__ import annotations

import math

import pytest
from runs import scenario
from test_against_theory import (
    AMPLE,
    REPLICATIONS,
    all_measured,
    assert_agree,
    measured,
)

import simqueue as sq
from simqueue import theory
from simqueue.faults import Fault
from simqueue.intervals import interval

GOLDEN = (5**0.5 - 1) / 2


class CrashAtStep(Fault):
    """Kills the worker after a call, after each call's share of the times that it is made.

    Whether the n-th time is one of them is not left to chance: the multiples of the golden ratio
    fill the unit interval evenly from any start, so far fewer jobs do than independent draws take.
    Where they start follows from the seed.
    """

    def __init__(self, **shares: float) -> None:
        self.shares = {call.replace("_", ".", 1): share for call, share in shares.items()}

    def install(self, world):
        """Look, after each call of each delivery, whether it is one of them."""
        places = {
            call: world.streams.generator(f"start of {call}").random() for call in self.shares
        }

        async def strike(ctx, call):
            if call not in places:
                return
            places[call] = (places[call] + GOLDEN) % 1
            if places[call] < self.shares[call]:
                worker = ctx.delivery.worker
                worker.crash()
                world.clock.at(world.clock.now, lambda _: worker.restart())
                await ctx.nothing_more()

        world.steps.after.append(strike)


async def no_store(job, ctx):
    """Effect only; `work` stands for what comes before it."""
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.is_done(job.key)


async def effect_then_record(job, ctx):
    """The record comes after the effect."""
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)


async def record_then_effect(job, ctx):
    """The record comes before the effect."""
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    await ctx.store.complete(job.key)
    await ctx.payments.charge(job.customer, job.amount)


async def one_transaction(job, ctx):
    """Both at once."""
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()

    def both():
        ctx.effect("charge")
        ctx._world.services["store"].complete(job.key, job.id)

    await ctx.step("payments.charge", both)


A, B, D = 0.02, 0.03, 0.05
"""Chances of a crash per attempt: before the effect, after it, after both and before the ack."""

STRATEGIES = {
    "no_store": (no_store, {"payments_charge": B + D}),
    "effect_then_record": (effect_then_record, {"payments_charge": B, "store_complete": D}),
    "record_then_effect": (record_then_effect, {"store_complete": B, "payments_charge": D}),
    "one_transaction": (one_transaction, {"payments_charge": B + D}),
}


def conditional(chances: dict[str, float]) -> dict[str, float]:
    """Turn shares of all attempts into the chance of each call, given that it was reached."""
    left, found = 1 - A, {"work": A}
    for call, share in chances.items():
        found[call] = share / left
        left -= share
    return found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_effects_per_job_by_where_the_crash_falls(strategy):
    """The four strategies: effects per job, lost jobs, jobs with more than one effect."""
    handler, chances = STRATEGIES[strategy]
    what = scenario(
        0, handler=handler, workers=20, arrivals=sq.Poisson(20), jobs=4_000, lease=5,
        faults=[CrashAtStep(**conditional(chances))],
    )  # fmt: skip
    crashes = theory.CrashChances(before_effect=A, after_effect=B, before_ack=D)
    expected = theory.effect_figures(strategy, crashes)
    runs = [sq.simulate(what, seed) for seed in range(REPLICATIONS)]
    effects = interval([run.jobs.effects.mean() for run in runs], 0.999)
    assert_or_exact(effects, expected.effects_per_job)
    assert_or_exact(interval([r.figures["lost_rate"] for r in runs], 0.999), expected.lost_rate)
    assert_or_exact(
        interval([r.figures["duplicate_effect_rate"] for r in runs], 0.999),
        expected.duplicate_effect_rate,
    )


def assert_or_exact(found, expected):
    """Theory within a narrow interval; where it says 0 or 1, nothing else is allowed."""
    if expected in (0, 1):
        assert (found.mean, found.half_width) == (expected, 0)
    else:
        assert_agree(found, expected, 0.03)


@pytest.mark.parametrize(
    ("p", "m", "jobs"),
    [(0.1, 3, 2_000), (0.1, 5, 2_000), (0.2, 3, 2_000), (0.5, 3, 10_000), (0.5, 5, 2_000)],
)
def test_the_share_of_dead_letters_is_p_to_the_m(p, m, jobs):
    """At most m attempts, failure chance p: dead p^m, mean attempts (1-p^m)/(1-p)."""
    network = sq.Network(response_lost=p)

    async def one_call(job, ctx):
        await ctx.payments.charge(job.customer, job.amount)

    what = scenario(
        handler=one_call, workers=10, arrivals=sq.Poisson(50), jobs=jobs, lease=1,
        max_receives=m, network=network,
    )  # fmt: skip
    deliveries, dead = all_measured(what, "deliveries_per_job", "dead_letter_rate")
    assert_agree(deliveries, theory.mean_attempts(p, m), 0.03)
    if p**m > 0.1:  # of the others too few die to tell 3 % of them
        assert_agree(dead, theory.dead_letter_share(p, m), 0.03)


@pytest.mark.parametrize(("lease", "mean"), [(5, 1.556), (30, 4.333), (60, 7.667)])
def test_the_price_of_a_long_lease_is_a_late_recovery(lease, mean):
    """Crash chance 0.1, work 1 s: 1 + T / 9."""
    jobs = {5: 2_500, 30: 9_000, 60: 10_000}[lease]
    what = scenario(1, lease=lease, crash=sq.Crash(chance=0.1), **AMPLE | {"jobs": jobs})
    assert theory.completion_with_crashes(1, lease, 0.1) == pytest.approx(mean, abs=6e-4)
    assert_agree(measured(what, "time_to_effect_mean"), mean, 0.03)


@pytest.mark.parametrize(
    ("prefetch", "lease", "share"),
    [(1, 2, 0.13534), (5, 2, 0.60450), (10, 5, 0.50222), (10, 10, 0.12511), (20, 10, 0.50014)],
)
def test_leases_that_lapse_in_the_buffer(prefetch, lease, share):
    """F8 for exponential work: the mean over i <= k of P(Erlang(i) > T)."""
    rounds = 2_000 // prefetch + 200
    what = scenario(
        sq.Exponential(1), work_per="attempt", batch=prefetch, lease=lease, late_ack="unexpired",
        max_receives=1, jobs=prefetch * rounds,
    )  # fmt: skip
    assert theory.prefetch_lapse_share(sq.Exponential(1), lease, prefetch) == pytest.approx(
        share, abs=1e-5
    )
    found = [
        (sq.simulate(what, seed).deliveries.ack == "refused").mean() for seed in range(REPLICATIONS)
    ]
    assert_agree(interval(found, 0.999), share, 0.03 if share > 0.3 else 0.07)


@pytest.mark.parametrize(
    ("prefetch", "lease", "share"), [(10, 5, 0.5), (20, 10, 0.5), (40, 30, 0.25), (10, 10, 0)]
)
def test_leases_that_lapse_in_the_buffer_of_constant_work(prefetch, lease, share):
    """F8: max(0, 1 - floor(T) / k), exactly."""
    result = sq.simulate(
        scenario(1, batch=prefetch, lease=lease, late_ack="unexpired", max_receives=1,
                 jobs=prefetch)
    )  # fmt: skip
    assert (result.deliveries.ack == "refused").mean() == share
    assert not math.isnan(share)
