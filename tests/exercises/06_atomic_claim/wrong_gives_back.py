"""It gives the claim back when the charge raises: but that can come after the charge."""
# fails: nobody is charged twice

from simqueue.context import Retry


async def handler(job, ctx):
    claimed = await ctx.sql.execute(
        "INSERT INTO sessions VALUES (?, 'charging') ON CONFLICT DO NOTHING", (job.key,)
    )
    if claimed.rowcount == 0:
        rows = await ctx.sql.execute("SELECT status FROM sessions WHERE session = ?", (job.key,))
        if rows[0][0] == "done":
            return
        raise Retry("busy")
    try:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount)
    except Exception:
        await ctx.sql.execute("DELETE FROM sessions WHERE session = ?", (job.key,))
        raise
    await ctx.sql.execute("UPDATE sessions SET status = 'done' WHERE session = ?", (job.key,))
