"""Exercise 08, solved: the key was made with the purchase, and so it names the purchase."""

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Charge one top-up."""
    await ctx.work()
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
