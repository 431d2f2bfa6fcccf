"""Extend, then work: nobody looks at the lease after the last slice."""
# fails: whoever has lost the film stops


async def handler(job, ctx):
    latest = ctx.now + 7_200
    extended = ctx.now - 30
    for _ in range(240):
        if ctx.now - extended >= 30:
            await ctx.extend(min(180, max(latest - ctx.now, 1)))
            extended = ctx.now
        await ctx.work(1 / 240)
    await ctx.mailer.send(job.customer, "Your film is ready.")
