"""Two statements the other way round: the relay sends what is no order yet."""

# fails: no message without an order
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM orders WHERE number = ?", (job.key,)):
        return
    await ctx.sql.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    try:
        await ctx.sql.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
