"""What was sent is deleted; the message is named by the order, in other words."""


async def handler(order, context):
    async with context.sql.transaction() as tx:
        new = await tx.execute(
            "INSERT INTO orders VALUES (?, ?) ON CONFLICT DO NOTHING", (order.key, order.customer)
        )
        if new.rowcount:
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (order.key,))


async def relay(_turn, context):
    while True:
        rows = await context.sql.execute("SELECT number FROM outbox ORDER BY id LIMIT 1")
        if not rows:
            return
        ((number,),) = rows
        await context.mailer.send(number, f"pack {number}")
        await context.sql.execute("DELETE FROM outbox WHERE number = ?", (number,))
