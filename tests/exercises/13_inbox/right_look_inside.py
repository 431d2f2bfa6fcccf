"""It looks inside the transaction, which has the only pen from its begin on."""


async def handler(job, ctx):
    await ctx.work()
    async with ctx.sql.transaction() as tx:
        if await tx.execute("SELECT 1 FROM inbox WHERE message = ?", (job.key,)):
            return
        await tx.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
        await tx.execute("INSERT INTO inbox VALUES (?)", (job.key,))
