"""The retry schedules of real systems, as rules of backoff, read from the projects' own source.

Each is a rule as in `simqueue.backoff`: ``rule(attempt, previous, rng)`` gives seconds, where
`attempt` counts the failures so far, from 1. `LIMITS` says after how many runs each gives up unless
it is told otherwise, so one can ask how long a job may wander about before somebody hears of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simqueue import checks
from simqueue.backoff import Backoff

DAY = 86_400.0


def sidekiq(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """n⁴ + 15 seconds and a whole number below 10 (n + 1), where n counts retries from 0.

    Source: sidekiq `lib/sidekiq/job_retry.rb`. 25 retries: about 20 days.
    """
    count = attempt - 1
    return float(count**4 + 15 + rng.integers(10 * (count + 1)))


def river(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """attempt⁴ seconds, give or take 10 %.

    Source: riverqueue/river, the default retry policy. 25 attempts: about 20 days.
    """
    return float(attempt**4 * rng.uniform(0.9, 1.1))


def oban(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """15 + 2^attempt seconds, and up to 10 % more.

    Source: oban `lib/oban/worker.ex`, `lib/oban/backoff.ex`; 20 attempts.
    """
    return float(math.floor((15 + 2 ** min(attempt, 20)) * (1 + rng.uniform(0, 0.1))))


def graphile(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """e^attempt seconds, with attempt 10 at most: no jitter.

    Source: graphile/worker; 25 attempts.
    """
    return math.exp(min(attempt, 10))


def dramatiq(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """15 · 2^(attempt-1) seconds times U(1, 2); above seven days, U(0.5, 1) of seven days.

    Source: dramatiq `middleware/retries.py`, `common.py`; 20 retries.
    """
    delay = 15.0 * 2 ** min(attempt - 1, 30) * rng.uniform(1, 2)
    return float(delay if delay <= 7 * DAY else 7 * DAY * rng.uniform(0.5, 1))


def stamina(attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG001
    """0.1 · 2^(attempt-1) seconds plus U(0, 1), 5 at most.

    Source: hynek/stamina; 10 attempts, or 45 seconds.
    """
    return float(min(5.0, 0.1 * 2 ** min(attempt - 1, 10) + rng.uniform(0, 1)))


@dataclass(frozen=True)
class CeleryAutoretry:
    """A whole number of seconds from 0 to factor · 2^(attempt-1), 600 at most: full jitter.

    Source: celery `celery/app/autoretry.py`, `celery/utils/time.py`; 3 retries.
    """

    factor: float = 1.0
    most: float = 600.0

    def __post_init__(self) -> None:
        checks.positive("factor", self.factor)
        checks.positive("most", self.most, "seconds")

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return randint[0, min(most, factor * 2 ** (attempt - 1))]."""
        window = int(min(self.most, self.factor * 2 ** min(attempt - 1, 60)))
        return float(rng.integers(window + 1))


@dataclass(frozen=True)
class BullMQExponential:
    """2^(attempt-1) · delay seconds; with `jitter` j from 0 to 1, that share of it is at random.

    Source: bullmq `src/classes/backoffs.ts`. The job says how many attempts; no cap.
    """

    delay: float
    jitter: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative("delay", self.delay, "seconds")
        checks.probability("jitter", self.jitter)

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return x (1 - j) + U(0, x j), where x is the delay without jitter."""
        longest = 2 ** (attempt - 1) * self.delay
        return float(longest * (1 - self.jitter) + rng.uniform(0, longest * self.jitter))


@dataclass(frozen=True)
class PgBoss:
    """delay · 2^attempt seconds times U(0.5, 1), with attempt 16 at most.

    Source: pg-boss `src/plans.ts`; the job says how many retries, 2 unless told otherwise.
    """

    delay: float = 1.0
    most: float = math.inf

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return min(most, max(delay, 1) * 2 ** min(16, attempt) * U(0.5, 1))."""
        window = max(self.delay, 1) * 2 ** min(16, attempt)
        return float(min(self.most, window * rng.uniform(0.5, 1)))


@dataclass(frozen=True)
class Procrastinate:
    """wait + linear · (attempt-1) + exponential^attempt seconds: no jitter.

    Source: procrastinate `procrastinate/retry.py`; exponential 0 leaves the last part out.
    """

    wait: float = 0.0
    linear: float = 0.0
    exponential: float = 0.0

    def __call__(self, attempt: int, previous: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """Return the sum of the three parts."""
        return float(self.wait + self.linear * (attempt - 1) + self.exponential**attempt)


LIMITS: dict[str, tuple[Backoff, int]] = {
    "sidekiq": (sidekiq, 26),
    "river": (river, 25),
    "oban": (oban, 20),
    "graphile": (graphile, 25),
    "dramatiq": (dramatiq, 21),
    "stamina": (stamina, 10),
    "celery": (CeleryAutoretry(), 4),
    "pg-boss": (PgBoss(), 3),
}
"""Each system's rule by name, and how often it runs a job that always fails, by default."""


def seconds_to_give_up(rule: Backoff, runs: int, *, seed: int = 0, samples: int = 200) -> float:
    """Return the mean seconds that a job waits between its `runs` runs before it is given up."""
    checks.whole("runs", runs, 1)
    rng = np.random.Generator(np.random.PCG64(seed))
    total = 0.0
    for _ in range(samples):
        previous = 0.0
        for attempt in range(1, runs):
            previous = rule(attempt, previous, rng)
            total += previous
    return total / samples
