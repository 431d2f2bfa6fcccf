"""Effects, marks and acks: three steps, and what comes between them (F10)."""

from __future__ import annotations

import math
from typing import Any

from simqueue import handlers
from simqueue.arrivals import EvenlySpaced
from simqueue.context import Claim, Context, Handler, Job, Retry
from simqueue.faults import Crash, Network, Outage
from simqueue.faults.base import Fault
from simqueue.faults.script import At
from simqueue.incidents.building import Build, queue
from simqueue.incidents.expected import Mean
from simqueue.incidents.incident import Case, Incident
from simqueue.services import Store

HOUR = 3_600.0
EVER = 1e6

# A card that is charged before the balance is written, which fails each time.

CARD_LIMIT = 7


async def charge_then_write(job: Job, ctx: Context) -> None:
    """Recharge a low balance: charge the card, then write the new balance."""
    if await ctx.store.is_done(job.customer):
        return
    await ctx.payments.charge(job.customer, job.amount)
    async with ctx.database.transaction() as tx:
        await tx.insert("balances", job.customer)
    await ctx.store.complete(job.customer)


async def claim_then_charge(job: Job, ctx: Context) -> None:
    """Write down that a recharge begins, then charge, then write the new balance."""
    if await ctx.store.claim(job.customer) is not Claim.WON:
        raise Retry("a recharge is under way")
    await ctx.payments.charge(job.customer, job.amount)
    async with ctx.database.transaction() as tx:
        await tx.insert("balances", job.customer)
    await ctx.store.complete(job.customer)


def recharges(handler: Handler, *more: Fault) -> Build:
    """Ten usage events an hour apart; balances are read-only; the card is refused after seven."""
    return queue(
        handler=handler, arrivals=EvenlySpaced(interval=HOUR), jobs=10, customers=1,
        max_receives=1, retry_delay=1,
        faults=[
            Outage(service="database", window=(0, EVER)),
            Outage(service="payments", window=((CARD_LIMIT - 0.5) * HOUR, EVER)),
            *more,
        ],
    )  # fmt: skip


INC_17 = Incident(
    id="INC-17",
    title="The card is charged before a balance is written, and that write always fails",
    system="An auto-recharge service on Redis (2013)",
    links=(
        "https://www.twilio.com/blog/2013/07/billing-incident-post-mortem-breakdown-analysis-and-root-cause.html",
        "https://news.ycombinator.com/item?id=6094813",
    ),
    report=(
        "1.4 % of the customers were charged again and again; one tells of steps of 500 dollars, "
        "up to 3,500, before the card was refused. The store was read-only, with balances of zero."
    ),
    cause="The effect comes before the state that lasts: each usage event saw the old balance.",
    fix="A look into a ledger before the charge, which fails safe; and the right configuration.",
    cases=(
        Case(
            name="charged first",
            job=1,
            scenario=recharges(charge_then_write),
            expect={"effects": 3_500 / 500, "executions": 10, "failures": 10},
        ),
        Case(
            name="claimed first: one charge, and a claim that is stuck",
            job=1,
            fixed=True,
            scenario=recharges(claim_then_charge),
            expect={"effects": 1, "failures": 10},
        ),
        Case(
            name="claimed first, in a store that is read-only too: no charge",
            fixed=True,
            scenario=recharges(claim_then_charge, Outage(service="store", window=(0, EVER))),
            expect={"effects": 0, "failures": 10},
        ),
    ),
)

# Copy to another queue, then ack: two steps.

LOST_ACKS = 0.1
MOVES = 5_000


def moves(handler: Handler, **options: Any) -> Build:
    """Delayed tasks that are moved to the work queue; a lost ack brings one back after a minute."""
    return queue(handler=handler, lease=60, workers=10, **options)


FIVE_MINUTES_DOWN = [At(step="ack", what="ack lost", turn=turn) for turn in range(1, 6)]

INC_51 = Incident(
    id="INC-51",
    title="Copy to the work queue, then ack the delayed copy: both survive a broken connection",
    system="Dramatiq on RabbitMQ and Redis",
    links=(
        "https://github.com/Bogdanp/dramatiq/issues/461",
        "https://github.com/Bogdanp/dramatiq/issues/431",
    ),
    report=(
        "A hundred delayed tasks, forty threads and one job that keeps the processor busy for "
        "100 s: the connection is lost, and tasks multiply across the queues."
    ),
    cause="The move is not one step: the copy is enqueued, its ack fails, and it is moved again.",
    fix="Fewer threads, or one for input and output; a mutex; best, a move in one step.",
    cases=(
        Case(
            name="five minutes without acks, moved again each minute",
            scenario=moves(handlers.naive, faults=FIVE_MINUTES_DOWN),
            expect={
                "effects": 6,
                "effect_times": [60 * number for number in range(6)],
                "settled_at": 300,
            },
        ),
        Case(
            name="one ack in ten is lost",
            scenario=moves(handlers.naive, jobs=MOVES, network=Network(ack_lost=LOST_ACKS)),
            expect={
                "effects_per_job": Mean(
                    1 / (1 - LOST_ACKS), math.sqrt(LOST_ACKS) / (1 - LOST_ACKS), MOVES
                ),
            },
        ),
        Case(
            name="five minutes without acks, moved in one transaction",
            fixed=True,
            scenario=moves(handlers.one_transaction, faults=FIVE_MINUTES_DOWN),
            expect={"effects": 1, "deliveries": 6},
        ),
        Case(
            name="one ack in ten is lost, moved in one transaction",
            fixed=True,
            scenario=moves(
                handlers.one_transaction, jobs=MOVES, network=Network(ack_lost=LOST_ACKS)
            ),
            expect={"effects_per_job": 1},
        ),
    ),
)

# The effect, the mark, and the ack.

EFFECT_AFTER, MARK_AFTER, ACK_AFTER = 1.0, 0.5, 0.25
KILLS = 0.1
MAILS = 4_000
NOTICED_AFTER = 5.0


async def send_mark_ack(job: Job, ctx: Context) -> None:
    """Send, then mark as sent, then return, which acks; nobody sends what is marked."""
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sleep(MARK_AFTER)
    await ctx.store.complete(job.key)
    await ctx.sleep(ACK_AFTER)


def killed(kept: float, crash: Crash, jobs: int = 1) -> Build:
    """A node that a watchdog kills; marks are kept for so many seconds."""
    return queue(
        handler=send_mark_ack, jobs=jobs, work=EFFECT_AFTER, workers=20, lease=None,
        on_disconnect="requeue", disconnect_after=NOTICED_AFTER, store=Store(ttl=kept),
        crash=crash,
    )  # fmt: skip


GONE, KEPT = 0.001, 600.0
BEFORE_MARK = Crash(at=[(1, EFFECT_AFTER + MARK_AFTER / 2)], restart_after=1)
BEFORE_ACK = Crash(at=[(1, EFFECT_AFTER + MARK_AFTER + ACK_AFTER / 2)], restart_after=1)


def sent_per_mail(danger: float) -> Mean:
    """F10, for all orders of the kill rate: how often a mail is sent.

    Each run that has sent is killed within the `danger` seconds that follow with probability
    1 - exp(-rate * danger), and then sends again: a geometric distribution.
    """
    again = 1 - math.exp(-KILLS * danger)
    return Mean(1 / (1 - again), math.sqrt(again) / (1 - again), MAILS)


def at_rate(kept: float, danger: float, name: str, *, fixed: bool) -> Case:
    """Four thousand mails, under kills at a rate."""
    return Case(
        name=name,
        fixed=fixed,
        scenario=killed(kept, Crash(mean_time_between=1 / KILLS, restart_after=1), MAILS),
        expect={"effects_per_job": sent_per_mail(danger), "lost": 0},
    )


INC_72 = Incident(
    id="INC-72",
    title="Done outside, not marked yet: killed in between",
    system="Mail delivery (2013), a RabbitMQ client, NServiceBus' outbox",
    links=(
        "https://www.mailgun.com/blog/product/what-happened-yesterday-and-what-we-are-doing-about-it/",
        "https://github.com/xing/beetle/pull/61",
        "https://github.com/Particular/docs.particular.net/issues/1816",
    ),
    report=(
        "A watchdog kills and restarts slow nodes. Mails that were sent and not marked are sent "
        "again. Elsewhere the mark is deleted on success, while the ack sits in a buffer."
    ),
    cause="Effect, mark and ack are three steps, and a kill may come after any of them.",
    fix="Keep the mark for a while after success, longer than a redelivery takes.",
    cases=(
        Case(
            name="killed before the ack, the mark is gone",
            scenario=killed(GONE, BEFORE_ACK),
            expect={"effects": 2, "deliveries": 2},
        ),
        Case(
            name="killed before the mark",
            scenario=killed(KEPT, BEFORE_MARK),
            expect={"effects": 2, "deliveries": 2},
        ),
        Case(
            name="killed before the ack, the mark is kept",
            fixed=True,
            scenario=killed(KEPT, BEFORE_ACK),
            expect={"effects": 1, "deliveries": 2},
        ),
        Case(
            name="killed before the ack, the mark is kept for less than a redelivery takes",
            scenario=killed(NOTICED_AFTER / 2, BEFORE_ACK),
            expect={"effects": 2, "deliveries": 2},
        ),
        at_rate(GONE, MARK_AFTER + ACK_AFTER, "kills at a rate, the mark is gone", fixed=False),
        at_rate(KEPT, MARK_AFTER, "kills at a rate, the mark is kept", fixed=True),
    ),
)

INCIDENTS = (INC_17, INC_51, INC_72)
