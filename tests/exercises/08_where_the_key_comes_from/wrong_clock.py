"""A key made of the clock: each attempt has its own."""
# fails: nobody is charged twice; midnight makes no difference


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=f"{job.key}-{ctx.now}")
