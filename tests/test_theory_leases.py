"""Deliveries and settle time where work outlasts its lease, under each meaning of a late ack."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simqueue import theory
from simqueue.distributions import (
    Distribution,
    Empirical,
    Exponential,
    Fixed,
    LogNormal,
    Mixture,
    Pareto,
    Recorded,
    Uniform,
)

ACCEPTED = ("deletes", "in_flight_only")
REFUSED = ("latest_receipt", "unexpired")
ANY = (*ACCEPTED, *REFUSED)

WORKS: list[Distribution] = [
    Exponential(1),
    LogNormal(median=1, p99=6),
    Uniform(0.5, 3),
    Pareto(0.4, 2.5),
    Mixture([(0.8, Exponential(0.5)), (0.2, Fixed(2.3))]),
    Empirical([0.3, 0.5, 0.9, 0.9, 2.1, 4.0]),
]


# Fixed work


@pytest.mark.parametrize(
    ("work", "lease", "workers", "late_ack", "expected"),
    [
        (90, 30, 3, "deletes", (3, 90)),
        (90, 30, None, "deletes", (3, 90)),
        (90, 30, 4, "in_flight_only", (3, 90)),
        (100, 30, 4, "deletes", (4, 100)),
        (100, 30, 2, "deletes", (2, 100)),
        (100, 30, 1, "deletes", (1, 100)),
        (100, 30, None, "latest_receipt", (math.inf, math.inf)),
        (100, 30, 4, "latest_receipt", (math.inf, math.inf)),
        (100, 30, 4, "unexpired", (math.inf, math.inf)),
        (40, 30, 1, "latest_receipt", (1, 40)),
        (40, 30, 1, "unexpired", (math.inf, math.inf)),
        (40, 30, 1, "in_flight_only", (math.inf, math.inf)),
        # A public incident: a mail merge of 3 h 34 min on a visibility timeout of one hour
        (12_826, 3_600, None, "in_flight_only", (4, 12_826)),
        (12_826, 3_600, 4, "in_flight_only", (4, 12_826)),
        (12_826, 3_600, 3, "in_flight_only", (4, 16_426)),
        (12_826, 3_600, 2, "in_flight_only", (3, 16_426)),
        (12_826, 3_600, 1, "in_flight_only", (math.inf, math.inf)),
        (12_826, 18_000, 1, "in_flight_only", (1, 12_826)),
    ],
)
def test_fixed_work(
    work: float, lease: float, workers: int | None, late_ack: str, expected: tuple[float, float]
) -> None:
    """Deliveries and settle time are exact, also with few workers."""
    deliveries = theory.deliveries(work, lease, late_ack=late_ack, workers=workers)
    assert deliveries == expected[0]
    assert theory.settle_time(work, lease, late_ack=late_ack, workers=workers) == expected[1]


@pytest.mark.parametrize("late_ack", ANY)
@pytest.mark.parametrize("workers", [None, 1, 2])
def test_work_that_fits_is_delivered_once(late_ack: str, workers: int | None) -> None:
    """An ack at the instant of expiry is in time, also where floats make 3 * 0.7 < 2.1."""
    for seconds, lease in ((30, 30), (29, 30), (0, 30), (2.1, 3 * 0.7)):
        assert theory.deliveries(seconds, lease, late_ack=late_ack, workers=workers) == 1
        assert theory.settle_time(seconds, lease, late_ack=late_ack, workers=workers) == seconds


@given(st.integers(1, 40), st.integers(1, 400))
def test_ties_in_decimal_numbers(leases: int, tenths: int) -> None:
    """Work of exactly k leases, both in tenths of a second, is k deliveries, drawn or fixed."""
    lease = tenths / 10
    seconds = leases * tenths / 10
    assert theory.deliveries(seconds, lease, late_ack="deletes") == leases
    for work in (Recorded([seconds]), Mixture([(1, Fixed(seconds))])):
        for work_per in ("job", "attempt"):
            computed = theory.deliveries(work, lease, late_ack="deletes", work_per=work_per)
            assert computed == pytest.approx(leases, rel=1e-12)


@pytest.mark.parametrize("late_ack", ANY)
def test_replay_of_fixed_work(late_ack: str) -> None:
    """A message followed second by second gives the formulas' deliveries and settle time."""
    for work in (20, 30, 40, 60, 75, 90, 100):
        for workers in (1, 2, 3, 4, 9):
            formulas = (
                theory.deliveries(work, 30, late_ack=late_ack, workers=workers),
                theory.settle_time(work, 30, late_ack=late_ack, workers=workers),
            )
            assert formulas == replay(work, 30, late_ack, workers), (work, workers)


def replay(work: int, lease: int, late_ack: str, workers: int) -> tuple[float, float]:
    """Deliveries and settle time in whole seconds; infinite when not settled after 1,000."""
    starts: list[int] = []
    for now in range(1000):
        in_queue = not starts or now > starts[-1] + lease
        for receipt, start in enumerate(starts):
            counts = {
                "deletes": True,
                "in_flight_only": not in_queue,
                "latest_receipt": receipt == len(starts) - 1,
                "unexpired": work <= lease,
            }
            if start + work == now and counts[late_ack]:
                return len(starts), now
        busy = sum(now < start + work for start in starts)
        if busy < workers and (not starts or now >= starts[-1] + lease):
            starts.append(now)
    return math.inf, math.inf


# Exponential work: the table, to five printed digits


@pytest.mark.parametrize(
    ("lease", "refused", "accepted"),
    [
        (0.5, 2.54149, 1.88677),
        (1, 1.58198, 1.42019),
        (2, 1.15652, 1.13782),
        (3, 1.05240, 1.04991),
        (5, 1.00678, 1.00674),
    ],
)
def test_lease_table(lease: float, refused: float, accepted: float) -> None:
    """Work of mean 1 drawn per attempt, ample workers: both columns."""

    def deliveries(late_ack: str) -> float:
        return theory.deliveries(Exponential(1), lease, late_ack=late_ack, work_per="attempt")

    assert [deliveries(late_ack) for late_ack in REFUSED] == pytest.approx([refused] * 2, abs=6e-6)
    assert [deliveries(late_ack) for late_ack in ACCEPTED] == pytest.approx(
        [accepted] * 2, abs=6e-6
    )


def test_exponential_work_per_attempt_settles_as_if_never_redelivered() -> None:
    """Memoryless: where late acks are refused the mean settle time is the mean work."""
    for lease in (0.1, 1, 10):
        seconds = theory.settle_time(
            Exponential(2), lease, late_ack="unexpired", work_per="attempt"
        )
        assert seconds == pytest.approx(2)


def test_exponential_settle_time_equals_numerical_integration() -> None:
    """The closed form agrees with the general method, which sees only a mixture."""
    for lease in (0.05, 0.5, 3):
        of_work = [
            theory.settle_time(work, lease, late_ack="deletes", work_per="attempt")
            for work in (Exponential(2), Mixture([(1, Exponential(2))]))
        ]
        assert of_work[0] == pytest.approx(of_work[1], rel=1e-9)


# Any work


@pytest.mark.parametrize("work", WORKS, ids=repr)
@pytest.mark.parametrize("lease", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("work_per", ["job", "attempt"])
@pytest.mark.parametrize("late_ack", ANY)
def test_formulas_lie_within_sampled_jobs(
    work: Distribution, lease: float, work_per: str, late_ack: str
) -> None:
    """10,000 sampled jobs give the formulas' means within four standard errors."""
    expected = (
        theory.deliveries(work, lease, late_ack=late_ack, work_per=work_per),
        theory.settle_time(work, lease, late_ack=late_ack, work_per=work_per),
    )
    if math.isinf(expected[0]):
        assert work_per == "job" or work.cdf(lease) == 0
        assert late_ack in REFUSED
        assert math.isinf(expected[1])
        return
    sampled = sampled_jobs(work, lease, late_ack in ACCEPTED, work_per)
    for samples, mean in zip(sampled, expected, strict=True):
        assert samples.mean() == pytest.approx(
            mean, abs=4 * samples.std() / math.sqrt(samples.size) + 1e-9
        )


def sampled_jobs(
    work: Distribution, lease: float, accepted: bool, work_per: str, copies: int = 150
) -> tuple[np.ndarray, np.ndarray]:
    """Deliveries and settle times of 10,000 jobs, with the ends of all copies drawn in advance."""
    jobs = 10_000
    uniforms = np.random.default_rng(5).random((jobs, 1 if work_per == "job" else copies))
    seconds = np.broadcast_to(work.sample(uniforms), (jobs, copies))
    starts = np.arange(copies) * lease
    counts = np.full(seconds.shape, True) if accepted else seconds <= lease
    settled = np.where(counts, starts + seconds, np.inf).min(axis=1)
    return np.maximum((starts < settled[:, None]).sum(axis=1), 1), settled


@pytest.mark.parametrize("late_ack", REFUSED)
def test_refused_work_per_job_ends_only_if_every_job_fits(late_ack: str) -> None:
    """One job too long makes both means infinite; a lease of the longest job makes them finite."""
    work = Empirical([1, 2, 5])
    assert theory.deliveries(work, 4.9, late_ack=late_ack) == math.inf
    assert theory.settle_time(work, 4.9, late_ack=late_ack) == math.inf
    assert theory.deliveries(work, 5, late_ack=late_ack) == 1
    assert theory.settle_time(work, 5, late_ack=late_ack) == work.mean


def test_accepted_work_per_job_is_the_mean_of_leases_begun() -> None:
    """Closed forms and exact sums: exponential, measured, mixed, uniform."""

    def deliveries(work: Distribution, lease: float) -> float:
        return theory.deliveries(work, lease, late_ack="deletes")

    assert deliveries(Exponential(2), 1) == pytest.approx(1 / (1 - math.exp(-0.5)))
    assert deliveries(Empirical([0, 0.5, 1, 1.5, 3]), 1) == pytest.approx((1 + 1 + 1 + 2 + 3) / 5)
    assert deliveries(Mixture([(3, Fixed(1)), (1, Fixed(10))]), 2) == pytest.approx((3 + 5) / 4)
    assert deliveries(Uniform(0, 4), 1) == pytest.approx(2.5)


@pytest.mark.parametrize(("shape", "zeta"), [(1.5, 2.612375348685488), (1.1, 10.584448464950809)])
def test_heavy_tails_are_summed_to_their_end(shape: float, zeta: float) -> None:
    """Pareto work from one lease on: 1 + Riemann's zeta function of the shape."""
    deliveries = theory.deliveries(Pareto(1, shape), 1, late_ack="deletes")
    assert deliveries == pytest.approx(1 + zeta, rel=1e-10)


def test_infinite_mean_work() -> None:
    """Without a mean, a slow job is redelivered without end on average; fresh draws cure it."""
    work = Pareto(1, 0.8)
    assert theory.deliveries(work, 1, late_ack="deletes") == math.inf
    assert theory.settle_time(work, 1, late_ack="deletes") == math.inf
    assert theory.settle_time(work, 1, late_ack="deletes", work_per="attempt") < 3


# Shares


@pytest.mark.parametrize("work", WORKS, ids=repr)
def test_duplicate_rate_is_the_share_that_outlasts_the_lease(work: Distribution) -> None:
    """For a number or an array of leases."""
    leases = np.array([0.3, 0.9, 2.5])
    assert theory.p_work_exceeds(work, leases).tolist() == work.survival(leases).tolist()
    assert theory.duplicate_delivery_rate(work, leases).tolist() == work.survival(leases).tolist()
    assert theory.duplicate_delivery_rate(work, 0.9) == work.survival(0.9)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.deliveries(1, 0, late_ack="deletes"), "lease must be"),
        (lambda: theory.deliveries(-1, 1, late_ack="deletes"), "work must be a number of seconds"),
        (lambda: theory.deliveries(1, 1, late_ack="maybe"), "late_ack must be one of 'deletes'"),
        (
            lambda: theory.settle_time(1, 1, late_ack="deletes", work_per="day"),
            "work_per must be one of 'job', 'attempt', not 'day'",
        ),
        (
            lambda: theory.settle_time(1, 1, late_ack="deletes", workers=0),
            "workers must be a whole number of 1 or more, not 0",
        ),
        (
            lambda: theory.deliveries(Exponential(1), 1, late_ack="deletes", workers=3),
            r"workers must be None \(ample workers\) for Exponential\(mean=1\), not 3",
        ),
    ],
)
def test_wrong_input_is_named(call: object, sentence: str) -> None:
    """Each wrong parameter fails with its name and what is allowed."""
    with pytest.raises(ValueError, match=sentence):
        call()
