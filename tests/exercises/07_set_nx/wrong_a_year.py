"""A year is more than the 60 days that there are."""

# fails: no key stays for ever
from simqueue.context import Retry

DAY = 86_400


async def handler(job, ctx):
    if not await ctx.redis.set(job.key, "charging", nx=True, ex=365 * DAY):
        if await ctx.redis.get(job.key) == "done":
            return
        raise Retry("claimed")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.redis.set(job.key, "done", ex=365 * DAY)
