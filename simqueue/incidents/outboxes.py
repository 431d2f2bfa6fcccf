"""Outboxes and the relays that empty them."""

from __future__ import annotations

from functools import partial
from typing import Any

from simqueue import handlers
from simqueue.arrivals import Times
from simqueue.context import Context, Handler, Job, Retry
from simqueue.faults.script import At
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.services import Database

# Relays that all send all.


def relays(**settings: Any) -> Build:
    """One event in the outbox of a database, and relays that look every second."""
    return queue(handler=handlers.outbox, work=0.5, database=Database(relay_every=1, **settings))


INC_69 = Incident(
    id="INC-69",
    title="As many relays, as many copies",
    system="Transactional outboxes",
    links=(
        "https://github.com/xavierjohn/Trellis/pull/644",
        "https://github.com/KanishJebaMathewM/Truxify/issues/14680",
    ),
    report=(
        "Each replica looks for pending rows and publishes them, under an id that is made for each "
        "publish: every event comes once per replica, and no consumer can tell."
    ),
    cause="A plain select claims nothing, and a guard in the process guards only the process.",
    fix="Rows that are leased to one relay; ids that stay the same.",
    cases=(
        *(
            Case(
                name=f"{count} relays",
                scenario=relays(relays=count),
                expect={"effects": count, "effect_times": [1.0] * count},
            )
            for count in (3, 5)
        ),
        Case(
            name="one relay at a time",
            fixed=True,
            scenario=relays(relays=1),
            expect={"effects": 1},
        ),
        Case(
            name="one relay at a time, which dies once between publish and mark",
            scenario=queue(
                handler=handlers.outbox,
                work=0.5,
                database=Database(relay_every=1),
                faults=[At(step="relay.send")],
            ),
            expect={"effects": 2, "effect_times": [1, 2]},
        ),
        Case(
            name="3 relays, ids that stay the same, and a consumer that knows them",
            fixed=True,
            scenario=relays(relays=3, relay_uses_key=True),
            expect={"effects": 1},
        ),
    ),
)

# A record in the database, and a job about it in a queue beside it.

COMMITS_AFTER = 0.2


async def request_and_job(job: Job, ctx: Context, *, rolls_back: bool = False) -> None:
    """Job 0 is the request, which writes the record; job 1, which it enqueues at once, reads it."""
    async with ctx.database.transaction() as tx:
        if job.id == 0:
            await tx.insert("orders", job.customer)
            await ctx.sleep(COMMITS_AFTER)
            if rolls_back:
                raise Retry("rolled back")
        elif await tx.get("orders", job.customer) is None:
            raise Retry("there is no such record")
    if job.id == 1:
        await ctx.payments.charge(job.customer, job.amount)


def enqueued_first(queue_latency: float, *, rolls_back: bool = False) -> Build:
    """A worker has the job so many seconds after the request began; nothing is tried again."""
    return queue(
        handler=partial(request_and_job, rolls_back=rolls_back),
        arrivals=Times([0, queue_latency]), customers=1, workers=2, ack_when="received",
        max_receives=1, exhausted="drop",
    )  # fmt: skip


async def commit_then_enqueue(job: Job, ctx: Context) -> None:
    """Write the record, and enqueue the job in a hook after the commit."""
    async with ctx.database.transaction() as tx:
        await tx.insert("orders", job.key)
    await ctx.payments.charge(job.customer, job.amount)


def request(handler: Handler, *faults: At) -> Build:
    """One request, which nobody repeats. The job that it enqueues counts as its effect."""
    return queue(handler=handler, ack_when="received", faults=faults)


AFTER_COMMIT = At(step="database.commit", seconds=60)

INC_89 = Incident(
    id="INC-89",
    title="Enqueued inside a transaction; or after the commit, and then a crash",
    system="Any queue beside a database",
    links=(
        "https://github.com/nebari-dev/nebi/issues/312",
        "https://github.com/discourse/discourse/pull/11293",
        "https://github.com/brandur/sorg/issues/239",
    ),
    report=(
        "A worker does not find the record that its job is about; a roll-back leaves a job about "
        "nothing; a crash after the commit loses the job."
    ),
    cause="Two stores have no common commit.",
    fix="A hook after the commit helps against the first; jobs staged in a table against all.",
    cases=(
        Case(
            name="a worker is faster than the commit",
            job=1,
            scenario=enqueued_first(COMMITS_AFTER / 4),
            expect={"failures of job 1": 1, "effects of job 1": 0},
        ),
        Case(
            name="a worker is slower than the commit",
            job=1,
            scenario=enqueued_first(COMMITS_AFTER * 2),
            expect={"failures of job 1": 0, "effects of job 1": 1},
        ),
        Case(
            name="a worker is slower, and the transaction is rolled back",
            job=1,
            scenario=enqueued_first(COMMITS_AFTER * 2, rolls_back=True),
            expect={"failures of job 1": 1, "effects of job 1": 0},
        ),
        Case(
            name="enqueued after the commit, a crash in between",
            scenario=request(commit_then_enqueue, AFTER_COMMIT),
            expect={"effects": 0, "lost": 1},
        ),
        Case(
            name="an outbox, a crash after the commit",
            fixed=True,
            scenario=request(handlers.outbox, AFTER_COMMIT),
            expect={"effects": 1, "lost": 0},
        ),
        Case(
            name="an outbox, whose relay crashes once: a duplicate",
            fixed=True,
            scenario=request(handlers.outbox, At(step="relay.send")),
            expect={"effects": 2, "lost": 0},
        ),
    ),
)

INCIDENTS = (INC_69, INC_89)
