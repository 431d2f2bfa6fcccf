"""Exercise 07: a claim in Redis. The task stands in README.md."""

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Charge the order `job.key`, unless somebody has claimed it."""
    claimed = await ctx.redis.set(job.key, "charging", nx=True)
    if not claimed:
        if await ctx.redis.get(job.key) == "done":
            return
        raise Retry("another delivery is at work on it, or died at it")
    await ctx.redis.expire(job.key, 600)
    await ctx.work()  # finds the courier
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.redis.set(job.key, "done", ex=600)
