"""Exercise 07, solved: claim and time to live in one command, and longer than the queue."""

from simqueue.context import Context, Job, Retry

REMEMBERED = 30 * 86_400  # the queue keeps a message for 14 days


async def handler(job: Job, ctx: Context) -> None:
    """Charge the order `job.key`, unless somebody has claimed it."""
    claimed = await ctx.redis.set(job.key, "charging", nx=True, ex=REMEMBERED)
    if not claimed:
        if await ctx.redis.get(job.key) == "done":
            return
        raise Retry("another delivery is at work on it, or died at it")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.redis.set(job.key, "done", ex=REMEMBERED)
