"""Exercise 15: the whole pipeline. The task stands in README.md."""

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Charge one renewal, add the month, and send the receipt."""
    if await ctx.sql.execute("SELECT 1 FROM renewals WHERE number = ?", (job.key,)):
        return
    await ctx.work()  # asks whether the card is still good
    await ctx.payments.charge(job.customer, job.amount)
    await ctx.sql.execute(
        "UPDATE subscriptions SET months = months + 1 WHERE customer = ?", (job.customer,)
    )
    await ctx.sql.execute("INSERT INTO renewals VALUES (?)", (job.key,))
    await ctx.mailer.send(job.key, job.key)


async def relay(job: Job, ctx: Context) -> None:
    """Comes by every minute. It has nothing to do as yet."""
