"""What an incident's case must show: an exact value, a range, or a mean that chance scatters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from simqueue import checks

TOLERANCE = 1e-6
"""Seconds: the simulator's times are whole microseconds."""

REACH = 3.2905
"""Standard deviations on either side of a mean that hold 99.9 % of a normal distribution."""


@runtime_checkable
class Expectation(Protocol):
    """Something that an observed value agrees with, or does not."""

    def allows(self, value: Any, others: Mapping[str, Any]) -> bool:
        """Whether `value` agrees; `others` are all values observed in the same run, by name."""


@dataclass(frozen=True)
class Within:
    """A value, or each value of a list, from `low` to `high`, both included."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if checks.number("low", self.low) > checks.number("high", self.high):
            raise checks.fail("low", self.low, f"{self.high:g} or less, which is high")

    def allows(self, value: Any, others: Mapping[str, Any]) -> bool:  # noqa: ARG002, D102
        values = value if isinstance(value, list) else [value]
        return bool(values) and all(
            each is not None and self.low - TOLERANCE <= each <= self.high + TOLERANCE
            for each in values
        )

    def __str__(self) -> str:
        return f"{text(self.low)} to {text(self.high)}"


@dataclass(frozen=True)
class Mean:
    """The mean of `count` independent values, each with this `mean` and standard `deviation`.

    What is observed must lie where such a mean lies in 99.9 % of all runs.
    """

    mean: float
    deviation: float
    count: int

    def __post_init__(self) -> None:
        checks.number("mean", self.mean)
        checks.non_negative("deviation", self.deviation)
        checks.whole("count", self.count, 1)

    @property
    def half_width(self) -> float:
        """How far from the mean is still allowed."""
        return REACH * self.deviation / math.sqrt(self.count)

    def allows(self, value: Any, others: Mapping[str, Any]) -> bool:  # noqa: ARG002, D102
        return value is not None and bool(abs(value - self.mean) <= self.half_width + TOLERANCE)

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half_width:.2g}"


def rate(probability: float, count: int) -> Mean:
    """Return what the share of `count` independent jobs is, each hit with this `probability`."""
    checks.probability("probability", probability)
    return Mean(probability, math.sqrt(probability * (1 - probability)), count)


@dataclass(frozen=True)
class SameAs:
    """The same value as another observable of the same run, `name`."""

    name: str

    def allows(self, value: Any, others: Mapping[str, Any]) -> bool:  # noqa: D102
        return agrees(others[self.name], value, {})

    def __str__(self) -> str:
        return f"as many as {self.name.replace('_', ' ')}"


def agrees(expected: Any, value: Any, others: Mapping[str, Any]) -> bool:
    """Whether `value` is what was `expected`: exactly, to the microsecond, or as it says."""
    if isinstance(expected, Expectation):
        return expected.allows(value, others)
    if expected is None or value is None or isinstance(expected, str):
        return bool(expected == value)
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(expected)
            and all(agrees(one, other, others) for one, other in zip(expected, value, strict=True))
        )
    return bool(abs(value - expected) <= TOLERANCE)


def label(name: str) -> str:
    """Return the name of an observable as it stands in tables: "starts (job 3)"."""
    plain, of, job = name.partition(" of job ")
    return plain.replace("_", " ") + (f" (job {job})" if of else "")


def text(value: Any, most: int = 6) -> str:
    """Return `value` as it stands in tables; of a list the first `most` values."""
    if value is None:
        return "never"
    if isinstance(value, list | tuple):
        shown = ", ".join(text(each) for each in value[:most])
        return f"{shown}, … ({len(value)} in all)" if len(value) > most else shown or "none"
    if isinstance(value, bool | str | Expectation):
        return str(value)
    return f"{value:,.3f}".rstrip("0").rstrip(".")
