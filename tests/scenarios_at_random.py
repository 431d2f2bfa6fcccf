"""Whole scenarios drawn at random: every knob, every kind of worker, every fault and service.

Most knobs are off in most scenarios, so that what is on meets only a few others; most times are
small whole numbers, so that things often happen at one instant. Every scenario has a horizon. None
can go round at one instant for ever: what may come back at once has a limit on its receives, and a
worker that dies is away for a while.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

from faults_at_random import CHANCES, MOMENTS, SECONDS, crashes, faults, networks, seldom
from hypothesis import strategies as st

import simqueue as sq
from simqueue import backoff
from simqueue.model.late_ack import LATE_ACKS

TEAMS = ("plain", "prefetch", "batch", "throttled")
CAUSES = ("receive", "failure", "expiry", "disconnect", "slot lost")

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


async def breaking(job: sq.Job, ctx: sq.Context) -> None:
    """Raise on every other job what no broker was told to expect."""
    await ctx.work()
    if job.id % 2:
        raise RuntimeError("no")
    await ctx.payments.charge(job.customer, job.amount)


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
    breaking,
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
    if draw(seldom(st.just(True), False)):
        kinds["time_limit"] = draw(st.sampled_from([5, 12, 25]))
    if draw(seldom(st.just(True), False)):
        kinds["holds_once"] = draw(st.booleans())
        if draw(st.booleans()):
            kinds["poll_every"] = draw(SECONDS)
            kinds["poll_phases"] = draw(st.lists(SECONDS, min_size=1, max_size=2))
    return sq.Workers(
        count=count,
        concurrency=draw(st.integers(1, 3)),
        crash=draw(seldom(crashes(count))),
        **kinds,
    )


@st.composite
def producers(draw: st.DrawFn) -> sq.Producers:
    """Somebody who publishes each job once; in some scenarios more than one, or more than once."""
    if draw(seldom(st.just(False), True)):
        return sq.Producers()
    resend = st.builds(
        sq.Resend, every=SECONDS, most=st.integers(1, 3), patience=st.none() | SECONDS
    )
    return sq.Producers(
        replicas=draw(st.sampled_from([1, 1, 2, 3])),
        offsets=draw(st.lists(st.sampled_from([0.0, 1, 5]), min_size=1, max_size=2)),
        dedupe_key=draw(st.sampled_from(["job", "customer", "group", "all", "send"])),
        due_after=draw(seldom(SECONDS, 0.0)),
        resend=draw(seldom(resend)),
    )


# The broker.


@st.composite
def brokers(draw: st.DrawFn) -> Any:
    """A generic broker with any of its knobs turned."""
    knobs: dict[str, Any] = {
        "lease": draw(st.none() | LEASES | LEASES),
        "lease_from": draw(seldom(st.just("start"), "hand_over")),
        "lease_cap": draw(seldom(st.sampled_from([20, 45]))),
        "late_ack": draw(st.sampled_from(sorted(LATE_ACKS))),
        "late_nack": draw(seldom(st.just("releases"), "ignored")),
        "ack_when": draw(seldom(st.sampled_from(["received", "started", "done"]), "done")),
        "on_failure": draw(seldom(st.sampled_from(["ack", "dead_letter"]), "return")),
        "on_disconnect": draw(seldom(st.just("requeue"), "wait")),
        "disconnect_after": draw(seldom(SECONDS, 0.0)),
        "silence_after": draw(seldom(SECONDS, 0.0)),
        "on_slot_lost": draw(seldom(st.sampled_from(["ack", "return"]), "wait")),
        "max_receives": draw(seldom(st.integers(1, 4))),
        "counts": tuple(draw(seldom(st.sets(st.sampled_from(CAUSES)), ("receive",)))),
        "exhaustion": draw(st.sampled_from(["return", "receive"])),
        "exhausted": draw(seldom(st.just("drop"), "dead_letter")),
        "retry_delay": draw(seldom(retries())),
        "retry_on": draw(seldom(st.sampled_from([("failure", "expiry"), ()]), ("failure",))),
        "ordering": draw(seldom(st.sampled_from(["fifo", "group", "replay"]), "unordered")),
        "group_batches": draw(st.booleans()),
        "returns_to": draw(st.sampled_from(["back", "front", "front_unless_failed"])),
        "delay": draw(seldom(SECONDS, 0.0)),
        "most_in_flight": draw(seldom(seldom(st.integers(1, 3)))),
        "retention": draw(seldom(st.sampled_from([5, 30, 60]))),
        "retention_of_dead": draw(st.booleans()),
        "dead_letter_retention": draw(seldom(st.sampled_from([10, 40]))),
        "own_duplicates": draw(seldom(CHANCES, 0.0)),
    }
    if draw(seldom(st.just(True), False)):
        by_window = {"dedupe_window": draw(SECONDS), "dedupe_refreshes": draw(st.booleans())}
        by_state = {"dedupe_after": draw(st.sampled_from([0, 5, 30, math.inf]))}
        knobs |= draw(st.sampled_from([by_window, by_window, by_state]))
    if knobs.get("dedupe_after") is not None:
        knobs["own_duplicates"] = 0.0  # the broker does not know its own copies
    if draw(seldom(st.just(True), False)):
        knobs |= {
            "max_stalls": draw(st.integers(0, 2)),
            "stalls": draw(st.sampled_from([("expiry",), ("expiry", "disconnect", "slot lost")])),
            "stalls_within": draw(seldom(st.sampled_from([30, 60]))),
            "stalls_noticed": draw(st.sampled_from(["return", "receive"])),
        }
    if draw(seldom(st.just(True), False)):
        knobs["poll_delayed"] = draw(SECONDS)
        knobs["poll_jitter"] = draw(st.sampled_from([0, 0, 0.5, 1]))
    expiries = ["dead_letter", "cancel", *(["close"] * (knobs["on_disconnect"] == "requeue"))]
    knobs["on_expiry"] = draw(seldom(st.sampled_from(expiries), "return"))
    knobs["resubscribe_after"] = draw(st.none() | SECONDS)
    if draw(seldom(st.just(True), False)):
        knobs |= {
            "sweep_period": draw(SECONDS),
            "sweep_phase": draw(seldom(SECONDS, 0.0)),
            **draw(
                st.sampled_from([{}, {"sweep_batch": 1}, {"sweep_batch": 3}, {"two_passes": True}])
            ),
        }
    elif draw(seldom(st.just(True), False)):
        knobs["sweep_at_boot"] = draw(st.sampled_from([0, 10, 40]))
    if draw(seldom(st.just(True), False)):
        knobs |= {"renew_every": draw(SECONDS), "renew_for": draw(seldom(SECONDS))}
        knobs["renew_what"] = draw(st.sampled_from(["running", "running", "held", "process"]))
        knobs["renew_jitter"] = draw(seldom(st.just(0.5), 0.0))
        knobs["first_heartbeat"] = draw(seldom(SECONDS, 0.0))
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
    team = team or draw(st.sampled_from(TEAMS))
    crew = draw(workers(team))
    broker = draw(brokers())
    sends = draw(producers())
    if team in ("plain", "prefetch") and sends.due_after:
        held_by = draw(st.sampled_from(["broker", "worker"]))
        broker = dataclasses.replace(broker, due_held_by=held_by, forgets_due=draw(st.booleans()))
    if crew.holds_once or crew.poll_every is not None:
        broker = dataclasses.replace(broker, group_batches=False)  # no client is so choosy there
    sweeps = broker.sweep_period is not None or broker.sweep_at_boot is not None
    return sq.Scenario(
        arrivals=draw(arrivals(jobs)),
        jobs=jobs,
        work=draw(work(jobs)),
        work_per=draw(seldom(st.just("attempt"), "job")),
        workers=crew,
        broker=broker,
        producers=sends,
        handler=draw(st.sampled_from(HANDLERS)),
        network=draw(seldom(networks(), sq.Network())),
        groups=draw(st.integers(1, 4)),
        customers=draw(st.none() | st.integers(1, 3)),
        faults=draw(faults(crew.count, sweeps=sweeps and broker.ack_when != "received")),
        horizon=draw(st.sampled_from([75, 120, 200])),
        warmup=draw(seldom(SECONDS, 0.0)),
        **draw(services()),
    )
