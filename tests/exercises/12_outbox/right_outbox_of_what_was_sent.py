"""The order itself is the wish; the outbox lists what was sent."""


async def handler(job, ctx):
    await ctx.sql.execute(
        "INSERT INTO orders VALUES (?, ?) ON CONFLICT DO NOTHING", (job.key, job.customer)
    )


async def relay(job, ctx):
    unsent = "SELECT number FROM orders WHERE number NOT IN (SELECT number FROM outbox WHERE sent)"
    for (number,) in await ctx.sql.execute(unsent):
        await ctx.mailer.send(number, number)
        await ctx.sql.execute("INSERT INTO outbox (number, sent) VALUES (?, 1)", (number,))
