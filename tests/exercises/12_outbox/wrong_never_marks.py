"""The relay marks nothing, and relies on the warehouse to throw everything away, each time."""

# fails: if nothing goes wrong every order is placed and packed once
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
            await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))
    except UniqueViolation:
        return


async def relay(job, ctx):
    for (number,) in await ctx.sql.execute("SELECT number FROM outbox"):
        await ctx.mailer.send(number, number)
