"""To return is to ack: if the owner of the claim is dead, nobody sends."""

# fails: no receipt is missing
from simqueue.context import Claim


async def handler(job, ctx):
    if await ctx.store.claim(job.key, stale_after=900) is not Claim.WON:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.store.complete(job.key)


def statement():
    return {
        "twice": [],
        "missing": ["crash before send", "other answer lost", "answer of send lost"],
    }
