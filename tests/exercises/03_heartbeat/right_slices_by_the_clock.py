"""The first slice is a small one, and says how long the film is: the others fit the beat."""


async def handler(job, ctx):
    began = ctx.now

    async def beat():
        await ctx.extend(min(200, max(7_200 - (ctx.now - began), 1)))

    await beat()
    await ctx.work(0.002)
    done = 0.002
    share = min(0.5, max(0.005, 0.002 * 35 / (ctx.now - began)))
    while done < 1:
        await ctx.work(min(share, 1 - done))
        done += share
        await beat()
    await ctx.mailer.send(job.customer, "Your film is ready.")
