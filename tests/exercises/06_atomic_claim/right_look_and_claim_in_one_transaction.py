"""A look, then an insert, within one transaction that lets nobody else in between."""

from simqueue.context import Retry


async def handler(job, ctx):
    async with ctx.sql.transaction():
        rows = await ctx.sql.execute("SELECT status FROM sessions WHERE session = ?", (job.key,))
        if not rows:
            await ctx.sql.execute("INSERT INTO sessions VALUES (?, 'busy')", (job.key,))
    if rows:
        if rows[0][0] == "done":
            return
        raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("UPDATE sessions SET status = 'done' WHERE session = ?", (job.key,))
