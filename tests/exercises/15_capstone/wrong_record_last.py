"""The record is written last, by itself: what came before it may come again."""
# fails: zero duplicates under two faults at once; a bad week


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM renewals WHERE number = ?", (job.key,)):
        return
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.sql.execute(
        "UPDATE subscriptions SET months = months + 1 WHERE customer = ?", (job.customer,)
    )
    await ctx.sql.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    await ctx.sql.execute("INSERT INTO renewals VALUES (?) ON CONFLICT DO NOTHING", (job.key,))


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE sent = 0"):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
