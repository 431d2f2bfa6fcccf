"""Rows are deleted, and their ids, which name the messages, are given again."""

# fails: a message that is sent again has the same name
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox"):
        await ctx.mailer.send(number, row)
        await ctx.sql.execute("DELETE FROM outbox WHERE number = ?", (number,))
