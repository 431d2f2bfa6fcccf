"""Grader of exercise 01: your figures beside the library's, on runs that you have not seen."""

from functools import cache

import pytest

import simqueue as sq
from simqueue.grading import Submission, check

HURT = sq.Scenario(
    arrivals=sq.Poisson(rate=1.0),
    jobs=150,
    work=sq.LogNormal(median=10, p99=90),
    workers=sq.Workers(count=12, crash=sq.Crash(mean_time_between=120, restart_after=30)),
    broker=sq.brokers.sqs(visibility_timeout=15, max_receive_count=3),
    network=sq.Network(ack_lost=0.05),
    handler=sq.handlers.return_if_locked,
    horizon=170.0,
)
"""Duplicates, losses, and jobs that still wait when the run is cut off."""

RUNS = (
    HURT,
    HURT.replace({"jobs": 120, "broker.max_receive_count": 2}),
    HURT.replace(
        {
            "handler": sq.handlers.naive,
            "arrivals": sq.Poisson(rate=0.4),
            "network.ack_lost": 0.4,
            "horizon": 420.0,
        }
    ),
)


@cache
def run(number: int) -> sq.Result:
    """One of the hidden runs."""
    return sq.simulate(RUNS[number], seed=3)


def tables(number: int) -> tuple[list[dict], list[dict], list[dict]]:
    """The tables of a run, as a submission gets them."""
    result = run(number)
    jobs = result.jobs.reset_index()[["job", "published", "outcome"]]
    deliveries = result.deliveries[["job", "attempt", "worker", "received", "outcome"]]
    effects = result.effects[["job", "time", "effect"]]
    kept = jobs["published"].notna()
    return tuple(table.to_dict("records") for table in (jobs[kept], deliveries, effects))


def equals(submission: Submission, name: str) -> None:
    """Check the figure `name` on each run."""
    for number in range(len(RUNS)):
        found = submission.call("figures", *tables(number))
        check(
            isinstance(found, dict),
            f"figures returned {found!r:.40}, and a dictionary with five figures was asked for.",
        )
        check(name in found, f"The result has no {name!r}.")
        right, given = run(number).figures[name], found[name]
        check(
            isinstance(given, int | float) and abs(given - right) < 1e-9,
            f"{name} of one run is {right:.4f}, and you say {given!r:.20}.",
        )


@pytest.mark.points(2)
def test_duplicate_delivery_rate(submission):
    """The share of jobs that were delivered more than once."""
    equals(submission, "duplicate_delivery_rate")


@pytest.mark.points(2)
def test_duplicate_effect_rate(submission):
    """The share of jobs whose effect was applied more than once."""
    equals(submission, "duplicate_effect_rate")


@pytest.mark.points(2)
def test_extra_effects(submission):
    """Effects beyond the first of each job, per job."""
    equals(submission, "extra_effects")


@pytest.mark.points(2)
def test_lost_rate(submission):
    """The share of jobs without an effect that no queue holds any more."""
    equals(submission, "lost_rate")


@pytest.mark.points(2)
def test_time_to_effect_mean(submission):
    """From publishing to the first effect, over the jobs that had one."""
    equals(submission, "time_to_effect_mean")
