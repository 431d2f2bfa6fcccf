"""Recorded and then sent: never twice, and now and then never. At least it says so."""

# fails: no receipt is missing
from simqueue.context import Claim, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.store.complete(job.key)
    await ctx.mailer.send(job.customer, "Your receipt")


def statement():
    return {
        "twice": [],
        "missing": ["crash before send", "other answer lost", "answer of send lost"],
    }
