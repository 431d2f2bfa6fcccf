"""Ten slices are fine for ten minutes; a tenth of 118 minutes outlasts the lease."""
# fails: a long film stays with its worker; to stand still for a minute costs nothing; no more extends than were promised


async def handler(job, ctx):
    latest = ctx.now + 7_200
    await ctx.extend(180)
    for _ in range(10):
        await ctx.work(0.1)
        await ctx.extend(min(180, max(latest - ctx.now, 1)))
    await ctx.mailer.send(job.customer, "Your film is ready.")
