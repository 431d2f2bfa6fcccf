"""Timeouts and retries that bring a server down, and may keep it down: the study of collapse.

Source of the model and its parameters: the simulator behind Marc Brooker's posts on metastable
failures, github.com/mbrooker/simulator_example, `simple_collapse_sim`. Times are in seconds.

A request takes 1 s and 0.01 s more for each one that the server works on at the time, itself
included. A client gives up waiting after 3 s, which the server does not hear of, and sends the
request again, three times in all. Nothing ends before its 80 s are over.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from simqueue import checks
from simqueue.intervals import two_groups
from simqueue.studies.draws import endless, generators

END = 80
PATIENCE, TRIES = 3.0, 3
SERVICE, SLOWER_BY, WAY = 1.0, 0.01, 0.1
FIRST_BACKOFF = 20.0
"""With backoff, the first retry waits U(0, 20) s and the second U(0, 40) s."""


def ramp(time: float) -> float:
    """Requests per second: 40 at first, 80 at 25 s, none from 75 s on."""
    return 80 - 1.6 * abs(time - 25)


def spike(time: float) -> float:
    """Requests per second: 40, and 80 from 20 to 25 s."""
    return 80.0 if 20 <= time <= 25 else 40.0


LOADS: dict[str, Callable[[float], float]] = {"ramp": ramp, "spike": spike}


@dataclass(frozen=True)
class Outcome:
    """One run, in each of its 80 seconds: requests begun, sent, and answered in time."""

    started: Sequence[int]
    sent: Sequence[int]
    succeeded: Sequence[int]

    @property
    def success(self) -> float:
        """The share of all requests that were answered in time by the end."""
        return sum(self.succeeded) / sum(self.started)

    @property
    def goodput_late(self) -> float:
        """Requests answered in time per second, from 60 s on; near 40 where it has recovered."""
        return sum(self.succeeded[60:]) / (END - 60)


def run(load: str, rng: np.random.Generator, *, backoff: bool) -> Outcome:
    """Run the study once, under a `load` ("ramp" or "spike"), with or without backoff and jitter.

    Raises ValueError for another load.
    """
    checks.one_of("load", load, LOADS)
    env = simpy.Environment()
    started, sent, succeeded = [0] * END, [0] * END, [0] * END
    ways = endless(lambda count: rng.exponential(WAY, count))
    units = endless(lambda count: rng.exponential(1.0, count))
    concurrent = 0

    def server(answer: simpy.Event) -> Generator[Any, Any, None]:
        nonlocal concurrent
        yield env.timeout(next(ways))
        concurrent += 1
        yield env.timeout(SERVICE + SLOWER_BY * concurrent)
        concurrent -= 1
        yield env.timeout(next(ways))
        if not answer.triggered:
            answer.succeed(True)

    def give_up(deadline: Any) -> None:
        if not deadline.value.triggered:
            deadline.value.succeed(False)

    def client() -> Generator[Any, Any, None]:
        started[int(env.now)] += 1
        for attempt in range(TRIES):
            if attempt and backoff:
                yield env.timeout(rng.random() * FIRST_BACKOFF * 2 ** (attempt - 1))
            sent[int(env.now)] += 1
            answer = env.event()
            env.process(server(answer))
            env.timeout(PATIENCE, answer).callbacks.append(give_up)
            if (yield answer):
                succeeded[int(env.now)] += 1
                return

    def clients() -> Generator[Any, Any, None]:
        while (rate := LOADS[load](env.now)) > 0:
            env.process(client())
            yield env.timeout(next(units) / rate)

    env.process(clients())
    env.run(until=END)
    return Outcome(started, sent, succeeded)


def outcomes(load: str, trials: int, seed: int = 1, *, backoff: bool) -> list[Outcome]:
    """Repeat `run` with independent draws."""
    return [run(load, rng, backoff=backoff) for rng in generators(seed, trials)]


def groups(runs: Sequence[Outcome]) -> tuple[list[float], list[float]] | None:
    """The late goodput of all runs as two groups, those that stay down and those that recover.

    None where they do not fall into two: there, and only there, one mean describes them.
    """
    return two_groups([each.goodput_late for each in runs])
