"""Exercise 05: what to retry, what to park, what to send back. The task stands in README.md."""

from simqueue.context import Context, Job


async def handler(job: Job, ctx: Context) -> None:
    """Collect the invoice `job.key`."""
    rows = await ctx.sql.execute("SELECT amount FROM invoices WHERE number = ?", (job.key,))
    amount = int(rows[0][0])
    await ctx.payments.charge(job.customer, amount)


def redrive(rows: list[dict]) -> list[str]:
    """Return the numbers of the parked invoices that are to be sent back, in this order."""
    return [row["number"] for row in rows]
