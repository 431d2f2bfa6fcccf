"""Exercise 14: a receipt, and what can be promised of it. The task stands in README.md."""

from simqueue.context import Claim, Context, Job, Retry


async def handler(job: Job, ctx: Context) -> None:
    """Charge one ticket, and send its receipt."""
    match await ctx.store.claim(job.key, stale_after=15 * 60):
        case Claim.DONE:
            return
        case Claim.BUSY:
            raise Retry("another delivery is at it")
    await ctx.work()  # makes the receipt
    await ctx.payments.charge(job.customer, job.amount, key=job.key)
    await ctx.store.complete(job.key)
    await ctx.mailer.send(job.customer, "Your receipt")


def statement() -> dict[str, list[str]]:
    """Return which events can lead to a receipt that comes twice, or never."""
    return {"twice": [], "missing": []}
