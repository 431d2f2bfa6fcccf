"""Between the receipt and its record stands the charge, and can fail."""

# fails: a receipt comes twice only where nobody can know
from simqueue.context import Claim, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.store.complete(job.key)


def statement():
    return {
        "twice": ["crash after send", "answer of send lost", "other answer lost"],
        "missing": [],
    }
