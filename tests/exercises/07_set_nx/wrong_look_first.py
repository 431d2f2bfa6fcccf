"""GET and then SET: two that look at once both find nothing."""
# fails: nobody is charged twice; a message that comes back after two weeks charges nobody; no order is forgotten


async def handler(job, ctx):
    if await ctx.redis.get(job.key):
        return
    await ctx.redis.set(job.key, "done", ex=30 * 86_400)
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
