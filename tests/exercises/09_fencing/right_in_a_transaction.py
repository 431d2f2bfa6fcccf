"""Compare and write within one transaction."""

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Build the price list of the shop `job.customer`, and publish it."""
    lock = await ctx.locks.acquire(job.customer, ttl=60)
    if lock is None:
        raise Retry("another worker builds this shop's list")
    rows = await ctx.sql.execute("SELECT version FROM feed")
    version = rows[0][0]
    await ctx.work()
    async with ctx.sql.transaction() as tx:
        ((newest,),) = await tx.execute("SELECT token FROM lists WHERE shop = ?", (job.customer,))
        if newest < lock.token:
            await tx.execute(
                "UPDATE lists SET version = ?, token = ? WHERE shop = ?",
                (version, lock.token, job.customer),
            )
    given_back = await lock.release()
    if not given_back and newest > lock.token:
        print("fenced off")
