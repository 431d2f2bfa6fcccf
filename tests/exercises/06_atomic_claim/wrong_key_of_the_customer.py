"""The key names the customer, who may park twice."""
# fails: every session is charged

from simqueue.context import Retry


async def handler(job, ctx):
    claimed = await ctx.sql.execute(
        "INSERT INTO sessions VALUES (?, 'charging') ON CONFLICT DO NOTHING", (job.customer,)
    )
    if claimed.rowcount == 0:
        rows = await ctx.sql.execute(
            "SELECT status FROM sessions WHERE session = ?", (job.customer,)
        )
        if rows[0][0] == "done":
            return
        raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("UPDATE sessions SET status = 'done' WHERE session = ?", (job.customer,))
