"""The provider is not told which charge it is."""

# fails: nobody pays twice
from simqueue.context import Claim, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.store.complete(job.key)


def statement():
    return {"twice": ["crash after send", "answer of send lost"], "missing": []}
