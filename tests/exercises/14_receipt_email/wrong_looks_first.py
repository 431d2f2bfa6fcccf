"""A look instead of a claim: two can look before one has sent."""
# fails: a receipt comes twice only where nobody can know


async def handler(job, ctx):
    if await ctx.store.is_done(job.key):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.mailer.send(job.customer, "Your receipt")
    await ctx.store.complete(job.key)


def statement():
    return {"twice": ["crash after send", "answer of send lost", "pause"], "missing": []}
