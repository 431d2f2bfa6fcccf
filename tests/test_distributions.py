"""Work distributions: the figures of each agree with each other and with its samples."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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

CONTINUOUS: list[Distribution] = [
    Exponential(mean=2.0),
    LogNormal(median=10, p99=90),
    LogNormal(median=0.2, p90=0.3),
    Uniform(low=0, high=4),
    Uniform(low=3, high=3.5),
    Pareto(minimum=2, shape=2.5),
    Pareto(minimum=1, shape=0.8),
    Mixture([(3, Exponential(1)), (1, LogNormal(median=20, p95=60))]),
]
STEPPED: list[Distribution] = [
    Fixed(seconds=3),
    Fixed(seconds=0),
    Empirical([4.0, 1.0, 1.0, 2.5]),
    Recorded([4.0, 1.0, 1.0, 2.5]),
    Mixture([(0.25, Fixed(1)), (0.75, Fixed(10))]),
    Mixture([(0.5, Empirical([1, 2])), (0.5, Fixed(1.5))]),
]
EVERY = CONTINUOUS + STEPPED
MIDDLE_OF_EACH_THOUSANDTH = (np.arange(1000) + 0.5) / 1000

durations = st.floats(0, 1e6, allow_subnormal=False)
positives = st.floats(1e-3, 1e6)
shares = st.floats(1e-9, 1 - 1e-9)


def lognormal(median: float, factor: float, percentile: str) -> LogNormal:
    """A log-normal whose percentile is `factor` times its median."""
    return LogNormal(median, **{percentile: median * factor})


one_kind: st.SearchStrategy[Distribution] = st.one_of(
    st.builds(Fixed, durations),
    st.builds(Exponential, positives),
    st.builds(lognormal, positives, st.floats(1.01, 100), st.sampled_from(["p99", "p95", "p90"])),
    st.builds(lambda low, width: Uniform(low, low + width), durations, positives),
    st.builds(Pareto, positives, st.floats(0.5, 10)),
    st.builds(Empirical, st.lists(durations, min_size=1, max_size=20)),
)
mixtures = st.builds(
    Mixture, st.lists(st.tuples(st.floats(0.01, 10), one_kind), min_size=1, max_size=4)
)
any_work = one_kind | mixtures


@given(any_work, shares)
def test_quantile_is_the_smallest_duration_that_reaches_the_share(
    work: Distribution, q: float
) -> None:
    """P(work <= quantile) is q or more, and a little below the quantile it is q or less."""
    duration = work.quantile(q)
    assert work.cdf(duration * (1 + 1e-9)) >= q * (1 - 1e-6)
    below = duration * (1 - 1e-9) - 1e-300
    assert work.cdf(below) <= q * (1 + 1e-6)


@given(any_work, durations)
def test_survival_and_cdf_add_up_to_one(work: Distribution, x: float) -> None:
    """Every job takes either more than x or at most x."""
    assert work.survival(x) + work.cdf(x) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("work", CONTINUOUS, ids=repr)
def test_survival_inverts_the_quantile(work: Distribution) -> None:
    """Without jumps, the share that outlasts the quantile of q is 1 - q."""
    levels = np.array([1e-7, 0.001, 0.1, 0.3, 0.5, 0.7, 0.95, 0.999, 1 - 1e-7])
    np.testing.assert_allclose(work.survival(work.quantile(levels)), 1 - levels, rtol=1e-8)
    np.testing.assert_allclose(work.cdf(work.quantile(levels)), levels, rtol=1e-8)


@pytest.mark.parametrize("work", EVERY, ids=repr)
@pytest.mark.parametrize("x", [0.7, 3.2, 40.0])
def test_limited_mean_is_the_integral_of_the_survival_function(
    work: Distribution, x: float
) -> None:
    """Quadrature of P(work > t) from 0 to x gives the mean of min(work, x)."""
    cells = 100_000
    midpoints = (np.arange(cells) + 0.5) * (x / cells)
    integral = float(work.survival(midpoints).mean()) * x
    assert work.limited_mean(x) == pytest.approx(integral, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("work", [work for work in EVERY if work.mean < math.inf], ids=repr)
def test_mean_is_the_limited_mean_without_limit(work: Distribution) -> None:
    """Cutting off at a duration that nearly no job reaches changes nothing."""
    assert work.limited_mean(1e9) == pytest.approx(work.mean, rel=1e-9)
    assert work.limited_mean(math.inf) == work.mean


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_samples_have_the_quantiles(work: Distribution) -> None:
    """Evenly spread uniforms give durations whose share above x is P(work > x)."""
    sample = work.sample(MIDDLE_OF_EACH_THOUSANDTH)
    assert sample.shape == MIDDLE_OF_EACH_THOUSANDTH.shape
    for x in (0.0, 1.0, 2.4, 9.9, 50.0):
        assert (sample > x).mean() == pytest.approx(work.survival(x), abs=0.002)


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_mean_of_samples(work: Distribution) -> None:
    """The mean of limited samples from evenly spread uniforms is the limited mean."""
    sample = work.sample((np.arange(200_000) + 0.5) / 200_000)
    assert np.minimum(sample, 30).mean() == pytest.approx(work.limited_mean(30), rel=1e-4)


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_ends_of_the_range(work: Distribution) -> None:
    """Samples are finite at both ends of [0, 1), and no job takes a negative or infinite time."""
    ends = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert np.isfinite(work.sample(ends)).all()
    assert (work.sample(ends) >= 0).all()
    assert work.survival(-1.0) == 1.0
    assert work.cdf(-1.0) == 0.0
    assert work.survival(math.inf) == 0.0
    assert work.survival(work.quantile(1.0)) == 0.0


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_scalars_and_arrays_keep_their_shape(work: Distribution) -> None:
    """A number gives a float, an array an array of its shape with the same values."""
    for function in (work.quantile, work.survival, work.cdf, work.limited_mean):
        grid = function(np.array([[0.1, 0.5], [0.9, 1.0]]))
        assert grid.shape == (2, 2)
        assert type(function(0.5)) is float
        assert function(0.5) == grid[0, 1]
        assert list(function([0.1, 0.5])) == list(grid[0])


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_are_values(work: Distribution) -> None:
    """Distributions are equal, hash and pickle by their parameters, even after use."""
    work.sample(MIDDLE_OF_EACH_THOUSANDTH)
    copy = pickle.loads(pickle.dumps(work))
    assert copy == work
    assert hash(copy) == hash(work)
    assert "\n" not in repr(work)


@pytest.mark.parametrize("work", EVERY, ids=repr)
def test_for_jobs_of_anything_but_a_recording_samples(work: Distribution) -> None:
    """Which job it is makes no difference to a distribution."""
    if not isinstance(work, Recorded):
        uniforms = np.array([0.1, 0.6, 0.9])
        assert list(work.for_jobs(17, uniforms)) == list(work.sample(uniforms))


@pytest.mark.parametrize(
    ("construct", "sentence"),
    [
        (lambda: Fixed(-1), "seconds must be a number of 0 or more, not -1."),
        (lambda: Fixed("soon"), "seconds must be a number of 0 or more, not 'soon'."),
        (lambda: Exponential(0), "mean must be a number of seconds above 0, not 0."),
        (lambda: Exponential(math.nan), "mean must be a number of seconds above 0, not nan."),
        (lambda: Uniform(-1, 2), "low must be a number of seconds of 0 or more, not -1."),
        (lambda: Uniform(3, 3), "high must be above low, which is 3.0, not 3.0."),
        (lambda: Pareto(0, 2), "minimum must be a number of seconds above 0, not 0."),
        (lambda: Pareto(1, 0.01), "shape must be a number of 0.1 or more, not 0.01."),
        (
            lambda: LogNormal(10),
            "LogNormal needs exactly one of p99, p95 and p90 beside the median, not none.",
        ),
        (
            lambda: LogNormal(10, p99=90, p95=50),
            "LogNormal needs exactly one of p99, p95 and p90 beside the median, not p99 and p95.",
        ),
        (lambda: LogNormal(10, p99=10), "p99 must be above the median, which is 10.0, not 10.0."),
        (lambda: Mixture([]), "parts must be one or more pairs (weight, distribution), not []."),
        (
            lambda: Mixture([(1, Fixed(1)), (2, 3)]),
            "parts[1] must be a pair (weight, distribution), not (2, 3).",
        ),
        (
            lambda: Mixture([(-1, Fixed(1))]),
            "parts[0][0] must be a number of 0 or more, not -1.",
        ),
        (
            lambda: Mixture([(0, Fixed(1))]),
            "parts must have at least one weight above 0; all of them are 0.",
        ),
        (
            lambda: Mixture([(1, Recorded([1]))]),
            "parts[0] is a recording, which belongs to the jobs one by one: "
            "use Empirical inside a Mixture.",
        ),
        (
            lambda: Empirical([]),
            "values must be a flat sequence of one or more numbers of seconds, each 0 or more, "
            "not [].",
        ),
        (
            lambda: Empirical([[1], [2, 3]]),
            "values must be a flat sequence of one or more numbers of seconds, each 0 or more, "
            "not [[1], [2, 3]].",
        ),
        (lambda: Recorded([1, -2]), "values[1] must be a finite number of 0 or more, not -2."),
        (
            lambda: Recorded([1.0, math.nan]),
            "values[1] must be a finite number of 0 or more, not nan.",
        ),
        (lambda: Fixed(1).quantile([0.1, 1.5]), "q must be a share from 0 to 1, not 1.5."),
        (lambda: Fixed(1).survival(math.nan), "x must be a number of seconds, not nan."),
    ],
)
def test_wrong_input_is_named(construct: object, sentence: str) -> None:
    """Each wrong parameter fails at once with its name, its value and what is allowed."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole sentence is compared
        construct()
    assert str(caught.value) == sentence
