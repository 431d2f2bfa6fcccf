"""Arrivals: the times that follow from a rate, an interval, or a log."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simqueue.arrivals import AllAtOnce, Arrivals, EvenlySpaced, Poisson, Times

EVERY: list[Arrivals] = [
    Poisson(rate=2.0),
    EvenlySpaced(rate=3),
    EvenlySpaced(interval=0.1),
    AllAtOnce(),
    AllAtOnce(at=60),
    Times(np.arange(100.0)),
]


@pytest.mark.parametrize("arrivals", EVERY, ids=repr)
def test_one_time_per_job_never_falling(arrivals: Arrivals) -> None:
    """There are as many times as uniforms, none negative, in order."""
    times = arrivals.times(np.random.default_rng(1).random(100))
    assert times.shape == (100,)
    assert times.dtype == np.float64
    assert times[0] >= 0
    assert (np.diff(times) >= 0).all()


@pytest.mark.parametrize("arrivals", EVERY, ids=repr)
def test_more_jobs_leave_the_first_ones_where_they_are(arrivals: Arrivals) -> None:
    """A longer run begins with the shorter one, to the last bit."""
    uniforms = np.random.default_rng(1).random(100)
    assert arrivals.times(uniforms)[:40].tolist() == arrivals.times(uniforms[:40]).tolist()


@pytest.mark.parametrize("arrivals", EVERY, ids=repr)
def test_no_jobs_no_times(arrivals: Arrivals) -> None:
    """Nothing in, nothing out."""
    assert arrivals.times(np.empty(0)).shape == (0,)


@pytest.mark.parametrize("arrivals", EVERY, ids=repr)
def test_are_values(arrivals: Arrivals) -> None:
    """Arrivals are equal, hash and pickle by their parameters, and have a one-line name."""
    copy = pickle.loads(pickle.dumps(arrivals))
    assert copy == arrivals
    assert hash(copy) == hash(arrivals)
    assert "\n" not in repr(arrivals)
    assert len(repr(arrivals)) < 60


def test_poisson_gaps_are_exponential_with_the_rate() -> None:
    """Evenly spread uniforms give gaps whose mean is 1 / rate and whose median is ln 2 / rate."""
    uniforms = (np.arange(100_000) + 0.5) / 100_000
    gaps = np.diff(Poisson(rate=4).times(uniforms), prepend=0.0)
    assert gaps.mean() == pytest.approx(1 / 4, rel=1e-4)
    assert np.median(gaps) == pytest.approx(np.log(2) / 4, rel=1e-4)


def test_poisson_is_finite_at_both_ends_of_the_uniforms() -> None:
    """A uniform of 0 is no gap, and the one just below 1 a long but finite one."""
    times = Poisson(rate=1).times(np.array([0, np.nextafter(1, 0)]))
    assert times[0] == 0
    assert 36 < times[1] < 37


def test_evenly_spaced_starts_at_zero() -> None:
    """Job k arrives at k * interval, without rounding that adds up, or at k / rate."""
    uniforms = np.zeros(1001)
    assert EvenlySpaced(interval=0.1).times(uniforms)[[0, 1, 1000]].tolist() == [0, 0.1, 100]
    assert EvenlySpaced(rate=3).times(uniforms)[[0, 1, 999]].tolist() == [0, 1 / 3, 333]


def test_all_at_once() -> None:
    """Every job has the given time."""
    assert AllAtOnce(at=5).times(np.zeros(3)).tolist() == [5, 5, 5]
    assert AllAtOnce().times(np.zeros(2)).tolist() == [0, 0]


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=50))
def test_times_are_sorted_and_say_how_many(given_times: list[float]) -> None:
    """Given times come back in order, all of them."""
    arrivals = Times(given_times)
    assert arrivals.count == len(given_times)
    assert arrivals.times(np.zeros(arrivals.count)).tolist() == sorted(given_times)


def test_only_given_times_know_how_many_jobs_there_are() -> None:
    """All other arrivals go on for as long as they are asked."""
    assert [arrivals.count for arrivals in EVERY] == [None, None, None, None, None, 100]


def test_too_few_times_say_so() -> None:
    """More jobs than given times is a clear error."""
    with pytest.raises(ValueError, match="give 2 times, too few for 3 jobs"):
        Times([0, 1]).times(np.zeros(3))


def test_names() -> None:
    """Arrivals show what was given, and long logs are summed up."""
    assert repr(EvenlySpaced(interval=2)) == "EvenlySpaced(interval=2.0)"
    assert repr(Times([3, 1])) == "Times([1.0, 3.0])"
    assert repr(Times(range(9))) == "Times(9 jobs, from 0 to 8 s)"


@pytest.mark.parametrize(
    ("construct", "sentence"),
    [
        (lambda: Poisson(0), "rate must be a number of jobs a second above 0, not 0."),
        (
            EvenlySpaced,
            "EvenlySpaced needs exactly one of rate and interval, not none.",
        ),
        (
            lambda: EvenlySpaced(rate=1, interval=1),
            "EvenlySpaced needs exactly one of rate and interval, not both.",
        ),
        (
            lambda: EvenlySpaced(interval=-1),
            "interval must be a number of seconds above 0, not -1.",
        ),
        (lambda: AllAtOnce(at=-1), "at must be a number of seconds of 0 or more, not -1."),
        (lambda: Times([0, -1]), "at[1] must be a finite number of 0 or more, not -1."),
        (
            lambda: Times([]),
            "at must be a flat sequence of one or more numbers of seconds, each 0 or more, not [].",
        ),
    ],
)
def test_wrong_input_is_named(construct: object, sentence: str) -> None:
    """Each wrong parameter fails at once with its name, its value and what is allowed."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        construct()
    assert str(caught.value) == sentence
