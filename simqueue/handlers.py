"""The strategies, from worst to best: each reads like the code one would write at work.

What each promises, and what breaks it, stands in its docstring. "Crash after the effect" is a crash
of the worker between the charge and whatever comes next.
"""

from __future__ import annotations

from simqueue.context import Claim, Context, Job, Retry, UniqueViolation


async def naive(job: Job, ctx: Context) -> None:
    """Work, then charge. Every delivery charges, so every duplicate delivery charges again.

    Promises at least one charge for a job that is not dead-lettered. Any second delivery breaks it:
    a lease shorter than the work, a crash between charge and ack, a lost ack.
    """
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


async def lock(job: Job, ctx: Context, *, ttl: float = 300.0) -> None:
    """Take a lock, work, charge, give the lock back. Two deliveries do not run at the same time.

    Promises less wasted work, and nothing about duplicates: a second delivery runs after the first
    one, and charges again. So does one after a crash, as soon as the lock has expired; and a pause
    longer than `ttl` (seconds) lets two run at once after all.
    """
    held = await ctx.locks.acquire(job.key, ttl=ttl)
    if held is None:
        raise Retry("another delivery holds the lock")
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    finally:  # a crash does not come by here: only the TTL frees a dead worker's lock
        await held.release()


async def check_then_act(job: Job, ctx: Context) -> None:
    """Look whether it is done, charge, then record it. Two that look at once both charge.

    Promises one charge if deliveries come one after the other and no worker dies between charge and
    record. Two at the same time break it, and so does a crash after the effect.
    """
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)


async def claim(job: Job, ctx: Context) -> None:
    """Claim the key, act, record. At most one charge; a crash after the claim leaves the job stuck.

    Promises that no job is charged twice. It does not promise that every job is charged: when the
    claim's owner dies between claim and charge, all later deliveries find the key taken, and retry
    until the message is dead-lettered.
    """
    match await ctx.store.claim(job.key):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("another delivery holds the claim")  # the message comes back later
        case Claim.WON:
            pass  # go on: the job is ours
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)


async def reclaim(job: Job, ctx: Context, *, stale_after: float = 600.0) -> None:
    """Claim the key, or take over a claim that is older than any job takes; act, record.

    Promises that no job is stuck, and one charge unless a worker dies after it. A crash after the
    effect breaks it: whoever takes over charges again. So does a window, `stale_after` in seconds,
    that is shorter than the job: the owner is still at work.
    """
    match await ctx.store.claim(job.key, stale_after=stale_after):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("another delivery holds the claim")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)


async def reclaim_with_key(job: Job, ctx: Context, *, stale_after: float = 600.0) -> None:
    """As `reclaim`, and the provider gets the job's key too: the second layer.

    Promises exactly one charge for every job that is not dead-lettered, as long as the provider
    remembers keys for longer than retries go on.
    """
    match await ctx.store.claim(job.key, stale_after=stale_after):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("another delivery holds the claim")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.store.complete(job.key)


async def one_transaction(job: Job, ctx: Context) -> None:
    """Write the effect and the job's key in one database transaction.

    Promises exactly one effect: there is no moment between effect and record. It works only for
    effects that are rows of that same database, such as a balance; here they count as a "charge".
    A second delivery does the work again, finds the key, and returns, which acks it.
    """
    await ctx.work()
    try:
        async with ctx.database.transaction() as tx:
            await tx.insert("done", job.key)
            await tx.apply("charge")
    except UniqueViolation:
        return


async def outbox(job: Job, ctx: Context) -> None:
    """Write down, in one transaction, what has to be sent; a relay sends it after the commit.

    Promises at least one charge, and that no crash of this worker makes a second one. The relay
    breaks it, if it dies between sending and marking as sent: it sends again. With a relay that
    gives the provider the job's key (`Database(relay_uses_key=True)`), exactly one.
    """
    await ctx.work()
    try:
        async with ctx.database.transaction() as tx:
            await tx.insert("done", job.key)
            await tx.enqueue("charge", job.key)
    except UniqueViolation:
        return


# Traps: code that looks right.


async def insert_only(job: Job, ctx: Context) -> None:
    """A claim by plain insert, beside a sweeper that sets stale claims to failed.

    The trap: the failed row still has the unique key, so the insert never succeeds again. Whatever
    the sweeper does, a job whose owner died is stuck for good. A claim must take failed rows over.
    """
    match await ctx.store.insert(job.key):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("already in progress")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)


async def key_of_the_day(job: Job, ctx: Context) -> None:
    """A provider key made of customer, amount and day.

    The trap: it names neither the job nor the attempt. A retry after midnight has a new key and
    charges twice; a second honest charge of the same amount on the same day has the old one and is
    never made. The key must come from the job.
    """
    await ctx.work()
    day = int(ctx.now // 86_400)
    key = f"charge:{job.customer}:{job.amount}:{day}"
    await ctx.payments.charge(job.customer, job.amount, key=key)


async def return_if_locked(job: Job, ctx: Context, *, ttl: float = 300.0) -> None:
    """A lock whose loser returns, since somebody is on it already.

    The trap: to return is to ack. If the lock's owner is dead, the message is gone, and nobody has
    done the job: it is lost. The loser must retry.
    """
    held = await ctx.locks.acquire(job.key, ttl=ttl)
    if held is None:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await held.release()


async def email_after_done(job: Job, ctx: Context) -> None:
    """A receipt that is sent once the job is recorded as done.

    The trap: a crash between record and e-mail loses the e-mail for good, since the next delivery
    finds the job done. Sent before the record, it would be sent twice instead; a mailer without
    keys leaves only this choice, or an outbox.
    """
    match await ctx.store.claim(job.key, stale_after=600.0):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("another delivery holds the claim")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.store.complete(job.key)
    await ctx.mailer.send(job.customer, "Your receipt")
