"""It asks for the price of now under a key that was used at the price of then."""
# fails: a price that has changed leads nobody to the dead letter queue


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM charges WHERE number = ?", (job.key,)):
        return
    ((cents,),) = await ctx.sql.execute("SELECT cents FROM price")
    await ctx.work()
    await ctx.payments.charge(job.customer, cents, key=job.key)
    await ctx.sql.execute(
        "INSERT INTO charges VALUES (?, ?, 'done') ON CONFLICT DO NOTHING", (job.key, cents)
    )
