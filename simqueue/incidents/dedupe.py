"""Windows that are too short for the work, and looks that come too early."""

from __future__ import annotations

from simqueue.arrivals import Times
from simqueue.context import Claim, Context, Handler, Job
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.services import Store

MINUTE = 60.0
DAY = 86_400.0

# A window of time, or a lock until it is done.


async def not_seen_lately(job: Job, ctx: Context) -> None:
    """Do nothing if the same came within the time for which the store keeps keys."""
    if await ctx.store.claim(job.customer) is not Claim.WON:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


async def not_at_work(job: Job, ctx: Context) -> None:
    """Do nothing if the same is at work now."""
    held = await ctx.locks.acquire(job.customer, ttl=DAY)
    if held is None:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await held.release()


def repeated(handler: Handler, work: float, after: float, window: float) -> Build:
    """The same is asked for once more, so many seconds later."""
    return queue(
        handler=handler, arrivals=Times([0, after]), customers=1, work=work, workers=2,
        lease=None, on_disconnect="requeue", store=Store(ttl=window),
    )  # fmt: skip


def fifteen_minutes(handler: Handler) -> Build:
    """A quarter of an hour's work, repeated at 11 minutes; a window of 10."""
    return repeated(handler, work=15 * MINUTE, after=11 * MINUTE, window=10 * MINUTE)


def webhook(handler: Handler) -> Build:
    """A hook of 0.2 s, repeated at 0.4; a window of 20."""
    return repeated(handler, work=0.2, after=0.4, window=20)


INC_67 = Incident(
    id="INC-67",
    title="A window shorter than the work; a lock where a window was needed",
    system="RabbitMQ's deduplication plugin; a webhook receiver",
    links=(
        "https://github.com/noxdafox/rabbitmq-message-deduplication/issues/32",
        "https://github.com/getsentry/sentry/pull/107734",
    ),
    report=(
        "With a window of ten minutes a second process begins while the first is at work. "
        "Elsewhere a hook is repeated within half a second, and handled in less than that."
    ),
    cause="A window knows nothing of completion; and a lock is free again when the repeat comes.",
    fix="Dedupe until the ack for the one, a key that is kept for 20 s for the other.",
    cases=(
        Case(
            name="15 minutes of work, a window of 10",
            job=1,
            scenario=fifteen_minutes(not_seen_lately),
            expect={"effects": 2, "overlap_peak": 2},
        ),
        Case(
            name="a hook of 0.2 s, repeated at 0.4 s, a lock",
            job=1,
            scenario=webhook(not_at_work),
            expect={"effects": 2, "overlap_peak": 1},
        ),
        Case(
            name="15 minutes of work, until it is done",
            fixed=True,
            job=1,
            scenario=fifteen_minutes(not_at_work),
            expect={"effects": 1},
        ),
        Case(
            name="a hook of 0.2 s, repeated at 0.4 s, a window of 20 s",
            fixed=True,
            job=1,
            scenario=webhook(not_seen_lately),
            expect={"effects": 1},
        ),
    ),
)

# Look, and then insert.

GAP = 0.2


async def look_then_insert(job: Job, ctx: Context) -> None:
    """Look whether the record is there; a moment later, insert it."""
    if await ctx.store.is_done(job.customer):
        return
    await ctx.sleep(GAP)
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.customer)


async def insert_first(job: Job, ctx: Context) -> None:
    """Insert under a unique index; whoever is refused has nothing more to do."""
    if await ctx.store.insert(job.customer) is not Claim.WON:
        return
    await ctx.sleep(GAP)
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.customer)


def two_requests(handler: Handler, apart: float) -> Build:
    """The same request twice."""
    return queue(handler=handler, arrivals=Times([0, apart]), customers=1, workers=2)


INC_68 = Incident(
    id="INC-68",
    title="Look, then insert",
    system="Idempotency and uniqueness in applications",
    links=(
        "https://github.com/c15t/c15t/issues/861",
        "https://github.com/square1-io/laravel-idempotency/issues/1",
        "https://github.com/idempot-dev/idempot-js/pull/186",
    ),
    report="Two equal requests at the same time give two records; or, with an index, an error 500.",
    cause="There is a gap between the look and the insert.",
    fix="Insert first, and on a conflict read what the winner wrote.",
    cases=(
        Case(
            name="requests nearer to each other than the gap",
            job=1,
            scenario=two_requests(look_then_insert, GAP / 2),
            expect={"effects": 2},
        ),
        Case(
            name="requests farther apart than the gap",
            job=1,
            scenario=two_requests(look_then_insert, GAP * 1.5),
            expect={"effects": 1},
        ),
        *(
            Case(
                name=f"insert first, {apart:g} s apart",
                fixed=True,
                job=1,
                scenario=two_requests(insert_first, apart),
                expect={"effects": 1, "failures": 0},
            )
            for apart in (0.0, GAP / 2, GAP * 1.5)
        ),
    ),
)

INCIDENTS = (INC_67, INC_68)
