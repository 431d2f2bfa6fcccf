"""Exercise 06: charge each parking session once. The task stands in README.md."""

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Charge the parking session `job.key`, unless that was done before."""
    rows = await ctx.sql.execute("SELECT status FROM sessions WHERE session = ?", (job.key,))
    if rows:
        return
    await ctx.work()  # the invoice: some seconds
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute("INSERT INTO sessions (session, status) VALUES (?, 'done')", (job.key,))
