"""How much load retries add, and how much they help: the study of retry limits.

Source of the model and its parameters: the simulator behind Marc Brooker, *Fixing retries with
token buckets and circuit breakers* (2022), github.com/mbrooker/simulator_example, `retry_sim`.

100 clients make 10 calls a second each, for 10 s, then all that is on its way is finished. Each
attempt fails with the same probability, whatever the load; each way takes an exponential time of
0.01 s on average. What differs is who may try again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import simpy

from simqueue import checks
from simqueue.intervals import Interval, interval
from simqueue.studies.draws import endless, generators

CLIENTS, RATE, SECONDS, WAY = 100, 10.0, 10.0, 0.01


class Policy(Protocol):
    """What one client goes by."""

    def begin(self) -> None:
        """Hear of a new call."""

    def allows(self, retries: int) -> bool:
        """Say whether a call that failed, and made so many `retries` before, may try again."""


class AtMost:
    """So many retries for each call."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def begin(self) -> None:
        """Nothing to do: calls do not share anything."""

    def allows(self, retries: int) -> bool:
        """Whether the call has retries left."""
        return retries < self._limit


class TokenBucket:
    """A retry takes a token; each new call brings a part of one, and the bucket holds only a few.

    It takes more than one token in the bucket to take one, as in the study.
    """

    def __init__(self, size: float = 5.0, per_call: float = 0.1) -> None:
        self._size = self._tokens = size
        self._per_call = per_call

    def begin(self) -> None:
        """The call brings its part."""
        self._tokens = min(self._tokens + self._per_call, self._size)

    def allows(self, retries: int) -> bool:  # noqa: ARG002
        """Whether there was a token to take."""
        if self._tokens > 1.0:
            self._tokens -= 1.0
            return True
        return False


class Breaker:
    """At most three retries, and none while failures are above a share of all calls so far."""

    def __init__(self, limit: int = 3, share: float = 0.1) -> None:
        self._limit, self._share = limit, share
        self._calls = self._failures = 0

    def begin(self) -> None:
        """One call more."""
        self._calls += 1

    def allows(self, retries: int) -> bool:
        """Whether the breaker is closed and the call has retries left."""
        self._failures += 1
        return self._failures / self._calls <= self._share and retries < self._limit


POLICIES: dict[str, Callable[[], Policy]] = {
    "three retries": lambda: AtMost(3),
    "token bucket": TokenBucket,
    "breaker at 10 %": Breaker,
    "no retries": lambda: AtMost(0),
}


@dataclass(frozen=True)
class Outcome:
    """One trial: attempts for each call, and the share of calls that succeeded."""

    load: float
    availability: float


@dataclass(frozen=True)
class Measured:
    """The means of both over all trials, with their intervals."""

    load: Interval
    availability: Interval


def theory(failure: float, retries: int = 3) -> Outcome:
    """Load and availability with so many independent retries, at a `failure` probability."""
    return Outcome(sum(failure**n for n in range(retries + 1)), 1 - failure ** (retries + 1))


def run(policy: str, failure: float, rng: np.random.Generator) -> Outcome:
    """Run the study once: `policy` is a name of `POLICIES`, `failure` the chance of an attempt."""
    checks.one_of("policy", policy, POLICIES)
    checks.probability("failure", failure)
    env = simpy.Environment()
    counts = _Counts()
    ways = endless(lambda count: rng.exponential(WAY, count))
    gaps = endless(lambda count: rng.exponential(1 / RATE, count))
    chances = endless(rng.random)

    def call(client: Policy) -> Generator[Any, Any, None]:
        counts.calls += 1
        client.begin()
        retries = 0
        while True:
            counts.attempts += 1
            yield env.timeout(next(ways))
            failed = next(chances) <= failure
            yield env.timeout(next(ways))
            if not failed:
                counts.successes += 1
                return
            if not client.allows(retries):
                return
            retries += 1

    def client(policy: Policy) -> Generator[Any, Any, None]:
        yield env.timeout(next(ways))
        while env.now <= SECONDS:
            env.process(call(policy))
            yield env.timeout(next(gaps))

    for _ in range(CLIENTS):
        env.process(client(POLICIES[policy]()))
    env.run()
    return Outcome(counts.attempts / counts.calls, counts.successes / counts.calls)


@dataclass
class _Counts:
    calls: int = 0
    attempts: int = 0
    successes: int = 0


def measure(
    policy: str, failure: float, trials: int, seed: int = 1, *, confidence: float = 0.95
) -> Measured:
    """Repeat `run` with independent draws, and return means with intervals of that confidence."""
    outcomes = list(_outcomes(policy, failure, trials, seed))
    return Measured(
        interval([each.load for each in outcomes], confidence),
        interval([each.availability for each in outcomes], confidence),
    )


def _outcomes(policy: str, failure: float, trials: int, seed: int) -> Iterator[Outcome]:
    for rng in generators(seed, trials):
        yield run(policy, failure, rng)
