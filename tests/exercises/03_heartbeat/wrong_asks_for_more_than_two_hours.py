"""The limit of the queue: a film of 118 minutes ends in LeaseLimit, two minutes before its time."""
# fails: a long film stays with its worker; no more extends than were promised


async def handler(job, ctx):
    await ctx.extend(180)
    extended = ctx.now
    for _ in range(240):
        await ctx.work(1 / 240)
        if ctx.now - extended >= 30:
            await ctx.extend(180)
            extended = ctx.now
    await ctx.mailer.send(job.customer, "Your film is ready.")
