"""A lease of a minute and a half: enough for the beat, and too short if the worker stands still."""
# fails: to stand still for a minute costs nothing


async def handler(job, ctx):
    latest = ctx.now + 7_200
    await ctx.extend(90)
    extended = ctx.now
    for _ in range(240):
        await ctx.work(1 / 240)
        if ctx.now - extended >= 30:
            await ctx.extend(min(90, max(latest - ctx.now, 1)))
            extended = ctx.now
    await ctx.mailer.send(job.customer, "Your film is ready.")
