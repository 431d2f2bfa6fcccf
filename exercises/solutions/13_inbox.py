"""Exercise 13, solved: the booking and the knowledge of it are one transaction."""

from simqueue.context import Context, Job, UniqueViolation


async def handler(job: Job, ctx: Context) -> None:
    """Book the goods of one parcel out, unless its message is known."""
    await ctx.work()
    try:
        async with ctx.sql.transaction() as tx:
            await tx.execute("INSERT INTO inbox VALUES (?)", (job.key,))
            await tx.execute("INSERT INTO bookings (message) VALUES (?)", (job.key,))
    except UniqueViolation:
        return
