"""Idempotency keys: orphaned, made anew for each attempt, or shared by two intents."""

from __future__ import annotations

from simqueue import handlers
from simqueue.arrivals import Times
from simqueue.context import Claim, Context, Handler, Job, Retry
from simqueue.faults import Crash
from simqueue.incidents.building import Build, queue
from simqueue.incidents.incident import Case, Incident
from simqueue.services import Locks, Payments, Store

MINUTE = 60.0
HOUR = 3_600.0
DAY = 86_400.0

# A request whose server dies between "in work" and "answered".

DIES_AT = 30.0


async def under_a_lock(job: Job, ctx: Context) -> None:
    """Take a lock that dies with its session first: a claim seen under it is an orphan's."""
    held = await ctx.locks.acquire(job.key, ttl=DAY)
    if held is None:
        raise Retry("another request is at work")
    if await ctx.store.claim(job.key, stale_after=0) is Claim.WON:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
        await ctx.store.complete(job.key)
    await held.release()


def orphaned_key(handler: Handler, ttl: float, noticed_after: float = 0.0) -> Build:
    """A server that dies 30 s into a request; its client retries at once, then each minute."""
    return queue(
        handler=handler, work=MINUTE, lease=None, on_disconnect="requeue", retry_delay=MINUTE,
        disconnect_after=noticed_after,
        store=Store(ttl=ttl), locks=Locks(bound_to="session"), crash=Crash(at=[(1, DIES_AT)]),
    )  # fmt: skip


INC_63 = Incident(
    id="INC-63",
    title="An orphaned idempotency key answers 409 for three days",
    system="HTTP idempotency middlewares",
    links=(
        "https://github.com/VilledeMontreal/express-idempotency/issues/32",
        "https://github.com/hyperb1iss/sibyl/pull/349",
        "https://github.com/useautumn/autumn/pull/1851",
    ),
    report=(
        "A crash between creating the key and saving the answer blocks every retry for as long as "
        "the key lives. In another project two writes were stuck until typed in again."
    ),
    cause="The state is written before the work, and nothing leads out of it.",
    fix="Release it on an error; or take a lock first, under which a pending record is an orphan.",
    note=(
        "The client retries the moment its connection breaks, then every minute: 4,320 "
        "retries meet the key. Retries at whole minutes from the first request on would be "
        "4,319, as the key is gone at the last one."
    ),
    cases=(
        Case(
            name="a key that lives for three days",
            scenario=orphaned_key(handlers.claim, ttl=3 * DAY),
            expect={"failures": 3 * DAY / MINUTE, "effects": 1, "duplicates": 0},
        ),
        Case(
            name="a key that lives for three days, retries at whole minutes from the request on",
            scenario=orphaned_key(handlers.claim, ttl=3 * DAY, noticed_after=MINUTE - DIES_AT),
            expect={"failures": 3 * DAY / MINUTE - 1, "effects": 1},
        ),
        Case(
            name="a lock first",
            fixed=True,
            scenario=orphaned_key(under_a_lock, ttl=3 * DAY),
            expect={
                "failures": 0,
                "executions": 2,
                "effects": 1,
                "settled_at": DIES_AT + MINUTE,
            },
        ),
    ),
)

# A key that names the attempt.

ANSWERS_AFTER, PATIENCE = 15.0, 12.0


async def key_of_the_attempt(job: Job, ctx: Context) -> None:
    """Charge under a key that is made anew for each try."""
    await ctx.payments.charge(job.customer, job.amount, key=f"{job.key}/{ctx.now}")


async def key_of_the_intent(job: Job, ctx: Context) -> None:
    """Charge under the key that the job has had since it was made."""
    await ctx.payments.charge(job.customer, job.amount, key=job.key)


def impatient(handler: Handler, retry_delay: float = 0.0) -> Build:
    """A provider that takes 15 s, and a client that gives up after 12 and tries once more."""
    return queue(
        handler=handler, lease=None, on_disconnect="requeue", retry_delay=retry_delay,
        max_receives=2,
        payments=Payments(capacity=10, service_time=ANSWERS_AFTER, timeout=PATIENCE),
    )  # fmt: skip


INC_64 = Incident(
    id="INC-64",
    title="A key that is built from the time never matches",
    system="Payment clients",
    links=(
        "https://github.com/soumen0818/C-Pay/issues/33",
        "https://github.com/Adyen/adyen-commercetools/issues/1305",
        "https://github.com/tempoxyz/pympp/pull/155",
    ),
    report=(
        "The key holds the time, or fields that change, or a token that does not last; after a "
        "timeout of 12 s the retry is charged again."
    ),
    cause="The key names the attempt, and not what is wanted.",
    fix="A key made once, from the intent alone, and kept until its state is final.",
    cases=(
        Case(
            name="a key for each attempt",
            scenario=impatient(key_of_the_attempt),
            expect={
                "effects": 2,
                "effect_times": [ANSWERS_AFTER, PATIENCE + ANSWERS_AFTER],
                "recorded": "dead-lettered",
            },
        ),
        Case(
            name="a key for the intent, tried again after 5 s",
            fixed=True,
            scenario=impatient(key_of_the_intent, retry_delay=5),
            expect={
                "effects": 1,
                "effect_times": [ANSWERS_AFTER],
                "recorded": "acked",
                "settled_at": PATIENCE + 5,
            },
        ),
        Case(
            name="a key for the intent, tried again at once: refused, but charged once",
            fixed=True,
            scenario=impatient(key_of_the_intent),
            expect={"effects": 1, "recorded": "dead-lettered"},
        ),
    ),
)

# A key that names the order, whatever is to be done with it.


async def key_of_the_order(job: Job, ctx: Context) -> None:
    """Charge, or refund, or charge again: all under the order's reference."""
    await ctx.payments.charge(job.customer, job.amount, key=f"order of {job.customer}")


def two_intents(handler: Handler, apart: float) -> Build:
    """Two intents about one order; the provider remembers keys for a day."""
    return queue(
        handler=handler, arrivals=Times([0, apart]), customers=1,
        payments=Payments(key_retention=DAY),
    )  # fmt: skip


INC_65 = Incident(
    id="INC-65",
    title="The key is too coarse: the second, legitimate attempt is refused",
    system="Stripe keys in Odoo; job ids of arq",
    links=(
        "https://github.com/odoo/odoo/pull/107723",
        "https://github.com/odoo/odoo/pull/101243",
        "https://github.com/python-arq/arq/issues/167",
    ),
    report=(
        "A card is declined, a good one is tried, and the provider answers for the old key. A job "
        "id can't be used again while its result is kept."
    ),
    cause="The key, or the time for which it is kept, covers more than one intent.",
    fix="The method in the key; or a shorter memory.",
    cases=(
        Case(
            name="one key, an hour apart",
            job=1,
            scenario=two_intents(key_of_the_order, HOUR),
            expect={"effects of job 0": 1, "effects of job 1": 0, "recorded of job 1": "acked"},
        ),
        Case(
            name="one key, after it is forgotten",
            job=1,
            scenario=two_intents(key_of_the_order, DAY),
            expect={"effects of job 0": 1, "effects of job 1": 1},
        ),
        Case(
            name="two keys",
            fixed=True,
            job=1,
            scenario=two_intents(key_of_the_intent, HOUR),
            expect={"effects of job 0": 1, "effects of job 1": 1},
        ),
    ),
)

INCIDENTS = (INC_63, INC_64, INC_65)
