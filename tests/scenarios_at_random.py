"""Whole scenarios drawn at random: every knob, every kind of worker, every fault and service.

Most knobs are off in most scenarios, so that what is on meets only a few others; most times are
small whole numbers, so that things often happen at one instant. Every scenario has a horizon. None
can go round at one instant for ever: what may come back at once has a limit on its receives, and a
worker that dies is away for a while.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from faults_at_random import CHANCES, MOMENTS, SECONDS, crashes, faults, networks, seldom
from hypothesis import strategies as st

import simqueue as sq
from simqueue import backoff

TEAMS = ("plain", "prefetch", "batch", "throttled")
CAUSES = ("receive", "failure", "expiry", "disconnect")

LEASES = st.sampled_from([5, 10, 12.5, 20, 30, 60])


# Handlers that do what none of the strategies does.


async def extending(job: sq.Job, ctx: sq.Context) -> None:
    """Extend the lease half-way."""
    await ctx.work(0.5)
    await ctx.extend(10)
    await ctx.work(0.5)
    await ctx.payments.charge(job.customer, job.amount)


async def failing(job: sq.Job, ctx: sq.Context) -> None:
    """Fail on every third job, and ask for a delay of one's own on some."""
    await ctx.work()
    if job.id % 3 == 0:
        raise sq.Retry("not today", after=10 if job.id % 2 else None)
    await ctx.payments.charge(job.customer, job.amount)


async def fenced(job: sq.Job, ctx: sq.Context) -> None:
    """Write under a lock, guarded by its token."""
    held = await ctx.locks.acquire(job.key, ttl=10)
    if held is None:
        raise sq.Retry("another delivery holds the lock")
    await ctx.work()
    await ctx.database.guarded_write("charge", held.token)
    await held.release()


HANDLERS = (
    sq.handlers.naive,
    sq.handlers.lock,
    functools.partial(sq.handlers.lock, ttl=10),
    sq.handlers.check_then_act,
    sq.handlers.claim,
    functools.partial(sq.handlers.reclaim, stale_after=15),
    functools.partial(sq.handlers.reclaim_with_key, stale_after=15),
    sq.handlers.one_transaction,
    sq.handlers.outbox,
    sq.handlers.insert_only,
    sq.handlers.key_of_the_day,
    functools.partial(sq.handlers.return_if_locked, ttl=10),
    sq.handlers.email_after_done,
    extending,
    failing,
    fenced,
)


# Jobs and workers.


@st.composite
def arrivals(draw: st.DrawFn, jobs: int) -> Any:
    """When `jobs` jobs arrive, often several at once."""
    times = st.lists(MOMENTS, min_size=jobs, max_size=jobs).map(sorted)
    return draw(
        st.just(sq.AllAtOnce())
        | st.sampled_from([0.1, 0.5, 2]).map(sq.Poisson)
        | st.sampled_from([1, 5, 10]).map(lambda gap: sq.EvenlySpaced(interval=gap))
        | times.map(sq.Times)
    )


@st.composite
def work(draw: st.DrawFn, jobs: int) -> sq.Distribution:
    """How long jobs take: whole seconds, or anything."""
    listed = st.lists(st.sampled_from([0, 1, 5, 10, 15, 40]), min_size=jobs, max_size=jobs)
    return draw(
        SECONDS.map(sq.Fixed)
        | listed.map(sq.Recorded)
        | SECONDS.map(lambda mean: sq.Exponential(mean=mean))
        | st.just(sq.Uniform(0.5, 25))
    )


@st.composite
def workers(draw: st.DrawFn, team: str) -> sq.Workers:
    """One to four processes of the kind `team`."""
    count = draw(st.integers(1, 4))
    kinds: dict[str, Any] = {}
    if team == "prefetch":
        kinds = {"prefetch": draw(st.sampled_from([1, 2, 5, math.inf]))}
    elif team == "batch":
        kinds = {
            "batch": draw(st.integers(1, 5)),
            "ack_batch": draw(st.sampled_from(["each", "whole"])),
        }
    elif team == "throttled":
        kinds = {"throttled": True}
    return sq.Workers(
        count=count,
        concurrency=draw(st.integers(1, 3)),
        crash=draw(seldom(crashes(count))),
        **kinds,
    )


# The broker.


@st.composite
def brokers(draw: st.DrawFn) -> Any:
    """A generic broker with any of its knobs turned."""
    knobs: dict[str, Any] = {
        "lease": draw(st.none() | LEASES | LEASES),
        "lease_from": draw(seldom(st.just("start"), "hand_over")),
        "late_ack": draw(
            st.sampled_from(["deletes", "in_flight_only", "latest_receipt", "unexpired"])
        ),
        "ack_when": draw(seldom(seldom(st.just("received"), "done"), "done")),
        "on_disconnect": draw(seldom(st.just("requeue"), "wait")),
        "disconnect_after": draw(seldom(SECONDS, 0.0)),
        "max_receives": draw(seldom(st.integers(1, 4))),
        "counts": tuple(draw(seldom(st.sets(st.sampled_from(CAUSES)), ("receive",)))),
        "exhaustion": draw(st.sampled_from(["return", "receive"])),
        "exhausted": draw(seldom(st.just("drop"), "dead_letter")),
        "retry_delay": draw(seldom(retries())),
        "ordering": draw(seldom(st.sampled_from(["fifo", "group"]), "unordered")),
        "returns_to": draw(st.sampled_from(["back", "front"])),
        "delay": draw(seldom(SECONDS, 0.0)),
        "retention": draw(seldom(st.sampled_from([5, 30, 60]))),
        "dedupe_window": draw(seldom(SECONDS)),
        "dedupe_refreshes": draw(st.booleans()),
        "own_duplicates": draw(seldom(CHANCES, 0.0)),
    }
    if draw(seldom(st.just(True), False)):
        knobs |= {
            "sweep_period": draw(SECONDS),
            "sweep_phase": draw(seldom(SECONDS, 0.0)),
            **draw(
                st.sampled_from([{}, {"sweep_batch": 1}, {"sweep_batch": 3}, {"two_passes": True}])
            ),
        }
    if draw(seldom(st.just(True), False)):
        knobs |= {"renew_every": draw(SECONDS), "renew_for": draw(seldom(SECONDS))}
    return sq.brokers.generic(**_limited(knobs))


def retries() -> st.SearchStrategy[Any]:
    """A number of seconds, or a rule."""
    return (
        SECONDS
        | st.just(0)
        | st.sampled_from(
            [
                backoff.NoDelay(),
                backoff.Linear(5, cap=20),
                backoff.Exponential(base=1),
                backoff.FullJitter(base=5),
                backoff.EqualJitter(base=2),
                backoff.DecorrelatedJitter(base=1, cap=30),
                backoff.Schedule((1, 5, 10)),
            ]
        )
    )


def _limited(knobs: dict[str, Any]) -> dict[str, Any]:
    """`knobs`, with a limit on receives if what failed may come back at once."""
    retry = knobs["retry_delay"]
    leased = knobs["lease"] is not None and knobs["ack_when"] == "done"
    if (retry is None and not leased) or retry in (0, backoff.NoDelay()):
        knobs["max_receives"] = knobs["max_receives"] or 4
        knobs["counts"] = tuple({*knobs["counts"], "receive"})
    return knobs


# Services.


@st.composite
def services(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of all services, as parts of a scenario."""
    latency = seldom(
        st.sampled_from([1, 0.25, 5]) | st.just(sq.Exponential(mean=1)), 0.0
    )  # fmt: skip
    return {
        "store": sq.services.Store(
            latency=draw(latency),
            ttl=draw(seldom(SECONDS)),
            sweep_after=draw(seldom(SECONDS)),
            sweep_every=draw(SECONDS),
        ),
        "payments": sq.services.Payments(
            latency=draw(latency),
            key_retention=draw(seldom(SECONDS, 86_400.0)),
            capacity=draw(seldom(st.integers(1, 2))),
            service_time=draw(st.sampled_from([0, 1, 5])),
            timeout=draw(seldom(SECONDS)),
        ),
        "mailer": sq.services.Mailer(latency=draw(latency)),
        "locks": sq.services.Locks(
            latency=draw(latency),
            bound_to=draw(st.sampled_from(["ttl", "session"])),
            session_timeout=draw(seldom(SECONDS, 0.0)),
            check_owner=draw(st.booleans()),
        ),
        "database": sq.services.Database(
            latency=draw(latency),
            relay_every=draw(SECONDS),
            relay_uses_key=draw(st.booleans()),
            relays=draw(st.integers(1, 2)),
        ),
    }


@st.composite
def scenarios(draw: st.DrawFn, team: str | None = None) -> sq.Scenario:
    """A scenario of 1 to 30 jobs, whose workers are of the kind `team` (None: of any)."""
    jobs = draw(st.integers(8, 30) | st.integers(1, 4))
    crew = draw(workers(team or draw(st.sampled_from(TEAMS))))
    return sq.Scenario(
        arrivals=draw(arrivals(jobs)),
        jobs=jobs,
        work=draw(work(jobs)),
        work_per=draw(seldom(st.just("attempt"), "job")),
        workers=crew,
        broker=draw(brokers()),
        handler=draw(st.sampled_from(HANDLERS)),
        network=draw(seldom(networks(), sq.Network())),
        groups=draw(st.integers(1, 4)),
        customers=draw(st.none() | st.integers(1, 3)),
        faults=draw(faults(crew.count)),
        horizon=draw(st.sampled_from([75, 120, 200])),
        warmup=draw(seldom(SECONDS, 0.0)),
        **draw(services()),
    )
