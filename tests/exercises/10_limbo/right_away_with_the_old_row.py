"""The old row goes first; then the insert decides, as in exercise 06."""

from simqueue.context import Retry, Unavailable

WINDOW = 12 * 60


async def handler(job, ctx):
    await ctx.sql.execute(
        "DELETE FROM orders WHERE number = ? AND status <> 'done' AND since <= ?",
        (job.key, ctx.now - WINDOW),
    )
    mine = await ctx.sql.execute(
        "INSERT INTO orders VALUES (?, 'processing', ?) ON CONFLICT DO NOTHING", (job.key, ctx.now)
    )
    if not mine.rowcount:
        rows = await ctx.sql.execute("SELECT status FROM orders WHERE number = ?", (job.key,))
        if rows and rows[0][0] == "done":
            return
        raise Retry("somebody is at work on it")
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except Unavailable:
        await ctx.sql.execute("DELETE FROM orders WHERE number = ?", (job.key,))
        raise
    await ctx.sql.execute("UPDATE orders SET status = 'done' WHERE number = ?", (job.key,))
