"""`ctx.redis`: a few commands with Redis' meaning, on simulated time."""

from __future__ import annotations

from typing import Any

import pytest
from runs import run

import simqueue as sq
from simqueue.context import RedisError
from simqueue.exploration import explore
from simqueue.services import Redis


def answers(*steps: Any, **options: Any) -> list[Any]:
    """What the commands answer, one after the other: (name, arguments, keywords) or seconds."""
    found: list[Any] = []

    async def handler(job, ctx):
        found.clear()
        for step in steps:
            if isinstance(step, int | float):
                await ctx.sleep(step)
                continue
            name, *arguments = step
            keywords = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
            try:
                found.append(await getattr(ctx.redis, name)(*arguments, **keywords))
            except RedisError as error:
                found.append(str(error))

    run(1, handler=handler, lease=10_000, **options)
    return found


def test_get_and_set():
    """Values are text; a key that is not there is None."""
    assert answers(("get", "a"), ("set", "a", 5), ("get", "a")) == [None, True, "5"]


def test_set_if_not_there():
    """SET NX: the first one wins."""
    assert answers(("set", "a", 1, {"nx": True}), ("set", "a", 2, {"nx": True}), ("get", "a")) == [
        True,
        None,
        "1",
    ]


def test_set_if_there():
    """SET XX: only over something."""
    assert answers(
        ("set", "a", 1, {"xx": True}), ("set", "a", 1), ("set", "a", 2, {"xx": True}), ("get", "a")
    ) == [None, True, True, "2"]


def test_set_and_get():
    """SET GET: the value before, also where NX forbids the set."""
    assert answers(
        ("set", "a", 1, {"get": True}),
        ("set", "a", 2, {"get": True}),
        ("set", "a", 3, {"get": True, "nx": True}),
        ("get", "a"),
    ) == [None, "1", "2", "2"]


@pytest.mark.parametrize("option", [{"ex": 10}, {"px": 10_000}])
def test_a_key_ends_after_its_last_millisecond(option):
    """In the millisecond of its end it is still there, in the next one it is not."""
    assert answers(
        ("set", "a", 1, option), 10.0, ("get", "a"), 0.0009, ("get", "a"), 0.0001, ("get", "a")
    ) == [True, "1", "1", None]


def test_set_nx_wins_after_the_end():
    """What a lock with a time to live is about."""
    assert answers(
        ("set", "a", 1, {"nx": True, "ex": 10}), 9, ("set", "a", 2, {"nx": True, "ex": 10}),
        1.001, ("set", "a", 3, {"nx": True, "ex": 10}),
    ) == [True, None, True]  # fmt: skip


def test_a_plain_set_takes_the_time_to_live_away():
    """KEEPTTL keeps it."""
    assert answers(
        ("set", "a", 1, {"ex": 10}), 4, ("set", "a", 2, {"keepttl": True}), ("ttl", "a"),
        ("set", "a", 3), ("ttl", "a"),
    ) == [True, True, 6, True, -1]  # fmt: skip


def test_ttl():
    """Rounded to the nearest second; -2 without the key, -1 without a time to live."""
    assert answers(
        ("ttl", "a"), ("pttl", "a"), ("set", "a", 1, {"px": 2_700}), ("ttl", "a"), ("pttl", "a"),
        0.3, ("ttl", "a"), ("pttl", "a"), ("persist", "a"), ("ttl", "a"), ("persist", "a"),
    ) == [-2, -2, True, 3, 2_700, 2, 2_400, True, -1, False]  # fmt: skip


def test_expire():
    """From now on; at once for 0 or less; False without the key."""
    assert answers(
        ("expire", "a", 5), ("set", "a", 1), ("expire", "a", 5), 5, ("get", "a"), 0.001,
        ("get", "a"), ("set", "a", 1), ("expire", "a", 0), ("get", "a"),
    ) == [False, True, True, "1", None, True, True, None]  # fmt: skip


def test_delete_and_exists():
    """How many there were; EXISTS counts a key that is named twice twice."""
    assert answers(
        ("set", "a", 1), ("set", "b", 1), ("exists", "a", "a", "c"), ("delete", "a", "a", "b", "c"),
        ("exists", "a", "b"),
    ) == [True, True, 2, 2, 0]  # fmt: skip


def test_compare_and_delete():
    """Only whoever has the value can delete; an expired key has none."""
    assert answers(
        ("set", "a", "me", {"ex": 1}), ("delete_if_equals", "a", "you"),
        ("expire_if_equals", "a", "you", 9), ("expire_if_equals", "a", "me", 3), ("ttl", "a"),
        ("delete_if_equals", "a", "me"), ("get", "a"), ("set", "a", "me", {"ex": 1}), 2,
        ("delete_if_equals", "a", "me"), ("expire_if_equals", "a", "me", 3),
    ) == [True, False, False, True, 3, True, None, True, False, False]  # fmt: skip


def test_incr():
    """From 0, and it keeps the time to live."""
    assert answers(
        ("incr", "n"), ("incr", "n", 5), ("decr", "n", 2), ("expire", "n", 9), ("incr", "n"),
        ("ttl", "n"), ("set", "n", "x"), ("incr", "n"),
    ) == [
        1, 6, 4, True, 5, 9, True, "ERR value is not an integer or out of range",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nx": True, "xx": True}, "ERR syntax error"),
        ({"ex": 1, "px": 1}, "ERR syntax error"),
        ({"ex": 1, "keepttl": True}, "ERR syntax error"),
        ({"ex": 0}, "ERR invalid expire time in 'set' command"),
        ({"ex": 1.5}, "ERR value is not an integer or out of range"),
    ],
)
def test_what_redis_refuses(options, said):
    """In Redis' own words."""
    assert answers(("set", "a", 1, options)) == [said]


def test_latency():
    """Each command takes its time."""
    times = []

    async def handler(job, ctx):
        await ctx.redis.incr("a")
        times.append(ctx.now)

    run(1, handler=handler, redis=Redis(latency=0.25))
    assert times == [0.25]


async def set_nx(job, ctx, ttl=1_000):
    """Claim by SET NX EX, with one's own token; charge under the provider's key."""
    token = f"{job.key}/{ctx.attempt}"
    if not await ctx.redis.set(job.key, token, nx=True, ex=ttl):
        if await ctx.redis.get(job.key) == "done":
            return
        raise sq.Retry("held by another delivery")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.redis.set(job.key, "done")


def test_exploring_a_claim_by_set_nx():
    """A time to live shorter than the work lets a paused owner charge beside the next one."""
    broker = sq.brokers.generic(lease=30, retry_delay=300, max_receives=12)
    short = explore(set_nx, faults_at_once=1, broker=broker, redis=Redis())
    assert "no duplicate effect" in short.shortest.broken

    async def keyed(job, ctx):
        token = f"{job.key}/{ctx.attempt}"
        if not await ctx.redis.set(job.key, token, nx=True, ex=200):
            raise sq.Retry("held by another delivery")
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount, key=job.key)
        await ctx.redis.delete_if_equals(job.key, token)

    assert explore(keyed, faults_at_once=1, broker=broker).passed
