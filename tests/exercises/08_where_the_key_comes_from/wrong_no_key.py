"""No key at all: every delivery charges."""
# fails: nobody is charged twice; midnight makes no difference


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
