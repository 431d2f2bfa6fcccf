"""No answer is taken for a no: it asks again, for something new."""

# fails: nobody is charged twice
from simqueue.context import ResponseLost

REMEMBER = """
INSERT INTO charges SELECT ?, cents, 'begun' FROM price WHERE true ON CONFLICT DO NOTHING
"""
LOOK = "SELECT cents, status FROM charges WHERE number = ?"
DONE = "UPDATE charges SET status = 'done' WHERE number = ?"


async def handler(job, ctx):
    await ctx.sql.execute(REMEMBER, (job.key,))
    ((cents, status),) = await ctx.sql.execute(LOOK, (job.key,))
    if status == "done":
        return
    await ctx.work()
    try:
        await ctx.payments.charge(job.customer, cents, key=job.key)
    except ResponseLost:
        await ctx.payments.charge(job.customer, cents, key=job.key + "/again")
    await ctx.sql.execute(DONE, (job.key,))
