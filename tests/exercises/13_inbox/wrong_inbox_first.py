"""The inbox first, and then the booking: a crash between the two forgets the parcel."""

# fails: no parcel is forgotten
from simqueue.context import UniqueViolation


async def handler(job, ctx):
    await ctx.work()
    try:
        await ctx.sql.execute("INSERT INTO inbox VALUES (?)", (job.key,))
    except UniqueViolation:
        return
    await ctx.sql.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
