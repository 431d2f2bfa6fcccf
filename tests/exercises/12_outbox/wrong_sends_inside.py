"""The message is sent inside of the transaction: if that is rolled back, it has been sent."""

# fails: no message without an order
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await ctx.mailer.send(job.key, job.key)
    except UniqueViolation:
        return


async def relay(job, ctx):
    pass
