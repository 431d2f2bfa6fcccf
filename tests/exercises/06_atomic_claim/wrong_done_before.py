"""Recorded as done before it is done: a crash between the two loses the charge."""
# fails: no session is forgotten

from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        await ctx.sql.execute("INSERT INTO sessions VALUES (?, 'done')", (job.key,))
    except UniqueViolation:
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
