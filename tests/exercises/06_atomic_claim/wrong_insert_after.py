"""The insert is atomic, and comes too late: it only records."""
# fails: nobody is charged twice


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM sessions WHERE session = ?", (job.key,)):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute(
        "INSERT INTO sessions VALUES (?, 'done') ON CONFLICT DO NOTHING", (job.key,)
    )
