"""The model against mathematics: theory lies within our 99.9 % interval, and that is narrow.

Narrow enough to catch an error of 3 %, with no more jobs than that takes. Seeds are fixed, so a
test that passes once passes always. How long jobs wait: `test_waits_against_theory.py`.
"""

from __future__ import annotations

import math

import pytest
from runs import scenario

import simqueue as sq
from simqueue import theory
from simqueue.intervals import Interval, interval

REPLICATIONS = 20


def all_measured(what: sq.Scenario, *figures: str) -> list[Interval]:
    """The mean of each figure over the same replications, with its 99.9 % interval."""
    found = [sq.simulate(what, seed).figures for seed in range(REPLICATIONS)]
    return [interval([each[figure] for each in found], confidence=0.999) for figure in figures]


def measured(what: sq.Scenario, figure: str) -> Interval:
    """The same for one figure."""
    return all_measured(what, figure)[0]


def assert_agree(found: Interval, expected: float, tolerance: float) -> None:
    """Theory lies within the interval, which is narrower than the error to be caught."""
    assert expected in found, f"{found.mean} ± {found.half_width} against {expected}"
    assert found.half_width < tolerance * expected


AMPLE = {"workers": 200, "arrivals": sq.Poisson(1), "jobs": 10_000}
FEWER = AMPLE | {"jobs": 2_000}
"""Enough for a count, where a share needs more."""

WORK = {
    "exponential": sq.Exponential(mean=10),
    "log-normal": sq.LogNormal(median=10, p99=90),
    "uniform": sq.Uniform(0, 24),
    "Pareto": sq.Pareto(minimum=7, shape=2),
}


@pytest.mark.parametrize("work", WORK.values(), ids=list(WORK))
def test_the_share_of_jobs_delivered_twice_is_that_which_outlasts_the_lease(work):
    """With a worker always idle, a job is delivered again iff its work is longer than the lease."""
    what = scenario(work, lease=20, late_ack="deletes", **AMPLE)
    expected = theory.p_work_exceeds(work, 20)
    assert 0.05 < expected < 0.3
    assert_agree(measured(what, "duplicate_delivery_rate"), expected, 0.03)


LEASES = [0.5, 1, 2, 3, 5]


@pytest.mark.parametrize("lease", LEASES)
@pytest.mark.parametrize("late_ack", ["unexpired", "latest_receipt", "deletes", "in_flight_only"])
def test_deliveries_per_job_of_exponential_work_drawn_anew(late_ack, lease):
    """Refused late acks: 1/F(T). Accepted: the sum over k of exp(-T k(k+1)/2)."""
    work = sq.Exponential(mean=1)
    what = scenario(work, work_per="attempt", lease=lease, late_ack=late_ack, **FEWER)
    if late_ack in {"unexpired", "latest_receipt"}:
        expected = 1 / (1 - math.exp(-lease))
    else:
        expected = sum(math.exp(-lease * k * (k + 1) / 2) for k in range(50))
    assert theory.deliveries(work, lease, late_ack=late_ack, work_per="attempt") == pytest.approx(
        expected
    )
    assert_agree(found := measured(what, "deliveries_per_job"), expected, 0.03)
    assert 1 not in found


@pytest.mark.parametrize("lease", LEASES)
def test_deliveries_per_job_of_exponential_work_that_stays_the_same(lease):
    """A slow job is slow each time: work over lease, rounded up; its mean is 1/F(T) too."""
    work = sq.Exponential(mean=1)
    what = scenario(work, lease=lease, late_ack="deletes", **FEWER)
    expected = theory.deliveries(work, lease, late_ack="deletes", work_per="job")
    assert expected == pytest.approx(1 / (1 - math.exp(-lease)))
    assert_agree(found := measured(what, "deliveries_per_job"), expected, 0.03)
    assert 1 not in found


def test_never_all_workers_are_busy_where_theory_wants_one_idle():
    """The formulas above want ample workers: there are."""
    what = scenario(
        sq.Exponential(mean=1), work_per="attempt", lease=0.5, late_ack="unexpired", **AMPLE
    )
    heavy = scenario(WORK["Pareto"], lease=20, late_ack="deletes", **AMPLE)
    for each in (what, heavy):
        assert sq.simulate(each).timeseries.busy.max() < AMPLE["workers"]


def test_completion_under_crashes_is_the_price_of_a_long_lease():
    """Crash chance c per attempt, noticed by expiry only: work + T c / (1 - c)."""
    chance = 0.1
    what = scenario(
        1,
        lease=30,
        crash=sq.Crash(mean_time_between=-1 / math.log(1 - chance)),
        **AMPLE,
    )
    expected = theory.completion_with_crashes(1, 30, chance)
    assert expected == pytest.approx(1 + 30 / 9)
    assert_agree(measured(what, "time_to_effect_mean"), expected, 0.03)
