"""The order and its message are two statements, and the worker dies between them."""

# fails: no order without a message
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        await ctx.sql.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
    except UniqueViolation:
        return
    await ctx.sql.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, row)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
