"""The version itself is the fence: never write an older one."""

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    if lock is None:
        raise Retry("another worker builds this shop's list")
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    await ctx.work()
    await ctx.sql.execute(
        "UPDATE lists SET version = :new WHERE shop = :shop AND version <= :new",
        {"new": version, "shop": job.customer},
    )
    await lock.release()
