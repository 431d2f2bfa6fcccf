"""The handler sends the receipt after the commit: if it dies between, nobody does."""

# fails: zero losses under two faults at once; a bad week
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
    except UniqueViolation:
        return
    await ctx.mailer.send(job.key, job.key)


async def relay(job, ctx):
    pass
