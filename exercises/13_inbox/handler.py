"""Exercise 13: a consumer that takes duplicates. The task stands in README.md."""

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Book the goods of one parcel out."""
    known = await ctx.sql.execute("SELECT 1 FROM inbox WHERE message = ?", (job.key,))
    if known:
        return
    await ctx.work()  # looks up the goods
    await ctx.sql.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
    await ctx.sql.execute("INSERT INTO inbox VALUES (?)", (job.key,))
