"""Work distributions given by a formula: fixed, uniform, exponential, log-normal, Pareto."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from simqueue.checks import fail, non_negative, number, positive
from simqueue.distributions.base import Distribution
from simqueue.distributions.normal import normal_quantile, normal_survival

if TYPE_CHECKING:
    from simqueue.distributions.base import Floats

PERCENTILES = {"p99": 0.99, "p95": 0.95, "p90": 0.90}
LONGEST_EXPONENT = math.log(np.finfo(float).max)


@dataclass(frozen=True, repr=False)
class Fixed(Distribution):
    """Every job takes exactly `seconds` (0 or more)."""

    seconds: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", non_negative("seconds", self.seconds))

    @property
    def mean(self) -> float:
        """Mean work in seconds."""
        return self.seconds

    def _quantile(self, q: Floats) -> Floats:
        return np.full(q.shape, self.seconds)

    def _survival(self, x: Floats) -> Floats:
        return np.where(x < self.seconds, 1.0, 0.0)

    def _limited_mean(self, x: Floats) -> Floats:
        return np.minimum(x, self.seconds)


@dataclass(frozen=True, repr=False)
class Uniform(Distribution):
    """Every duration between `low` and `high` seconds is equally likely; 0 <= low < high."""

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", non_negative("low", self.low, "seconds"))
        object.__setattr__(self, "high", non_negative("high", self.high, "seconds"))
        if self.high <= self.low:
            raise fail("high", self.high, f"above low, which is {self.low!r}")

    @property
    def mean(self) -> float:
        """Mean work in seconds."""
        return self.low + (self.high - self.low) / 2

    def _quantile(self, q: Floats) -> Floats:
        return np.minimum(self.low + (self.high - self.low) * q, self.high)

    def _survival(self, x: Floats) -> Floats:
        return np.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def _cdf(self, x: Floats) -> Floats:
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def _limited_mean(self, x: Floats) -> Floats:
        inside = np.clip(x, self.low, self.high)
        return np.minimum(x, inside - (inside - self.low) ** 2 / (2 * (self.high - self.low)))


@dataclass(frozen=True, repr=False)
class Exponential(Distribution):
    """Memoryless work of the given `mean` (seconds, above 0): most jobs short, a few long."""

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive("mean", self.mean, "seconds"))

    def _quantile(self, q: Floats) -> Floats:
        return -self.mean * np.log1p(-q)

    def _survival(self, x: Floats) -> Floats:
        return np.exp(-x / self.mean)

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-x / self.mean)

    def _limited_mean(self, x: Floats) -> Floats:
        return self.mean * self._cdf(x)


@dataclass(frozen=True, repr=False)
class LogNormal(Distribution):
    """Work whose logarithm is normal: the usual shape of job durations, with a slow tail.

    Parameters
    ----------
    median
        Seconds that half of all jobs stay within; above 0.
    p99, p95, p90
        Exactly one of them: the seconds that 99, 95 or 90 % of all jobs stay within; above the
        median.
    """

    median: float
    p99: float | None = None
    p95: float | None = None
    p90: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "median", positive("median", self.median, "seconds"))
        given = [name for name in PERCENTILES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                "LogNormal needs exactly one of p99, p95 and p90 beside the median, "
                f"not {' and '.join(given) or 'none'}."
            )
        value = number(given[0], getattr(self, given[0]))
        if value <= self.median:
            raise fail(given[0], value, f"above the median, which is {self.median!r}")
        object.__setattr__(self, given[0], value)

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm of the work (no unit)."""
        name = next(name for name in PERCENTILES if getattr(self, name) is not None)
        ratio = math.log(getattr(self, name)) - math.log(self.median)
        return ratio / NormalDist().inv_cdf(PERCENTILES[name])

    @property
    def mean(self) -> float:
        """Mean work in seconds, median * exp(sigma**2 / 2); math.inf if no float can hold it."""
        exponent = math.log(self.median) + self.sigma**2 / 2
        return (
            self.median * math.exp(self.sigma**2 / 2) if exponent < LONGEST_EXPONENT else math.inf
        )

    def _quantile(self, q: Floats) -> Floats:
        return self.median * np.exp(self.sigma * normal_quantile(q))

    def _survival(self, x: Floats) -> Floats:
        return normal_survival(self._deviations(x))

    def _cdf(self, x: Floats) -> Floats:
        return normal_survival(-self._deviations(x))

    def _limited_mean(self, x: Floats) -> Floats:
        share_of_mean = normal_survival(self.sigma - self._deviations(x))
        return self.mean * share_of_mean + x * self._survival(x)

    def _deviations(self, x: Floats) -> Floats:
        """How many sigmas the logarithm of `x` lies above that of the median."""
        return (np.log(x) - math.log(self.median)) / self.sigma


@dataclass(frozen=True, repr=False)
class Pareto(Distribution):
    """Work with a heavy tail: P(work > x) = (minimum / x)**shape for x of `minimum` or more.

    Parameters
    ----------
    minimum
        The shortest duration, in seconds; above 0.
    shape
        How fast the tail falls, 0.1 or more: below that, single draws leave the range of floats.
        At 2 or less the variance is infinite, at 1 or less the mean too.
    """

    minimum: float
    shape: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "minimum", positive("minimum", self.minimum, "seconds"))
        if number("shape", self.shape, "a number of 0.1 or more") < 0.1:
            raise fail("shape", self.shape, "a number of 0.1 or more")
        object.__setattr__(self, "shape", float(self.shape))

    @property
    def mean(self) -> float:
        """Mean work in seconds; math.inf for a shape of 1 or less."""
        return self.minimum * self.shape / (self.shape - 1) if self.shape > 1 else math.inf

    def _quantile(self, q: Floats) -> Floats:
        return self.minimum * np.exp(-np.log1p(-q) / self.shape)

    def _survival(self, x: Floats) -> Floats:
        return np.exp(-self.shape * self._log_excess(x))

    def _cdf(self, x: Floats) -> Floats:
        return -np.expm1(-self.shape * self._log_excess(x))

    def _limited_mean(self, x: Floats) -> Floats:
        log_excess = self._log_excess(x)
        if self.shape == 1:
            beyond = log_excess
        else:
            beyond = np.expm1((1 - self.shape) * log_excess) / (1 - self.shape)
        return np.minimum(x, self.minimum) + self.minimum * beyond

    def _log_excess(self, x: Floats) -> Floats:
        return np.log(np.maximum(x, self.minimum) / self.minimum)
