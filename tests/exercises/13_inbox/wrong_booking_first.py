"""The booking first, and then the inbox: a crash between the two books again."""
# fails: no parcel is booked twice


async def handler(job, ctx):
    if await ctx.sql.execute("SELECT 1 FROM inbox WHERE message = ?", (job.key,)):
        return
    await ctx.work()
    await ctx.sql.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
    await ctx.sql.execute("INSERT OR IGNORE INTO inbox VALUES (?)", (job.key,))
