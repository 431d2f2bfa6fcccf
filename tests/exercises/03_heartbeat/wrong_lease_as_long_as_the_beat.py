"""A heartbeat each minute, for a lease of a minute: it always comes a moment too late."""
# fails: a long film stays with its worker; to stand still for a minute costs nothing; no more extends than were promised


async def handler(job, ctx):
    extended = ctx.now
    for _ in range(240):
        await ctx.work(1 / 240)
        if ctx.now - extended >= 60:
            await ctx.extend(60)
            extended = ctx.now
    await ctx.mailer.send(job.customer, "Your film is ready.")
