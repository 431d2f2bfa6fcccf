"""Waits in a queue against mathematics, in two steps.

Job by job, the model's waits are those of a queue that is worked out from the same arrivals and
work, without a broker or a worker. Over many more jobs, with the same random numbers as runs of the
model have, that queue's mean wait is the one of theory.
"""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np
import pytest
from numpy.testing import assert_allclose
from runs import scenario
from test_against_theory import REPLICATIONS, assert_agree

import simqueue as sq
from simqueue import theory
from simqueue.intervals import interval
from simqueue.model.randomness import Streams
from simqueue.simulation import _work_seconds

JOBS = 5_000
"""Of a run of the model."""
WARMUP = 50
"""Seconds of it: enough to see that figures leave them out."""


def drawn(what: sq.Scenario, seed: int, attempts: int = 1) -> tuple[np.ndarray, list[np.ndarray]]:
    """When the jobs of this run arrive, and how long each attempt at them takes, in seconds."""
    streams = Streams(seed, what.jobs)
    arrivals = what.arrivals.times(streams.per_job("arrivals"))
    work = streams.stream("work", _work_seconds(what.work))
    first = 1 if what.work_per == "attempt" else 0
    return arrivals, [
        np.array([work.draw(job, first + attempt) for job in range(what.jobs)])
        for attempt in range(attempts)
    ]


# M/M/c


QUEUES = {
    (1, 0.5): (50_000, 0.05),
    (2, 0.5): (50_000, 0.05),
    (10, 0.5): (300_000, 0.05),
    (1, 0.8): (150_000, 0.05),
    (2, 0.8): (150_000, 0.05),
    (10, 0.8): (300_000, 0.05),
    (1, 0.95): (300_000, 0.1),
    (2, 0.95): (300_000, 0.1),
    (10, 0.95): (300_000, 0.1),
}
"""Workers, and the share of time for which each is busy: jobs of a run, for the error to catch."""


def mmc(servers: int, load: float, jobs: int) -> sq.Scenario:
    """Poisson arrivals, exponential work of 1 s on average, and so many workers."""
    rate = load * servers
    return scenario(
        sq.Exponential(mean=1),
        workers=servers,
        arrivals=sq.Poisson(rate),
        jobs=jobs,
        lease=None,
        warmup={0.5: 200, 0.8: 1_000, 0.95: 8_000}[load] / rate,
    )


def first_come_first_served(arrivals, work, servers):
    """Each job's wait for the server that is free first (Kiefer and Wolfowitz, 1955)."""
    free = [0.0] * servers
    waits = []
    for arrival, seconds in zip(arrivals.tolist(), work.tolist(), strict=True):
        start = max(arrival, free[0])
        waits.append(start - arrival)
        heapq.heapreplace(free, start + seconds)
    return np.array(waits)


@pytest.mark.parametrize(("servers", "load"), list(QUEUES))
def test_each_job_waits_for_the_worker_that_is_free_first(servers, load):
    """In the order of their arrival."""
    what = mmc(servers, load, JOBS).replace({"warmup": WARMUP})
    arrivals, [work] = drawn(what, seed=3)
    result = sq.simulate(what, seed=3)
    expected = first_come_first_served(arrivals, work, servers)
    assert_allclose(result.jobs.published, arrivals, rtol=0, atol=1e-9)
    assert_allclose(result.deliveries.started - arrivals, expected, rtol=0, atol=1e-6)
    after_warmup = expected[arrivals >= WARMUP]
    assert result.figures["wait_mean"] == pytest.approx(after_warmup.mean())
    assert (after_warmup > 0).mean() > 0.02


@pytest.mark.parametrize(("servers", "load"), list(QUEUES))
def test_waits_are_those_of_the_mmc_queue(servers, load):
    """Erlang's mean wait, once the queue is as long as it will be."""
    jobs, tolerance = QUEUES[servers, load]
    what = mmc(servers, load, jobs)
    means = []
    for seed in range(REPLICATIONS):
        arrivals, [work] = drawn(what, seed)
        waits = first_come_first_served(arrivals, work, servers)
        means.append(waits[arrivals >= what.warmup].mean())
    expected = theory.mmc_wait(what.arrivals.rate, 1, servers)
    assert_agree(interval(means, 0.999), expected, tolerance)


# Feedback


def failing(seed: int, jobs: int) -> tuple[sq.Scenario, list[int]]:
    """One worker, work that fails with a chance of 1/4; and how often each job fails."""
    failures = (np.random.default_rng(seed).geometric(1 - 0.25, jobs) - 1).tolist()

    async def fails_at_first(job, ctx):
        await ctx.work()
        if ctx.attempt <= failures[job.id]:
            raise sq.Retry("failed")
        await ctx.payments.charge(job.customer, job.amount)

    what = scenario(
        sq.Exponential(1), work_per="attempt", handler=fails_at_first, lease=None,
        arrivals=sq.Poisson(0.6), jobs=jobs, warmup=500,
    )  # fmt: skip
    return what, failures


def back_to_the_tail(arrivals, work, failures):
    """When each job of a single server is done that starts again, at the tail, as it fails."""
    waiting, to_come = deque(), deque(range(len(arrivals)))
    done, now = np.empty(len(arrivals)), 0.0
    while waiting or to_come:
        if not waiting:
            now = max(now, arrivals[to_come[0]])
        while to_come and arrivals[to_come[0]] <= now:
            waiting.append((to_come.popleft(), 0))
        job, attempt = waiting.popleft()
        end = now + work[attempt][job]
        while to_come and arrivals[to_come[0]] <= end:
            waiting.append((to_come.popleft(), 0))
        now = end
        if attempt < failures[job]:
            waiting.append((job, attempt + 1))
        else:
            done[job] = end
    return done


def test_each_failed_job_goes_to_the_tail():
    """And is done when a queue that knows only this says."""
    what, failures = failing(3, JOBS)
    what = what.replace({"warmup": WARMUP})
    arrivals, work = drawn(what, 3, attempts=max(failures) + 1)
    result = sq.simulate(what, 3)
    done = back_to_the_tail(arrivals, work, failures)
    assert_allclose(result.effects.sort_values("job").time, done, rtol=0, atol=1e-6)
    sojourn = (done - arrivals)[arrivals >= WARMUP].mean()
    assert result.figures["time_to_effect_mean"] == pytest.approx(sojourn)


def test_feedback_of_failures_loads_the_queue():
    """M/M/1 with failure chance 1/4 and requeue at the tail: 6.667 s per job, 1.333 attempts."""
    sojourns, attempts = [], []
    for seed in range(REPLICATIONS):
        what, failures = failing(seed, 100_000)
        arrivals, work = drawn(what, seed, attempts=max(failures) + 1)
        done = back_to_the_tail(arrivals.tolist(), [each.tolist() for each in work], failures)
        sojourns.append((done - arrivals)[arrivals >= what.warmup].mean())
        attempts.append(1 + np.mean(failures))
    assert_agree(interval(attempts, 0.999), 4 / 3, 0.03)
    assert theory.retry_sojourn(0.6, 1, 0.25) == pytest.approx(6.667, abs=1e-3)
    assert_agree(interval(sojourns, 0.999), 20 / 3, 0.03)
