"""No answer from the mailer is taken for a yes."""

# fails: no receipt is missing
from contextlib import suppress

from simqueue.context import Claim, ResponseLost, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    with suppress(ResponseLost):
        await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.store.complete(job.key)


def statement():
    return {"twice": ["crash after send"], "missing": ["answer of send lost"]}
