"""Scenarios: checked when they are made, varied by dotted names."""

from __future__ import annotations

import functools
import pickle

import pytest
from runs import scenario

import simqueue as sq


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sq.Crash(mean_time_between=0), "crash.mean_time_between must be a number of"),
        (lambda: sq.Crash(restart_after=-1), "crash.restart_after must be a number of seconds"),
        (lambda: sq.Crash(at=[5]), "crash.at must be pairs of \\(worker, seconds\\), not \\[5\\]"),
        (lambda: sq.Crash(at=[(0, 5)]), "crash.at: the worker must be a whole number of 1"),
        (lambda: sq.Crash(at=[(1, -5)]), "crash.at: the time must be a number of seconds of 0"),
        (lambda: sq.Workers(count=0), "workers.count must be a whole number of 1 or more, not 0"),
        (lambda: sq.Workers(count=2.5), "workers.count must be a whole number of 1 or more"),
        (lambda: sq.Workers(count=True), "workers.count must be a whole number"),
        (lambda: sq.Workers(concurrency=0), "workers.concurrency must be a whole number of 1"),
        (lambda: sq.Workers(prefetch=0), "workers.prefetch must be a whole number of 1 or more"),
        (lambda: sq.Workers(crash=5), "workers.crash must be a Crash or None, not 5"),
        (
            lambda: sq.Workers(count=2, crash=sq.Crash(at=[(3, 1)])),
            "crash.at: the worker must be a whole number from 1 to 2, not 3",
        ),
        (lambda: sq.Network(ack_lost=1.5), "network.ack_lost must be a number from 0 to 1"),
        (lambda: scenario(jobs=0), "jobs must be a whole number of 1 or more, not 0"),
        (lambda: scenario(jobs=None), "jobs must be a whole number of 1 or more with these"),
        (
            lambda: scenario(arrivals=sq.Times([1, 2]), jobs=3),
            "jobs must be a whole number from 1 to 2, not 3",
        ),
        (
            lambda: scenario(sq.Recorded([1, 2]), jobs=3),
            "work must be a recording of at least 3 durations",
        ),
        (lambda: scenario(arrivals=5), "arrivals must be arrivals such as"),
        (lambda: sq.Scenario(**parts(work=5)), "work must be a distribution such as"),
        (lambda: sq.Scenario(**parts(broker="sqs")), "broker must be a broker such as"),
        (lambda: sq.Scenario(**parts(workers=5)), "workers must be Workers\\(...\\), not 5"),
        (lambda: scenario(network=0.5), "network must be Network\\(...\\), not 0.5"),
        (lambda: scenario(handler="naive"), "handler must be an async function of"),
        (lambda: scenario(handler=plain_function), "handler must be an async function"),
        (lambda: scenario(handler=of_one), "handler must be an async function of \\(job, ctx\\)"),
        (lambda: scenario(work_per="day"), "work_per must be one of 'job', 'attempt', not 'day'"),
        (lambda: scenario(horizon=0), "horizon must be a number of seconds above 0, not 0"),
        (lambda: scenario(horizon=float("nan")), "horizon must be a number of seconds above 0"),
        (lambda: scenario(warmup=-1), "warmup must be a number of seconds of 0 or more, not -1"),
        (lambda: sq.brokers.generic(lease=0), "broker.lease must be a number of seconds above 0"),
        (lambda: sq.brokers.generic(lease="30"), "broker.lease must be a number of seconds above"),
        (lambda: sq.brokers.generic(late_ack="maybe"), "broker.late_ack must be one of 'deletes'"),
        (lambda: sq.brokers.generic(max_receives=0), "broker.max_receives must be a whole number"),
        (lambda: sq.brokers.generic(exhaustion="no"), "broker.exhaustion must be one of"),
        (lambda: sq.brokers.generic(retry_delay=-1), "broker.retry_delay must be a number of"),
        (lambda: sq.brokers.generic(returns_to="top"), "broker.returns_to must be one of 'back'"),
        (
            lambda: sq.brokers.sqs(visibility_timeout=43_201),
            "broker.visibility_timeout must be a number of seconds from 0 to 43200, not 43201",
        ),
        (lambda: sq.brokers.sqs(visibility_timeout=0), "broker.visibility_timeout must be"),
        (
            lambda: sq.brokers.sqs(max_receive_count=1_001),
            "broker.max_receive_count must be a whole number from 1 to 1000, not 1001",
        ),
    ],
)
def test_a_wrong_parameter_gets_its_name_its_value_and_what_is_allowed(make, sentence):
    """One clear sentence, when the part is made."""
    with pytest.raises(ValueError, match=sentence):
        make()


def plain_function(job, ctx):
    """A handler that can't wait."""


async def of_one(job):
    """A handler without ctx."""


def parts(**changes):
    """The parts of a scenario that is right, but for `changes`."""
    right = {
        "arrivals": sq.AllAtOnce(),
        "jobs": 1,
        "work": sq.Fixed(1),
        "broker": sq.brokers.sqs(),
        "handler": sq.handlers.naive,
    }
    return right | changes


def test_replace_reaches_any_depth_and_leaves_the_original_alone():
    """Dotted names, several at once; the old scenario is as it was."""
    old = scenario(crash=sq.Crash(mean_time_between=100), workers=3)
    new = old.replace(
        {"broker.lease": 5, "workers.count": 7, "workers.crash.restart_after": 2, "jobs": 9}
    )
    assert (new.broker.lease, new.workers.count, new.jobs) == (5, 7, 9)
    assert new.workers.crash == sq.Crash(mean_time_between=100, restart_after=2)
    assert (old.broker.lease, old.workers.count, old.jobs) == (30, 3, 1)


def test_replace_changes_a_part_and_something_inside_it():
    """Both in one go, the whole part first."""
    new = scenario().replace({"broker.max_receive_count": 3, "broker": sq.brokers.sqs()})
    assert new.broker == sq.brokers.sqs(max_receive_count=3)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("leas", r"must be one of arrivals, work, broker"),
        ("broker.timeout", "must be one of broker.lease, broker.lease_from"),
        ("jobs.number", "must be one that jobs has, not 'jobs.number'"),
        ("workers.crash.at", "must be one that workers.crash has"),
    ],
)
def test_replace_names_what_it_does_not_know(name, sentence):
    """And what there is instead."""
    with pytest.raises(ValueError, match=sentence):
        scenario().replace({name: 1})


def test_replace_checks_the_new_value():
    """As the constructor would."""
    with pytest.raises(ValueError, match=r"broker.lease must be a number of seconds above 0"):
        scenario().replace({"broker.lease": -1})


def test_a_number_of_jobs_that_the_arrivals_fix_can_be_left_out():
    """Given times say how many; fewer may be asked for."""
    assert scenario(arrivals=sq.Times([1, 2, 3]), jobs=None).jobs == 3
    assert scenario(arrivals=sq.Times([1, 2, 3]), jobs=2).jobs == 2


def test_a_partial_of_a_handler_is_a_handler():
    """As long as it takes (job, ctx)."""

    async def with_option(job, ctx, *, option):
        await ctx.work()

    handler = functools.partial(with_option, option=1)
    assert sq.simulate(scenario(handler=handler)).jobs.outcome[0] == "acked"


def test_scenarios_are_equal_by_value_and_survive_pickling():
    """So they can be sent to another process, and compared."""
    what = scenario(sq.LogNormal(median=10, p99=90), workers=4, lease=20)
    assert pickle.loads(pickle.dumps(what)) == what
    assert what != what.replace({"broker.lease": 21})
