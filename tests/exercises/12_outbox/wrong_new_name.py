"""Each sending has a name of its own, so the warehouse packs again."""

# fails: a message that is sent again has the same name
import uuid

from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, str(uuid.uuid4()))
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
