"""What was sent is deleted by its id, which may be that of a new row by then."""
# fails: what comes while relays are at work is not lost


async def handler(order, context):
    async with context.sql.transaction() as tx:
        new = await tx.execute(
            "INSERT INTO orders VALUES (?, ?) ON CONFLICT DO NOTHING", (order.key, order.customer)
        )
        if new.rowcount:
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (order.key,))


async def relay(_turn, context):
    while True:
        rows = await context.sql.execute("SELECT id, number FROM outbox ORDER BY id LIMIT 1")
        if not rows:
            return
        ((row, number),) = rows
        await context.mailer.send(number, f"pack {number}")
        await context.sql.execute("DELETE FROM outbox WHERE id = ?", (row,))
