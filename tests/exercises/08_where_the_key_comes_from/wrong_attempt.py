"""A key with the number of the attempt: a repeated delivery has another."""
# fails: nobody is charged twice; midnight makes no difference


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=f"{job.key}/{ctx.attempt}")
