"""Exercise 12, solved: order and message are one transaction; the relay sends, then marks."""

from simqueue.context import Context, Job, UniqueViolation


async def handler(job: Job, ctx: Context) -> None:
    """Place one order, and put the message about it into the outbox."""
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return  # it was placed before, and so was its message


async def relay(job: Job, ctx: Context) -> None:
    """Send what waits in the outbox, each message under its order's number, and then mark it."""
    waiting = await ctx.sql.execute("SELECT id, number FROM outbox WHERE sent = 0")
    for row, number in waiting:
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
