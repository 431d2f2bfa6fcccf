"""Each sending has a name of its own, and so comes through."""

# fails: zero duplicates under two faults at once
import uuid

from simqueue.context import UniqueViolation


async def handler(job, ctx):
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
        await ctx.mailer.send(number, str(uuid.uuid4()))
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
