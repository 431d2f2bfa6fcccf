"""The key names the delivery, so each delivery has a claim of its own."""
# fails: nobody is charged twice

from simqueue.context import Retry


async def handler(job, ctx):
    key = f"{job.key}/{ctx.attempt}"
    claimed = await ctx.sql.execute(
        "INSERT INTO sessions VALUES (?, 'charging') ON CONFLICT DO NOTHING", (key,)
    )
    if claimed.rowcount == 0:
        raise Retry("busy")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
