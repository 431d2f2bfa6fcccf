"""It is known for a day that the order is done, and the message may come for two weeks."""

# fails: a message that comes back after two weeks charges nobody
from simqueue.context import Retry

DAY = 86_400


async def handler(job, ctx):
    if not await ctx.redis.set(job.key, "charging", nx=True, ex=30 * DAY):
        if await ctx.redis.get(job.key) == "done":
            return
        raise Retry("claimed")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.redis.set(job.key, "done", ex=DAY)
