"""A relay claims rows, so that no other sends them too; if it dies, they are claimed for good."""

# fails: nothing is marked before it is sent
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    claim = "UPDATE outbox SET sent = 1 WHERE sent = 0 RETURNING id, number"
    for row, number in await ctx.sql.execute(claim):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("UPDATE outbox SET sent = 2 WHERE id = ?", (row,))
