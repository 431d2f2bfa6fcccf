"""The handler sends at once where it can, and leaves the rest to the relay."""

from simqueue.context import Unavailable, UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return
    try:
        await ctx.mailer.send(job.key, job.key)
    except Unavailable:
        return
    await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE number = ?", (job.key,))


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
