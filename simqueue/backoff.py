"""How long to wait before a retry: rules, and the schedules of real systems.

A rule is anything callable as ``rule(attempt, previous, rng)`` that returns seconds: `attempt`
counts the failures so far, from 1; `previous` is the delay before this one (0 at first); `rng` is a
`numpy.random.Generator` whose draws belong to this job and attempt. The rules of jitter are those
of Brooker, *Exponential Backoff and Jitter* (AWS Architecture Blog, 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simqueue import checks

Backoff = Callable[[int, float, np.random.Generator], float]


@dataclass(frozen=True, kw_only=True)
class NoDelay:
    """Retry at once."""

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class Constant:
    """The same delay of `seconds` (0 or more) each time."""

    seconds: float

    def __post_init__(self) -> None:
        checks.non_negative("seconds", self.seconds, "seconds")

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return `seconds`."""
        return self.seconds


@dataclass(frozen=True)
class Linear:
    """`step` seconds more each time (step, 2 step, 3 step, …), at most `cap`."""

    step: float
    cap: float = math.inf

    def __post_init__(self) -> None:
        checks.non_negative("step", self.step, "seconds")
        _check_cap(self.cap)

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return step times attempt, capped."""
        return min(self.cap, self.step * attempt)


@dataclass(frozen=True)
class Exponential:
    """`base` seconds, multiplied by `factor` each time, at most `cap`; everyone waits the same."""

    base: float
    cap: float = math.inf
    factor: float = 2.0

    def __post_init__(self) -> None:
        checks.non_negative("base", self.base, "seconds")
        _check_cap(self.cap)
        if checks.number("factor", self.factor) < 1:
            raise checks.fail("factor", self.factor, "a number of 1 or more")

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return base * factor ** (attempt - 1), capped."""
        return self.window(attempt)

    def window(self, attempt: int) -> float:
        """The delay before jitter, in seconds."""
        if not self.base:
            return 0.0
        steps_to_cap = math.inf
        if self.cap < math.inf and self.factor > 1:
            steps_to_cap = math.log(max(self.cap / self.base, 1), self.factor) + 1
        if attempt - 1 > steps_to_cap:
            return self.cap
        return min(self.cap, self.base * self.factor ** min(attempt - 1, 1000))


@dataclass(frozen=True)
class FullJitter(Exponential):
    """Anywhere between 0 and the exponential delay: U(0, window)."""

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return U(0, min(cap, base * factor ** (attempt - 1)))."""
        return rng.uniform(0, self.window(attempt))


@dataclass(frozen=True)
class EqualJitter(Exponential):
    """Half of the exponential delay for sure, the other half at random."""

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return window / 2 + U(0, window / 2)."""
        half = self.window(attempt) / 2
        return half + rng.uniform(0, half)


@dataclass(frozen=True)
class DecorrelatedJitter:
    """Between `base` and three times the delay before, at most `cap`."""

    base: float
    cap: float = math.inf

    def __post_init__(self) -> None:
        checks.non_negative("base", self.base, "seconds")
        _check_cap(self.cap)

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return min(cap, U(base, 3 * previous)); before the first retry, previous is base."""
        return min(self.cap, rng.uniform(self.base, 3 * max(previous, self.base)))


@dataclass(frozen=True)
class Schedule:
    """The given `delays` in seconds, one after the other; the last one is repeated."""

    delays: tuple[float, ...]

    def __post_init__(self) -> None:
        delays = tuple(float(d) for d in checks.non_negative_numbers("delays", self.delays))
        object.__setattr__(self, "delays", delays)

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return the delay of this attempt."""
        return self.delays[min(attempt, len(self.delays)) - 1]


def as_backoff(name: str, value: object) -> Backoff:
    """Return a rule: `value` itself if it can be called, a constant delay if it is a number."""
    if callable(value):
        return value
    return Constant(checks.non_negative(name, value, "seconds"))


def _check_cap(cap: float) -> None:
    if cap != math.inf:
        checks.non_negative("cap", cap, "seconds")
