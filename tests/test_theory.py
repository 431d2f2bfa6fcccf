"""Closed forms for queues, retries, lapses and effects, against published and derived tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simqueue import theory
from simqueue.distributions import Exponential, Fixed, LogNormal, Uniform

rates = st.floats(0.01, 100)


# Queues without faults


@pytest.mark.parametrize(
    ("queue", "figures"),
    [
        ((0.5, 1, 1), (0.5, 1, 2, 0.5)),
        ((0.8, 1, 1), (0.8, 4, 5, 3.2)),
        ((0.9, 1, 1), (0.9, 9, 10, 8.1)),
        ((0.95, 1, 1), (0.95, 19, 20, 18.05)),
        ((1.8, 1, 2), (0.85263, 4.26316, 5.26316, 7.67368)),
        ((4, 1, 5), (0.55411, 0.55411, 1.55411, 2.21645)),
        ((8, 1, 10), (0.40918, 0.20459, 1.20459, 1.63672)),
        ((9, 1, 10), (0.66873, 0.66873, 1.66873, 6.01858)),
        ((0.2, 0.1, 3), (0.44444, 4.44444, 14.44444, 0.88889)),
        ((0.2, 0.1, 4), (0.17391, 0.86957, 10.86957, 0.17391)),
        ((5, 8, 1), (0.625, 0.20833, 0.33333, 1.04167)),
    ],
)
def test_mmc_table(queue: tuple[float, float, int], figures: tuple[float, ...]) -> None:
    """Chance of waiting, wait, sojourn and queue length of M/M/c, to five printed digits."""
    computed = (
        theory.erlang_c(*queue),
        theory.mmc_wait(*queue),
        theory.mmc_sojourn(*queue),
        theory.mmc_queue_length(*queue),
    )
    assert computed == pytest.approx(figures, abs=6e-6)


@given(rates, rates, st.integers(1, 40))
def test_erlang_c_equals_its_definition(load: float, service_rate: float, servers: int) -> None:
    """The recursion gives the sum of a**k / k! of the definition."""
    arrival_rate = load / 101 * servers * service_rate
    a = arrival_rate / service_rate
    top = a**servers / math.factorial(servers) / (1 - a / servers)
    sums = math.fsum(a**k / math.factorial(k) for k in range(servers))
    expected = top / (sums + top)
    assert theory.erlang_c(arrival_rate, service_rate, servers) == pytest.approx(expected, rel=1e-9)


def test_overloaded_queues_wait_without_end() -> None:
    """At a utilisation of 1 or more every job waits, and ever longer."""
    assert theory.utilisation(2, 1, 2) == 1
    assert theory.erlang_c(2, 1, 2) == 1
    assert theory.mmc_wait(2, 1, 2) == math.inf
    assert theory.mmc_queue_length(3, 1, 2) == math.inf
    assert theory.mg1_wait(1, 1) == math.inf
    assert theory.mm1_sojourn_quantile(1, 1, 0.5) == math.inf


def test_nobody_waits_without_arrivals() -> None:
    """No load: no wait, only the work."""
    assert theory.erlang_c(0, 1, 2) == 0
    assert theory.mmc_sojourn(0, 0.5, 2) == 2
    assert theory.mmc_queue_length(0, 1, 1) == 0


def test_hundreds_of_workers_do_not_overflow() -> None:
    """1,000 workers at 99 %: finite, and between 0 and 1."""
    assert 0 < theory.erlang_c(990, 1, 1000) < 1


@pytest.mark.parametrize(("spread", "wait"), [(0, 2.0), (1, 4.0), (4, 10.0)])
def test_pollaczek_khinchine_table(spread: float, wait: float) -> None:
    """M/G/1 at 80 %: constant, exponential and bursty work."""
    assert theory.mg1_wait(0.8, 1, spread) == pytest.approx(wait)


@given(st.floats(0.01, 0.99), rates)
def test_exponential_work_makes_mg1_an_mm1(load: float, service_rate: float) -> None:
    """With cv**2 = 1 both formulas are one."""
    rate = load * service_rate
    expected = theory.mmc_wait(rate, service_rate, 1)
    assert theory.mg1_wait(rate, 1 / service_rate, 1) == pytest.approx(expected)


@pytest.mark.parametrize(("q", "seconds"), [(0.5, 3.466), (0.95, 14.979), (0.99, 23.026)])
def test_sojourn_percentiles_table(q: float, seconds: float) -> None:
    """M/M/1 at 80 %: the published percentiles."""
    assert theory.mm1_sojourn_quantile(0.8, 1, q) == pytest.approx(seconds, abs=6e-4)


# Retries and crashes


@pytest.mark.parametrize(
    ("failure_chance", "attempts", "dead", "mean"),
    [
        (0.1, 3, 0.001, 1.11),
        (0.1, 5, 0.00001, 1.1111),
        (0.2, 3, 0.008, 1.24),
        (0.5, 3, 0.125, 1.75),
        (0.5, 5, 0.03125, 1.9375),
        (0, 4, 0, 1),
        (1, 4, 1, 4),
    ],
)
def test_dead_letter_table(failure_chance: float, attempts: int, dead: float, mean: float) -> None:
    """Share dead-lettered, and mean attempts, with a limit of attempts."""
    assert theory.dead_letter_share(failure_chance, attempts) == pytest.approx(dead, rel=1e-12)
    assert theory.mean_attempts(failure_chance, attempts) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(("lease", "seconds"), [(5, 1.556), (30, 4.333), (60, 7.667)])
def test_completion_with_crashes_table(lease: float, seconds: float) -> None:
    """The price of a long lease: work of 1 s, one delivery in ten crashes."""
    assert theory.completion_with_crashes(1, lease, 0.1) == pytest.approx(seconds, abs=6e-4)


def test_certain_crashes_never_complete() -> None:
    """A delivery that always crashes is repeated without end."""
    assert theory.completion_with_crashes(1, 5, 1) == math.inf
    assert theory.deliveries_refused(Exponential(1), 5, crash_chance=1) == math.inf


def test_deliveries_with_crashes() -> None:
    """A delivery counts if it neither crashes nor outlasts the lease, independently."""
    work = Exponential(1)
    assert theory.deliveries_refused(work, 1) == pytest.approx(1.58198, abs=6e-6)
    assert theory.deliveries_refused(work, 1, 0.2) == pytest.approx(1.58198 / 0.8, abs=1e-5)
    assert theory.deliveries_refused(Fixed(2.1), 0.7) == math.inf


def test_feedback_queue() -> None:
    """Instant retries of one failure in four raise M/M/1's load from 60 to 80 %."""
    assert theory.retry_sojourn(0.6, 1, 0.25) == pytest.approx(6.667, abs=6e-4)
    assert theory.retry_sojourn(0.75, 1, 0.25) == math.inf
    assert theory.retry_sojourn(0.1, 1, 1) == math.inf


@pytest.mark.parametrize(
    ("workers", "noticed", "seconds"),
    [
        (None, "expiry", 150),
        (None, "receive", 150),
        (4, "expiry", 150),
        (1, "expiry", 4 * 100 + 30),
        (1, "receive", 5 * 100),
        (2, "expiry", 2 * 100 + 30),
        (2, "receive", 2 * 100 + 30),
        (3, "receive", 100 + 2 * 30),
    ],
)
def test_dead_letter_time_of_a_job_that_always_succeeds(
    workers: int | None, noticed: str, seconds: float
) -> None:
    """S = 100, lease 30, five receives, late acks refused: dead although every run succeeded."""
    assert theory.dead_letter_time(100, 30, 5, workers=workers, noticed=noticed) == seconds


def test_work_that_fits_the_lease_is_never_dead() -> None:
    """A tie counts as fitting: the ack wins."""
    assert theory.dead_letter_time(30, 30, 5) == math.inf


def test_unseen_dead() -> None:
    """Five receives in a row must lose their reply."""
    assert theory.unseen_dead(0.1, 5) == pytest.approx(1e-5)


# Leases that lapse although the work is short


@pytest.mark.parametrize(
    ("prefetch", "lease", "share"),
    [(10, 5, 0.5), (20, 10, 0.5), (40, 30, 0.25), (3, 3, 0), (5, 0.5, 1), (10, 5.9, 0.5)],
)
def test_prefetch_of_fixed_work(prefetch: int, lease: float, share: float) -> None:
    """Work of 1 s: as many items as whole seconds in the lease are in time."""
    assert theory.prefetch_lapse_share(Fixed(1), lease, prefetch) == pytest.approx(share)
    assert theory.prefetch_lapse_share(0.7, 0.7 * lease, prefetch) == pytest.approx(share)


@pytest.mark.parametrize(
    ("prefetch", "shares"),
    [
        (1, (0.13534, 0.00674, 0.00005, 0)),
        (5, (0.60450, 0.17547, 0.00858, 0)),
        (10, (0.80000, 0.50222, 0.12511, 0)),
        (20, (0.90000, 0.75000, 0.50014, 0.00247)),
    ],
)
def test_prefetch_of_exponential_work(prefetch: int, shares: tuple[float, ...]) -> None:
    """Work of mean 1 s, leases of 2, 5, 10 and 30 s: Erlang tails, to five printed digits."""
    leases = (2, 5, 10, 30)
    computed = [theory.prefetch_lapse_share(Exponential(1), lease, prefetch) for lease in leases]
    assert computed == pytest.approx(shares, abs=6e-6)


def test_prefetch_of_one_is_the_share_that_outlasts_the_lease() -> None:
    """Without a buffer only the job's own work counts."""
    work = Exponential(3)
    assert theory.prefetch_lapse_share(work, 5, 1) == pytest.approx(work.survival(5))


def test_prefetch_of_instant_work_never_lapses() -> None:
    """Work of 0 s is done before any lease ends."""
    assert theory.prefetch_lapse_share(0, 1, 10) == 0


@pytest.mark.parametrize(
    ("pause", "chance"), [(0, 0), (20, 0), (25, 0.5), (29, 0.9), (30, 1), (100, 1)]
)
def test_heartbeat_lapse(pause: float, chance: float) -> None:
    """Lease 30, heartbeat every 10: a pause up to 20 is safe, from 30 on it is fatal."""
    assert theory.heartbeat_lapse(pause, 30, 10) == pytest.approx(chance)


def test_crash_recovery_delay() -> None:
    """The message is back one lease after the delivery or the last heartbeat."""
    assert theory.crash_recovery_delay(30, 12) == 18
    assert theory.crash_recovery_delay(30, 12, last_heartbeat=10) == 28
    assert theory.crash_recovery_delay(30, 45) == 0


# Effects


@pytest.mark.parametrize(
    ("strategy", "effects", "lost", "duplicates"),
    [
        ("no_store", 1.08889, 0, 0.08163),
        ("effect_then_record", 1.03158, 0, 0.03061),
        ("record_then_effect", 0.96939, 0.03061, 0),
        ("one_transaction", 1, 0, 0),
    ],
)
def test_effects_table(strategy: str, effects: float, lost: float, duplicates: float) -> None:
    """Crash chances .02, .03, .05: what each order of effect and record costs."""
    crashes = theory.CrashChances(before_effect=0.02, after_effect=0.03, before_ack=0.05)
    figures = theory.effect_figures(strategy, crashes)
    assert figures.effects_per_job == pytest.approx(effects, abs=6e-6)
    assert figures.lost_rate == pytest.approx(lost, abs=6e-6)
    assert figures.duplicate_effect_rate == pytest.approx(duplicates, abs=6e-6)
    assert theory.effects_per_job(strategy, crashes) == figures.effects_per_job


def test_record_leaks_when_the_redelivery_comes_after_its_end() -> None:
    """Records live 60 s, redeliveries come after 30 to 90 s: half of them find nothing."""
    assert theory.record_leak_rate(Uniform(30, 90), 60) == 0.5
    assert theory.record_leak_rate(60, 60) == 0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.erlang_c(1, 0, 1), "service_rate must be"),
        (lambda: theory.erlang_c(-1, 1, 1), "arrival_rate must be"),
        (lambda: theory.mmc_wait(1, 1, 0), "servers must be a whole number of 1 or more, not 0"),
        (lambda: theory.mm1_sojourn_quantile(0.5, 1, 1.5), "q must be a share from 0 to 1"),
        (lambda: theory.mg1_wait(0.5, 1, -1), "squared_coefficient_of_variation must be"),
        (lambda: theory.mean_attempts(1.2, 3), "failure_chance must be a number from 0 to 1"),
        (lambda: theory.dead_letter_share(0.2, 0), "max_attempts must be a whole number of 1"),
        (lambda: theory.completion_with_crashes(6, 5, 0.1), "work must be at most the lease"),
        (lambda: theory.dead_letter_time(9, 5, 3, noticed="soon"), "noticed must be one of"),
        (
            lambda: theory.prefetch_lapse_share(LogNormal(1, p99=9), 5, 3),
            "work must be Fixed or Exponential",
        ),
        (lambda: theory.heartbeat_lapse(5, 30, 30), "interval must be above 0 and below the lease"),
        (lambda: theory.crash_recovery_delay(30, 5, 6), "last_heartbeat must be at most"),
        (lambda: theory.CrashChances(0.5, 0.3, 0.2), "must have a sum below 1, not 0.5 "),
        (lambda: theory.effect_figures("hope", theory.CrashChances()), "strategy must be one of"),
    ],
)
def test_wrong_input_is_named(call: object, sentence: str) -> None:
    """Each wrong parameter fails with its name and what is allowed."""
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        call()
