"""Each work distribution against arithmetic: its textbook figures, jumps, and recordings."""

from __future__ import annotations

import math
import pickle
from statistics import NormalDist

import numpy as np
import pytest

from simqueue.distributions import (
    Empirical,
    Exponential,
    Fixed,
    LogNormal,
    Mixture,
    Pareto,
    Recorded,
    Uniform,
)
from simqueue.distributions.normal import normal_quantile, normal_survival


def test_survival_is_strict() -> None:
    """A job that takes exactly x seconds has not outlasted x."""
    assert Fixed(3).survival([2.999, 3, 3.001]).tolist() == [1, 0, 0]
    assert Empirical([1, 2, 2, 5]).survival([0.5, 1, 2, 5]).tolist() == [1, 0.75, 0.25, 0]


def test_exponential() -> None:
    """Exponential work has the textbook figures."""
    work = Exponential(mean=2)
    assert work.quantile(0.5) == pytest.approx(2 * math.log(2))
    assert work.survival(3) == pytest.approx(math.exp(-1.5))
    assert work.cdf(1e-12) == pytest.approx(5e-13, rel=1e-9, abs=0)


@pytest.mark.parametrize(("name", "q"), [("p99", 0.99), ("p95", 0.95), ("p90", 0.90)])
def test_lognormal_has_its_median_and_its_percentile(name: str, q: float) -> None:
    """The two given quantiles are the distribution's own, and the mean follows from sigma."""
    work = LogNormal(median=10, **{name: 45})
    assert work.quantile([0.5, q]) == pytest.approx([10, 45])
    assert work.sigma == pytest.approx(math.log(4.5) / NormalDist().inv_cdf(q))
    assert work.mean == pytest.approx(10 * math.exp(work.sigma**2 / 2))


def test_lognormal_mean_beyond_floats_is_infinite() -> None:
    """A mean that no float can hold is math.inf, not an error."""
    assert LogNormal(median=1e-300, p99=1e300).mean == math.inf


def test_uniform() -> None:
    """Uniform work has the textbook figures."""
    work = Uniform(low=2, high=6)
    assert work.mean == 4
    assert work.quantile([0, 0.25, 1]).tolist() == [2, 3, 6]
    assert work.survival([1, 3, 7]).tolist() == [1, 0.75, 0]


def test_pareto() -> None:
    """Pareto work has the textbook figures, and an infinite mean for a shape of 1 or less."""
    assert Pareto(minimum=2, shape=3).mean == pytest.approx(3)
    assert Pareto(minimum=2, shape=3).survival([1, 2, 4]) == pytest.approx([1, 1, 1 / 8])
    assert Pareto(minimum=2, shape=1).mean == math.inf
    assert Pareto(minimum=2, shape=1).limited_mean(20) == pytest.approx(2 + 2 * math.log(10))


def test_mixture_weighs_its_parts() -> None:
    """Mean and survival are weighted sums; weights need not add up to 1."""
    work = Mixture([(9, Exponential(1)), (1, Fixed(30))])
    assert work.mean == pytest.approx(0.9 * 1 + 0.1 * 30)
    assert work.survival(20) == pytest.approx(0.1 + 0.9 * math.exp(-20))
    assert work == Mixture([(0.9, Exponential(1)), (0.1, Fixed(30))])


def test_mixture_quantile_finds_jumps_exactly() -> None:
    """Where the share is reached by a jump, the quantile is the place of the jump itself."""
    work = Mixture([(1, Fixed(1)), (1, Fixed(10)), (2, Empirical([3.3, 7]))])
    assert work.quantile([0, 0.25, 0.26, 0.5, 0.51, 0.76, 1]).tolist() == [
        *(1, 1, 3.3, 3.3, 7, 10, 10)
    ]


@pytest.mark.parametrize("q", [1e-12, 1e-9, 1e-4, 0.2, 0.6])
def test_mixture_quantile_is_accurate_at_the_low_end(q: float) -> None:
    """Below 1 the mixture's density is (1 + 1/3) / 2, so its quantile is 1.5 q."""
    work = Mixture([(1, Uniform(0, 1)), (1, Uniform(0, 3))])
    assert work.quantile(q) == pytest.approx(1.5 * q, rel=1e-9, abs=0)


@pytest.mark.parametrize("tail", [0.5, 0.125, 2.0**-10, 2.0**-30, 2.0**-50])
def test_mixture_quantile_is_accurate_at_the_high_end(tail: float) -> None:
    """With y = exp(-x / 2), half a mean of 1 and half a mean of 2 leave (y**2 + y) / 2 above x."""
    work = Mixture([(1, Exponential(1)), (1, Exponential(2))])
    y = 4 * tail / (math.sqrt(1 + 8 * tail) + 1)
    assert work.quantile(1 - tail) == pytest.approx(-2 * math.log(y), rel=1e-9)


def test_mixture_uses_one_uniform_for_part_and_place() -> None:
    """The first 75 % of uniforms go to the first part, stretched over the whole of it."""
    work = Mixture([(3, Uniform(0, 1)), (1, Uniform(10, 20))])
    sample = work.sample(np.array([0, 0.375, 0.74999, 0.75, 0.875]))
    assert sample == pytest.approx([0, 0.5, 0.99999, 10, 15], abs=1e-4)


def test_mixture_never_draws_from_a_part_without_weight() -> None:
    """A weight of 0 leaves the part out of every figure."""
    work = Mixture([(0, Pareto(minimum=1, shape=0.5)), (1, Fixed(2))])
    assert work.mean == 2
    assert work.quantile([0, 1]).tolist() == [2, 2]
    assert work.sample(np.array([0.0, 0.9])).tolist() == [2, 2]


def test_empirical_is_exact() -> None:
    """Shares are counts over n, and a quantile is one of the values, at every k / n."""
    values = list(range(1, 101))
    work = Empirical(values[::-1])
    assert work.quantile(np.arange(1, 101) / 100).tolist() == values
    assert work.quantile([0, 0.9900001]).tolist() == [1, 100]
    assert [work.survival(x) for x in (0.99, 1, 30, 99.5)] == [1, 0.99, 0.7, 0.01]
    assert work.sample((np.arange(100)) / 100 + 0.001).tolist() == values
    assert work.mean == 50.5


def test_empirical_forgets_the_order_and_a_recording_keeps_it() -> None:
    """Two logs with the same durations are one distribution, but two recordings."""
    assert Empirical([2, 1]) == Empirical(np.array([1, 2]))
    assert Recorded([2, 1]) != Recorded([1, 2])
    assert Recorded([2, 1]).quantile(0.5) == Empirical([2, 1]).quantile(0.5) == 1


def test_recording_gives_each_job_its_own_duration() -> None:
    """Job j takes values[j] whatever the uniforms, and a copy protects the recording."""
    work = Recorded([5, 3, 8, 1])
    part = work.for_jobs(1, np.array([0.9, 0.1]))
    assert part.tolist() == [3, 8]
    part[:] = 0
    assert work.for_jobs(0, np.zeros(4)).tolist() == [5, 3, 8, 1]


def test_recording_too_short_says_so() -> None:
    """Asking for a job beyond the recording is a clear error."""
    with pytest.raises(ValueError, match="has 4 durations, too few for 5 jobs"):
        Recorded([5, 3, 8, 1]).for_jobs(3, np.zeros(2))


@pytest.mark.parametrize("kind", [Empirical, Recorded])
def test_long_logs_have_a_short_name_and_a_lean_pickle(kind: type[Empirical]) -> None:
    """Thousands of values are summed up in a line, and caches are not pickled."""
    work = kind(np.arange(26_000.0))
    fresh = len(pickle.dumps(work))
    work.sample(np.linspace(0, 0.999, 1000))
    work.quantile(0.5)
    assert len(pickle.dumps(work)) == fresh
    assert repr(work) == (
        f"{kind.__name__}(26000 values, median 12999, mean 12999.5, longest 25999)"
    )


def test_names_show_what_was_given() -> None:
    """A distribution shows its parameters as one would type them."""
    assert repr(LogNormal(median=10, p99=90.5)) == "LogNormal(median=10, p99=90.5)"
    assert repr(Fixed(30)) == "Fixed(seconds=30)"
    assert repr(Empirical([2, 1])) == "Empirical([1.0, 2.0])"


def test_normal_quantile_agrees_with_the_standard_library() -> None:
    """Our vectorised quantiles equal Python's to 1e-12, from 1e-300 to 1 - 1e-15."""
    q = np.concatenate(
        [
            10.0 ** -np.arange(1, 300, 7),
            np.linspace(0.0004, 0.9996, 999),
            1 - 10.0 ** -np.arange(3, 16),
        ]
    )
    expected = [NormalDist().inv_cdf(share) for share in q]
    np.testing.assert_allclose(normal_quantile(q), expected, rtol=1e-12, atol=1e-15)
    assert normal_quantile(np.array([0, 0.5, 1])).tolist() == [-math.inf, 0, math.inf]


def test_normal_survival_inverts_the_quantile() -> None:
    """The tail beyond the quantile of q is 1 - q, far out too."""
    q = np.array([1e-12, 0.01, 0.5, 0.99, 1 - 2.0**-40])
    np.testing.assert_allclose(normal_survival(normal_quantile(q)), 1 - q, rtol=1e-10)
