"""To return is to ack: if the owner of the claim is dead, nobody charges."""
# fails: no session is forgotten

from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        await ctx.sql.execute("INSERT INTO sessions VALUES (?, 'charging')", (job.key,))
    except UniqueViolation:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("UPDATE sessions SET status = 'done' WHERE session = ?", (job.key,))
