"""At its end the relay marks everything: also what came after it had looked."""

# fails: what comes while relays are at work is not lost
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for (number,) in await ctx.sql.execute("SELECT number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, number)
    await ctx.sql.execute("UPDATE outbox SET sent = 1")
