"""It catches LeaseLost and goes on: the film is done, so it is sent."""
# fails: whoever has lost the film stops

from contextlib import suppress

from simqueue.context import LeaseLost


async def handler(job, ctx):
    latest = ctx.now + 7_200
    await ctx.extend(180)
    extended = ctx.now
    for _ in range(240):
        await ctx.work(1 / 240)
        if ctx.now - extended >= 30:
            with suppress(LeaseLost):
                await ctx.extend(min(180, max(latest - ctx.now, 1)))
            extended = ctx.now
    await ctx.mailer.send(job.customer, "Your film is ready.")
