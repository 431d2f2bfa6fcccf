"""A relay claims the rows that it sends, for ten minutes; then another may take them over."""

from simqueue.context import UniqueViolation

DONE = 10**9
CLAIM = """
UPDATE outbox SET sent = unixepoch() WHERE sent < unixepoch() - 600 OR sent = 0
RETURNING id, number
"""


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for row, number in await ctx.sql.execute(CLAIM):
        await ctx.mailer.send(number, row)
        await ctx.sql.execute("UPDATE outbox SET sent = ? WHERE id = ?", (DONE, row))
