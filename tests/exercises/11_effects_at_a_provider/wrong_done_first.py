"""It is written down as done before it is done."""
# fails: nobody gets a coin for nothing

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
    await ctx.sql.execute(DONE, (job.key,))
    await ctx.payments.charge(job.customer, cents, key=job.key)
