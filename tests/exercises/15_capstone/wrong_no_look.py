"""It relies on the provider to know what was charged, for a day."""

# fails: a message that comes again after two days does nothing
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO renewals VALUES (?)", (job.key,))
            await tx.execute(
                "UPDATE subscriptions SET months = months + 1 WHERE customer = ?", (job.customer,)
            )
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE sent = 0"):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
