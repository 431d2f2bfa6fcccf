"""A window of an hour: the customer waits for more."""

# fails: an order whose worker died is finished within an hour
from simqueue.context import Retry, Unavailable


async def handler(job, ctx):
    mine = await ctx.sql.execute(
        "INSERT INTO orders VALUES (?1, 'processing', ?2) ON CONFLICT (number) DO UPDATE "
        "SET status = 'processing', since = ?2 WHERE status = 'failed' OR (status = 'processing' AND since <= ?3)",
        (job.key, ctx.now, ctx.now - 3_600),
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
