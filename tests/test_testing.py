"""`simqueue.testing`, and the one clear sentence for each thing that a handler may not do."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

import simqueue as sq
from simqueue import handlers
from simqueue.model import guard
from simqueue.testing import assert_exactly_once, assert_keeps


async def keyed(job, ctx):
    """Charge under the job's key: no fault hurts."""
    await ctx.payments.charge(job.customer, job.amount, key=job.key)


def test_a_good_handler_passes():
    """The report is returned, for those who want to see more."""
    report = assert_exactly_once(keyed, faults_at_once=1)
    assert report.passed
    assert report.plans > 10


def test_a_bad_handler_fails_with_the_shortest_timeline():
    """As text, in the message of the AssertionError."""
    with pytest.raises(AssertionError) as caught:
        assert_exactly_once(handlers.check_then_act, faults_at_once=1)
    said = str(caught.value)
    assert said.startswith("check_then_act breaks: ")
    assert "Fault: the answer of payments.charge in delivery 1 is lost." in said
    assert "EFFECT: charge, for the 2nd time!" in said


def test_a_handler_that_does_nothing_does_not_pass():
    """No effect is not exactly one."""

    async def stub(job, ctx):
        pass

    with pytest.raises(AssertionError, match="no effect at all, even without a fault"):
        assert_exactly_once(stub, faults_at_once=1)


def test_a_promise_of_ones_own():
    """By function or by name; only these are looked at."""

    def settled_within_a_minute(result):
        return bool(result.jobs.settled[0] < 60)

    assert_keeps(handlers.naive, "settles", faults_at_once=1)
    with pytest.raises(AssertionError, match="settled within a minute: broken"):
        assert_keeps(handlers.naive, settled_within_a_minute, faults_at_once=1)


def test_at_least_one_promise():
    """To assert nothing is a mistake."""
    with pytest.raises(ValueError, match="promises must be one or more"):
        assert_keeps(handlers.naive)


# What handlers may not do.


def sentence(handler: object) -> str:
    """What the HandlerError about this handler says."""
    with pytest.raises(sq.HandlerError) as caught:
        assert_exactly_once(handler, faults_at_once=1)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_a_handler_that_never_awaits_is_fine():
    """It returns, and that is an ack."""

    async def returns(job, ctx):
        return

    assert_keeps(returns, "settles", faults_at_once=1)


def test_asyncio_sleep():
    """Simulated time has no event loop."""

    async def sleeps(job, ctx):
        await asyncio.sleep(1)

    assert sentence(sleeps).startswith("The handler uses asyncio")
    assert "ctx.sleep(seconds)" in sentence(sleeps)


def test_asyncio_sleep_of_zero():
    """It yields None."""

    async def sleeps(job, ctx):
        await asyncio.sleep(0)

    assert "this one awaited None, as asyncio.sleep(0) does" in sentence(sleeps)


def test_something_foreign():
    """An awaitable that nobody here knows."""

    class Foreign:
        def __await__(self):
            yield "something"

    async def waits(job, ctx):
        await Foreign()

    assert sentence(waits) == (
        "A handler may await only what ctx gives it; this one awaited 'something'."
    )


def test_tasks():
    """They would outlive the delivery."""

    async def starts_a_task(job, ctx):
        asyncio.create_task(ctx.payments.charge(job.customer, job.amount))  # noqa: RUF006

    assert sentence(starts_a_task) == guard.TASKS


@pytest.mark.parametrize("tool", ["TaskGroup", "timeout"])
def test_what_else_needs_a_task_around_it(tool):
    """The words of asyncio, and what to do instead."""

    async def uses_it(job, ctx):
        arguments = (1,) if tool == "timeout" else ()
        async with getattr(asyncio, tool)(*arguments):
            await ctx.work()

    assert sentence(uses_it).startswith("The handler uses asyncio")


def test_a_handler_that_swallows_the_complaint():
    """It is said all the same, once the run is over."""

    async def swallows(job, ctx):
        with contextlib.suppress(Exception):
            await asyncio.sleep(1)
        await ctx.payments.charge(job.customer, job.amount)

    assert sentence(swallows).startswith("The handler uses asyncio")


def test_an_event_loop_that_runs_already_is_left_alone():
    """In a notebook a loop runs around the cell: the handler must not get hold of it."""

    async def starts_a_task(job, ctx):
        asyncio.create_task(ctx.work())  # noqa: RUF006

    async def cell():
        loop = asyncio.get_running_loop()
        said = sentence(starts_a_task)
        assert asyncio.get_running_loop() is loop
        assert len(asyncio.all_tasks()) == 1
        return said

    assert asyncio.run(cell()) == guard.TASKS


def test_a_loop_that_awaits_nothing(monkeypatch):
    """It is stopped after a while, and one sentence says so."""
    monkeypatch.setattr(guard, "SECONDS_BETWEEN_LOOKS", 0.02)

    async def spins(job, ctx):
        while True:
            pass

    assert sentence(spins).startswith("The handler loops for ever without awaiting anything")


def test_a_loop_that_swallows_everything(monkeypatch):
    """Neither a failed call nor the end of the run reaches it by an Exception."""
    monkeypatch.setattr(guard, "SECONDS_BETWEEN_LOOKS", 0.02)

    async def stubborn(job, ctx):
        while True:
            try:
                raise sq.Retry
            except Exception:
                continue

    assert sentence(stubborn).startswith("The handler loops for ever without awaiting anything")


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_a_loop_with_awaits(seconds):
    """Each delivery has a budget of steps."""

    async def polls(job, ctx):
        while True:
            await ctx.sleep(seconds)

    assert sentence(polls) == (
        "The handler loops for ever: delivery 1 has taken more than 10,000 steps, "
        "the last of them sleep."
    )


def test_a_loop_around_a_call_that_fails():
    """Each try is a step too."""

    async def insists(job, ctx):
        while True:
            try:
                await ctx.payments.charge("somebody", 1, key="the same for all")
                await ctx.payments.charge("somebody else", 2, key="the same for all")
            except Exception:
                continue

    assert "has taken more than 10,000 steps" in sentence(insists)


def test_exit():
    """It ends the attempt to explore, not the program."""

    async def exits(job, ctx):
        raise SystemExit(3)

    assert sentence(exits) == "The handler called exit(3), which would end the whole program."


def not_async(job, ctx):
    """No coroutine."""


async def a_generator(job, ctx):
    """No coroutine either."""
    yield


@pytest.mark.parametrize("handler", [not_async, a_generator])
def test_no_async_function(handler):
    """Before anything runs."""
    with pytest.raises(ValueError, match="handler must be an async function of"):
        assert_exactly_once(handler)
