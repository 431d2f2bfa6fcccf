"""The first price is kept; that it was charged, only the provider knows, for a day."""
# fails: a message that comes again after two days charges nothing


async def handler(job, ctx):
    await ctx.sql.execute(
        "INSERT INTO charges SELECT ?, cents, 'begun' FROM price WHERE true ON CONFLICT DO NOTHING",
        (job.key,),
    )
    ((cents,),) = await ctx.sql.execute("SELECT cents FROM charges WHERE number = ?", (job.key,))
    await ctx.work()
    await ctx.payments.charge(job.customer, cents, key=job.key)
