"""It looks whether the row is stale, and takes it over in a second statement: two can look at once."""

# fails: two who find the same order do not both take it over
from simqueue.context import Retry, Unavailable


async def handler(job, ctx):
    mine = await ctx.sql.execute(
        "INSERT INTO orders VALUES (?, 'processing', ?) ON CONFLICT DO NOTHING", (job.key, ctx.now)
    )
    if mine.rowcount == 0:
        rows = await ctx.sql.execute(
            "SELECT status, since FROM orders WHERE number = ?", (job.key,)
        )
        status, since = rows[0]
        if status == "done":
            return
        if status == "processing" and since > ctx.now - 900:
            raise Retry("somebody is at work on it")
        await ctx.sql.execute(
            "UPDATE orders SET status = 'processing', since = ? WHERE number = ?",
            (ctx.now, job.key),
        )
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except Unavailable:
        await ctx.sql.execute("UPDATE orders SET status = 'failed' WHERE number = ?", (job.key,))
        raise
    await ctx.sql.execute("UPDATE orders SET status = 'done' WHERE number = ?", (job.key,))
