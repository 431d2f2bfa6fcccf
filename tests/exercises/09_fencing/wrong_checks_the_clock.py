"""It looks at the clock before it writes, and stands still between the look and the write."""
# fails: no old list overwrites a newer one

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    taken = ctx.now
    if lock is None:
        raise Retry("another worker builds this shop's list")
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    await ctx.work()
    if ctx.now > taken + 50:
        raise Retry("the lock may have run out")
    await ctx.sql.execute("UPDATE lists SET version = ? WHERE shop = ?", (version, job.customer))
    await lock.release()
