"""A known order is an error to it: it comes back until it is dead-lettered."""
# fails: if nothing goes wrong every order is placed and packed once


async def handler(job, ctx):
    async with ctx.sql.transaction() as tx:
        await tx.execute("INSERT INTO orders VALUES (?, ?)", (job.key, job.customer))
        await tx.execute("INSERT INTO outbox (number) VALUES (?)", (job.key,))


async def relay(job, ctx):
    for row, number in await ctx.sql.execute("SELECT id, number FROM outbox WHERE NOT sent"):
        await ctx.mailer.send(number, row)
        await ctx.sql.execute("UPDATE outbox SET sent = 1 WHERE id = ?", (row,))
