"""The strategies, from worst to best: each reads like the code one would write at work."""

from __future__ import annotations

from simqueue.context import Claim, Context, Job, Retry


async def naive(job: Job, ctx: Context) -> None:
    """Work, then charge. Every delivery charges, so every duplicate delivery charges again.

    Promises at least one charge for a job that is not dead-lettered. Any second delivery breaks it:
    a lease shorter than the work, a crash between charge and ack, a lost ack.
    """
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)


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
            raise Retry("another delivery holds the claim")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.store.complete(job.key)
