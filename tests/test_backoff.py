"""Rules of backoff: their formulas, their ranges, their caps; and the schedules of real systems."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from simqueue import backoff, schedules


def draws(rule: backoff.Backoff, attempt: int, previous: float = 0.0, n: int = 4_000) -> np.ndarray:
    """Many delays of one attempt."""
    rng = np.random.Generator(np.random.PCG64(1))
    return np.array([rule(attempt, previous, rng) for _ in range(n)])


@pytest.mark.parametrize(
    ("rule", "delays"),
    [
        (backoff.NoDelay(), [0, 0, 0, 0]),
        (backoff.Constant(5), [5, 5, 5, 5]),
        (backoff.Linear(2), [2, 4, 6, 8]),
        (backoff.Linear(2, cap=5), [2, 4, 5, 5]),
        (backoff.Exponential(base=1), [1, 2, 4, 8]),
        (backoff.Exponential(base=1, cap=5), [1, 2, 4, 5]),
        (backoff.Exponential(base=2, factor=3), [2, 6, 18, 54]),
        (backoff.Exponential(base=0), [0, 0, 0, 0]),
        (backoff.Schedule((1, 10, 60)), [1, 10, 60, 60]),
    ],
    ids=repr,
)
def test_rules_without_jitter(rule, delays):
    """The delay of the first failure, the second, and so on."""
    rng = np.random.default_rng(0)
    assert [rule(n, 0.0, rng) for n in range(1, 5)] == delays


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    [
        (backoff.FullJitter(base=1), 0, 8),
        (backoff.FullJitter(base=1, cap=6), 0, 6),
        (backoff.EqualJitter(base=1), 4, 8),
        (backoff.EqualJitter(base=1, cap=6), 3, 6),
    ],
    ids=repr,
)
def test_jitter_is_uniform_over_its_window(rule, low, high):
    """At the fourth failure; the cap is applied before the jitter, so it is never exceeded."""
    found = draws(rule, 4)
    assert low <= found.min() < low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) < found.max() <= high
    assert found.mean() == pytest.approx((low + high) / 2, rel=0.03)


def test_decorrelated_jitter_goes_by_the_delay_before():
    """U(base, 3 * previous); at first, previous is base."""
    rule = backoff.DecorrelatedJitter(base=2, cap=20)
    first, later, capped = draws(rule, 1), draws(rule, 9, previous=5), draws(rule, 9, previous=19)
    assert first.min() >= 2
    assert first.max() <= 6
    assert later.mean() == pytest.approx((2 + 15) / 2, rel=0.03)
    assert capped.max() == 20


def test_a_capped_rule_does_not_overflow():
    """The ten-thousandth failure waits as long as the cap says."""
    assert backoff.Exponential(base=1, cap=60)(10_000, 60, np.random.default_rng(0)) == 60


def test_rules_survive_pickling_and_compare_by_value():
    """So they can be swept on other processes."""
    rule = backoff.FullJitter(base=1, cap=5)
    assert pickle.loads(pickle.dumps(rule)) == rule


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: backoff.Constant(-1), "seconds must be a number of seconds of 0 or more, not -1"),
        (lambda: backoff.Exponential(base=1, factor=0.5), "factor must be a number of 1 or more"),
        (lambda: backoff.FullJitter(base=1, cap=-1), "cap must be a number of seconds of 0"),
        (lambda: backoff.Schedule(()), "delays must be a flat sequence of one or more"),
        (lambda: backoff.as_backoff("retry_delay", "soon"), "retry_delay must be a number"),
        (lambda: schedules.BullMQExponential(1, jitter=2), "jitter must be a number from 0 to 1"),
    ],
)
def test_wrong_rules_are_refused_with_one_sentence(make, sentence):
    """Name, value, what is allowed."""
    with pytest.raises(ValueError, match=sentence):
        make()


# Real systems: the range of the delay before the next run, after so many failures.


@pytest.mark.parametrize(
    ("rule", "attempt", "low", "high"),
    [
        (schedules.sidekiq, 1, 15, 24),
        (schedules.sidekiq, 5, 256 + 15, 256 + 15 + 49),
        (schedules.river, 3, 0.9 * 81, 1.1 * 81),
        (schedules.oban, 4, 31, 34),
        (schedules.graphile, 3, math.exp(3), math.exp(3)),
        (schedules.graphile, 25, math.exp(10), math.exp(10)),
        (schedules.dramatiq, 1, 15, 30),
        (schedules.dramatiq, 20, 3.5 * 86_400, 7 * 86_400),
        (schedules.stamina, 1, 0.1, 1.1),
        (schedules.stamina, 9, 5, 5),
        (schedules.CeleryAutoretry(), 4, 0, 8),
        (schedules.CeleryAutoretry(), 30, 0, 600),
        (schedules.BullMQExponential(1), 4, 8, 8),
        (schedules.BullMQExponential(1, jitter=0.5), 4, 4, 8),
        (schedules.PgBoss(), 3, 4, 8),
        (schedules.Procrastinate(wait=5, linear=2, exponential=3), 2, 16, 16),
    ],
)
def test_schedules_of_real_systems(rule, attempt, low, high):
    """Never outside the range that their source gives, and all over it."""
    found = draws(rule, attempt, n=500)
    assert low <= found.min()
    assert found.max() <= high
    assert found.max() - found.min() >= 0.9 * (high - low)


@pytest.mark.parametrize(("system", "days"), [("sidekiq", 20.4), ("river", 20.4)])
def test_how_long_until_a_job_is_given_up(system, days):
    """About 20 days of waiting between 26 and 25 runs."""
    rule, runs = schedules.LIMITS[system]
    assert schedules.seconds_to_give_up(rule, runs) / 86_400 == pytest.approx(days, rel=0.005)
