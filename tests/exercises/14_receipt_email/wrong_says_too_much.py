"""Whoever says that everything can happen has said nothing."""

# fails: the statement is honest
from simqueue.context import Claim, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.store.complete(job.key)


def statement():
    return {
        "twice": [
            "crash before send",
            "crash after send",
            "pause",
            "answer of send lost",
            "ack lost",
        ],
        "missing": [],
    }
