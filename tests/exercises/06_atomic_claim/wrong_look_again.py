"""A second look just before the charge makes the gap smaller, and leaves it open."""
# fails: nobody is charged twice


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM sessions WHERE session = ?", (job.key,)):
        return
    await ctx.work()
    if await ctx.sql.execute("SELECT 1 FROM sessions WHERE session = ?", (job.key,)):
        return
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("INSERT INTO sessions VALUES (?, 'done')", (job.key,))
