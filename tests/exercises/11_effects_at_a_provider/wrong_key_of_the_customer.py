"""The key and the row name the customer, who may buy twice."""
# fails: every purchase is charged


async def handler(job, ctx):
    await ctx.sql.execute(
        "INSERT INTO charges SELECT ?, cents, 'begun' FROM price WHERE true ON CONFLICT DO NOTHING",
        (job.customer,),
    )
    rows = await ctx.sql.execute(
        "SELECT cents FROM charges WHERE number = ? AND status = 'begun'", (job.customer,)
    )
    for (cents,) in rows:
        await ctx.work()
        await ctx.payments.charge(job.customer, cents, key=job.customer)
        await ctx.sql.execute(
            "UPDATE charges SET status = 'done' WHERE number = ?", (job.customer,)
        )
