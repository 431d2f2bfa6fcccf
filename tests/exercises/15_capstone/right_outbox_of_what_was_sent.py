"""A renewal without a row in the outbox has no receipt yet; a second booking just raises."""


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM renewals WHERE number = ?", (job.key,)):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    async with ctx.sql.transaction() as tx:
        await tx.execute(
            "UPDATE subscriptions SET months = months + 1 WHERE customer = ?", (job.customer,)
        )
        await tx.execute("INSERT INTO renewals VALUES (?)", (job.key,))


async def relay(job, ctx):
    unsent = "SELECT number FROM renewals WHERE number NOT IN (SELECT number FROM outbox)"
    for (number,) in await ctx.sql.execute(unsent):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("INSERT INTO outbox (number, sent) VALUES (?, 1)", (number,))
