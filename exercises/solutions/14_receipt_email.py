"""Exercise 14, solved: sent, and then recorded as sent. What that leaves open is said."""

from simqueue.context import Claim, Context, Job, Retry

STALE_AFTER = 15 * 60  # longer than any worker takes


async def handler(job: Job, ctx: Context) -> None:
    """Charge one ticket, and send its receipt: at least once."""
    claim = await ctx.store.claim(job.key, stale_after=STALE_AFTER)
    if claim is Claim.BUSY:
        raise Retry("another delivery is at it, or died a short while ago")
    if claim is Claim.WON:
        await ctx.work()
        await ctx.payments.charge(job.customer, job.amount, key=job.key)
        await ctx.mailer.send(job.customer, "Your receipt")
        await ctx.store.complete(job.key)


def statement() -> dict[str, list[str]]:
    """Return which events can lead to a receipt that comes twice, or never."""
    return {"twice": ["crash after send", "answer of send lost"], "missing": []}
