"""The error is gone if the price is part of the key, and the money is gone twice."""
# fails: nobody is charged twice


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM charges WHERE number = ?", (job.key,)):
        return
    ((cents,),) = await ctx.sql.execute("SELECT cents FROM price")
    await ctx.work()
    await ctx.payments.charge(job.customer, cents, key=f"{job.key}/{cents}")
    await ctx.sql.execute(
        "INSERT INTO charges VALUES (?, ?, 'done') ON CONFLICT DO NOTHING", (job.key, cents)
    )
