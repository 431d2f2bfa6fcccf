"""It asks the table first, and writes then: two steps, with room for a pause between them."""
# fails: no old list overwrites a newer one

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    if lock is None:
        raise Retry("another worker builds this shop's list")
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    await ctx.work()
    newest = await ctx.sql.execute("SELECT token FROM lists WHERE shop = ?", (job.customer,))
    if newest[0][0] > lock.token:
        return
    await ctx.sql.execute(
        "UPDATE lists SET version = ?, token = ? WHERE shop = ?",
        (version, lock.token, job.customer),
    )
    await lock.release()
