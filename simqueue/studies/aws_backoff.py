"""The AWS backoff study: clients that all want to write one row at the same moment.

Source of the model and its parameters: the simulator behind Marc Brooker, *Exponential Backoff and
Jitter* (AWS Architecture Blog, 2015), github.com/aws-samples/aws-arch-backoff-simulator. Times are
in milliseconds, as there.

Each client reads the row's version and writes with it. A write succeeds only if the version is
still the same; otherwise the client waits by its rule, and begins again. The server itself takes no
time at all, however many ask at once: that is what makes "no backoff" look good. With a `service`
time it has to queue, as any real one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from simqueue import backoff, checks
from simqueue.intervals import Interval, interval
from simqueue.studies.draws import endless, generators

HOP_MEAN, HOP_SPREAD = 10.0, 2.0
"""One way through the network takes |Normal(mean, standard deviation)|."""

RULES: dict[str, backoff.Backoff] = {
    "exponential": backoff.Exponential(base=10, cap=2000),
    "decorrelated jitter": backoff.DecorrelatedJitter(base=5, cap=2000),
    "equal jitter": backoff.EqualJitter(base=10, cap=2000),
    "full jitter": backoff.FullJitter(base=10, cap=2000),
    "none": backoff.NoDelay(),
}
"""With a base of 5 that is doubled before it is first used, the first window is 10."""


@dataclass(frozen=True)
class Outcome:
    """One trial: when the last client had its answer (ms), and how many writes were tried."""

    time: float
    calls: int


@dataclass(frozen=True)
class Measured:
    """Means over all trials with their intervals, and the `spread` of time (standard deviation)."""

    time: Interval
    calls: Interval
    spread: float


def run(rule: str, clients: int, rng: np.random.Generator, *, service: float = 0.0) -> Outcome:
    """Let `clients` write one row, all starting at 0, with waits by `rule`, a name of `RULES`.

    `service` is the time (ms) that the server needs for each read and each write, one after the
    other; 0 as in the study. Raises ValueError for an unknown rule or an impossible number.
    """
    checks.one_of("rule", rule, RULES)
    checks.whole("clients", clients, 1)
    checks.non_negative("service", service, "milliseconds")
    env = simpy.Environment()
    row = _Row(env, service)
    hops = endless(lambda count: np.abs(rng.normal(HOP_MEAN, HOP_SPREAD, count)))
    for _ in range(clients):
        env.process(_client(env, row, lambda: next(hops), RULES[rule], rng))
    env.run()
    return Outcome(float(env.now), row.calls)


class _Row:
    """The server: a row with a version, which changes with each successful write."""

    def __init__(self, env: simpy.Environment, service: float) -> None:
        self.version = 0
        self.calls = 0
        self._env = env
        self._service = service
        self._turn = simpy.Resource(env, 1)

    def wait(self) -> Generator[Any, Any, None]:
        """Wait until the server has done what came before, and this."""
        if self._service:
            with self._turn.request() as turn:
                yield turn
                yield self._env.timeout(self._service)

    def write(self, version: int) -> bool:
        """Write if the row is still as it was read; whether it was."""
        self.calls += 1
        succeeds = version == self.version
        self.version += succeeds
        return succeeds


def _client(
    env: simpy.Environment,
    row: _Row,
    hop: Callable[[], float],
    rule: backoff.Backoff,
    rng: np.random.Generator,
) -> Generator[Any, Any, None]:
    attempt, wait = 0, 0.0
    yield env.timeout(hop())
    while True:
        yield from row.wait()
        version = row.version
        yield env.timeout(hop() + hop())  # the answer to the read, and the write's way there
        yield from row.wait()
        if row.write(version):
            yield env.timeout(hop())
            return
        attempt += 1
        wait = rule(attempt, wait, rng)
        yield env.timeout(hop() + wait + hop())


def measure(
    rule: str,
    clients: int,
    trials: int,
    seed: int = 1,
    *,
    service: float = 0.0,
    confidence: float = 0.95,
) -> Measured:
    """Repeat `run` with independent draws, and return means with intervals of that confidence."""
    outcomes = [run(rule, clients, rng, service=service) for rng in generators(seed, trials)]
    times = [each.time for each in outcomes]
    calls = [float(each.calls) for each in outcomes]
    spread = float(np.std(times, ddof=1)) if trials > 1 else float("nan")
    return Measured(interval(times, confidence), interval(calls, confidence), spread)
