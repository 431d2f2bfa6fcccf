"""ON CONFLICT DO NOTHING, and its row count decides; what was sent is deleted."""


async def handler(renewal, context):
    if await context.sql.execute("SELECT 1 FROM renewals WHERE number = ?", (renewal.key,)):
        return
    await context.payments.charge(renewal.customer, renewal.amount, key=f"month {renewal.id}")
    await context.work()
    async with context.sql.transaction() as tx:
        new = await tx.execute("INSERT OR IGNORE INTO renewals VALUES (?)", (renewal.key,))
        if new.rowcount:
            await tx.execute(
                "UPDATE subscriptions SET months = months + 1 WHERE customer = ?",
                (renewal.customer,),
            )
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (renewal.key,))


async def relay(_turn, context):
    for (number,) in await context.sql.execute("SELECT number FROM outbox"):
        await context.mailer.send(number, f"receipt {number}")
        await context.sql.execute("DELETE FROM outbox WHERE number = ?", (number,))
