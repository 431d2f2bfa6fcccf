"""Stale ones are taken over, failed ones are not."""

# fails: a failed order is printed when the printer is back
from simqueue.context import Retry, Unavailable


async def handler(job, ctx):
    mine = await ctx.sql.execute(
        "INSERT INTO orders VALUES (?1, 'processing', ?2) ON CONFLICT (number) DO UPDATE "
        "SET status = 'processing', since = ?2 WHERE status = 'processing' AND since <= ?3",
        (job.key, ctx.now, ctx.now - 900),
    )
    if mine.rowcount == 0:
        rows = await ctx.sql.execute("SELECT status FROM orders WHERE number = ?", (job.key,))
        if rows[0][0] == "done":
            return
        raise Retry("not mine")
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except Unavailable:
        await ctx.sql.execute("UPDATE orders SET status = 'failed' WHERE number = ?", (job.key,))
        raise
    await ctx.sql.execute("UPDATE orders SET status = 'done' WHERE number = ?", (job.key,))
