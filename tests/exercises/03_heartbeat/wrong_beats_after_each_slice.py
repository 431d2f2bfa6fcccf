"""A heartbeat after each slice: 240 of them also for a film of five seconds."""
# fails: no more extends than were promised


async def handler(job, ctx):
    latest = ctx.now + 7_200
    await ctx.extend(180)
    for _ in range(240):
        await ctx.work(1 / 240)
        await ctx.extend(min(180, max(latest - ctx.now, 1)))
    await ctx.mailer.send(job.customer, "Your film is ready.")
