"""It looks before the transaction, and does not let the key decide: two at once both book."""
# fails: no parcel is booked twice


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM inbox WHERE message = ?", (job.key,)):
        return
    await ctx.work()
    async with ctx.sql.transaction() as tx:
        await tx.execute("INSERT OR IGNORE INTO inbox VALUES (?)", (job.key,))
        await tx.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
