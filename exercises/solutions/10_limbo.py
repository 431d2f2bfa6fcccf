"""Exercise 10, solved: one statement claims what is new, what failed, and what is stale."""

from simqueue.context import Context, Job, Retry, Unavailable

STALE_AFTER = 15 * 60  # longer than any order takes, and far below the hour that a customer waits

CLAIM = """
INSERT INTO orders VALUES (?1, 'processing', ?2) ON CONFLICT (number) DO UPDATE
SET status = 'processing', since = ?2
WHERE status = 'failed' OR (status = 'processing' AND since <= ?3)
"""


async def handler(job: Job, ctx: Context) -> None:
    """Print the order `job.key`, unless it is done, or somebody alive is at work on it."""
    claimed = await ctx.sql.execute(CLAIM, (job.key, ctx.now, ctx.now - STALE_AFTER))
    if claimed.rowcount == 0:
        rows = await ctx.sql.execute("SELECT status FROM orders WHERE number = ?", (job.key,))
        if rows[0][0] == "done":
            return
        raise Retry("somebody is at work on it, or died a short while ago")
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except Unavailable:
        await finish(job, ctx, "failed")
        raise
    await finish(job, ctx, "done")


async def finish(job: Job, ctx: Context, status: str) -> None:
    """Write down what came of the order."""
    await ctx.sql.execute(
        "UPDATE orders SET status = ?, since = ? WHERE number = ?", (status, ctx.now, job.key)
    )
