"""Exercise 11: what a provider answers, or does not. The task stands in README.md."""

from simqueue.context import Conflict, Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Charge one purchase, at the price of now."""
    ((cents,),) = await ctx.sql.execute("SELECT cents FROM price")
    await ctx.work()  # reserves the coin
    try:
        await ctx.payments.charge(job.customer, cents, key=job.key)
    except Conflict:
        return  # somebody else is at it
