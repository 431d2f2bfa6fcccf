"""Confidence intervals for means of independent replications."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from simqueue import checks


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval; `half_width` is infinite for fewer than two values."""

    mean: float
    half_width: float
    replications: int

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + self.half_width

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the mean of independent `values` with its Student-t interval.

    NaN values (a run that had nothing to take a mean of) are left out and not counted.
    """
    there = [float(value) for value in values if not math.isnan(value)]
    count = len(there)
    if not count:
        return Interval(math.nan, math.nan, 0)
    mean = math.fsum(there) / count
    if count == 1:
        return Interval(mean, math.inf, 1)
    variance = math.fsum((value - mean) ** 2 for value in there) / (count - 1)
    reach = student_t_quantile((1 + confidence) / 2, count - 1)
    return Interval(mean, reach * math.sqrt(variance / count), count)


def two_groups(values: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """Return `values` as two groups, low and high, if they fall into two; otherwise None.

    They do where one gap between neighbours is wider than half of the whole range, and at least two
    values lie on either side of it: some runs recover and the others never do. A mean of both
    describes neither.
    """
    there = sorted(float(value) for value in values if not math.isnan(value))
    if len(there) < 4 or there[0] == there[-1]:
        return None
    gaps = [high - low for low, high in itertools.pairwise(there)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    low, high = there[: widest + 1], there[widest + 1 :]
    if gaps[widest] <= (there[-1] - there[0]) / 2 or min(len(low), len(high)) < 2:
        return None
    return low, high


def student_t_quantile(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution, for 0.5 <= `probability` < 1.

    By bisection of the distribution function, which for whole degrees of freedom is a finite sum
    (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4).
    """
    checks.between("probability", probability, 0.5, math.nextafter(1, 0))
    checks.whole("degrees", degrees, 1)
    low, high = 0.0, math.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        if (1 + _within(middle, degrees)) / 2 < probability:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan((low + high) / 2)


def _within(angle: float, degrees: int) -> float:
    """P(|t| <= sqrt(degrees) tan(angle))."""
    cosine, term, total = math.cos(angle), 1.0, 0.0
    if degrees % 2:
        term = cosine
        for k in range(1, degrees - 1, 2):
            total += term
            term *= cosine**2 * (k + 1) / (k + 2)
        return 2 / math.pi * (angle + math.sin(angle) * total)
    for k in range(0, degrees - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    return math.sin(angle) * total
