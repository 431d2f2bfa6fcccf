"""Exercise 15, solved: a key, a record that outlives it, one transaction, and an outbox."""

from simqueue.context import Context, Job, UniqueViolation


async def handler(job: Job, ctx: Context) -> None:
    """Charge one renewal, add the month, and put the receipt into the outbox."""
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


async def relay(job: Job, ctx: Context) -> None:
    """Send the receipts that wait in the outbox, and mark each as sent."""
    waiting = await ctx.sql.execute("SELECT id, number FROM outbox WHERE sent = 0")
    for row, number in waiting:
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
