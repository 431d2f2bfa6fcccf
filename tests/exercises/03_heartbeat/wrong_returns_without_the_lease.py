"""It stops at LeaseLost by return: that is an ack, and if nobody has the film yet, nobody gets it."""
# fails: whoever has lost the film stops

from simqueue.context import LeaseLost


async def handler(job, ctx):
    latest = ctx.now + 7_200
    await ctx.extend(180)
    extended = ctx.now
    for _ in range(240):
        await ctx.work(1 / 240)
        if ctx.now - extended >= 30:
            try:
                await ctx.extend(min(180, max(latest - ctx.now, 1)))
            except LeaseLost:
                return
            extended = ctx.now
    await ctx.mailer.send(job.customer, "Your film is ready.")
