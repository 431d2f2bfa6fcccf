"""A transaction, and a known message is an error: it comes back until it is dead-lettered."""
# fails: no parcel is booked twice; no parcel is forgotten; a message that comes again is taken and thrown away


async def handler(job, ctx):
    await ctx.work()
    async with ctx.sql.transaction() as tx:
        await tx.execute("INSERT INTO inbox VALUES (?)", (job.key,))
        await tx.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
