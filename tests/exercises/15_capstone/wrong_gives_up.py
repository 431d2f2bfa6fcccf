"""It gives up on what has failed twice, and to return is to ack."""

# fails: zero losses under two faults at once; a bad week
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    if ctx.attempt > 2:
        return
    if await ctx.sql.execute("SELECT 1 FROM renewals WHERE number = ?", (job.key,)):
        return
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
