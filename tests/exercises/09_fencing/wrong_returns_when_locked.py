"""To return is to ack: the owner of the lock may be dead."""
# fails: a list is published

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    if lock is None:
        return
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    await ctx.work()
    await ctx.sql.execute(
        "UPDATE lists SET version = ?, token = ? WHERE shop = ? AND token < ?",
        (version, lock.token, job.customer, lock.token),
    )
    await lock.release()
