"""It sends again by itself if there is no answer, in the same delivery."""

from simqueue.context import Claim, ResponseLost, Retry


async def handler(job, ctx):
    match await ctx.store.claim(job.key, stale_after=900):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    try:
        await ctx.mailer.send(job.customer, "Your receipt")
    except ResponseLost:
        await ctx.mailer.send(job.customer, "Your receipt, again perhaps")
    await ctx.store.complete(job.key)


def statement():
    return {"twice": ["crash after send", "answer of send lost"], "missing": []}
