"""The prices are read before the lock is got: tokens are not in the order of the versions."""
# fails: no old list overwrites a newer one

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    if lock is None:
        raise Retry("another worker builds this shop's list")
    await ctx.work()
    await ctx.sql.execute(
        "UPDATE lists SET version = ?, token = ? WHERE shop = ? AND token < ?",
        (version, lock.token, job.customer, lock.token),
    )
    await lock.release()
