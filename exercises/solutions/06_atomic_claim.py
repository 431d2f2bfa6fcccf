"""Exercise 06, solved: the insert is the question. One statement asks and takes at once."""

from simqueue.context import Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Charge the parking session `job.key`, unless that was done before."""
    claimed = await ctx.sql.execute(
        "INSERT INTO sessions (session, status) VALUES (?, 'charging') ON CONFLICT DO NOTHING",
        (job.key,),
    )
    if claimed.rowcount == 0:
        rows = await ctx.sql.execute("SELECT status FROM sessions WHERE session = ?", (job.key,))
        if rows[0][0] == "done":
            return
        raise Retry("another delivery is at work on it, or died at it")
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("UPDATE sessions SET status = 'done' WHERE session = ?", (job.key,))
