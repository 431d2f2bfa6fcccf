"""Exercise 05, solved: look at the data for poison; whatever else happens is worth another try."""

import re

from simqueue.context import Context, Job, ResponseLost, Retry, Unavailable

DELAY = 15 * 60  # twelve receives last for more than two hours


async def handler(job: Job, ctx: Context) -> None:
    """Collect the invoice `job.key`, or park it."""
    try:
        await collect(job, ctx)
    except (Unavailable, ResponseLost) as trouble:
        raise Retry(str(trouble), after=DELAY) from trouble


async def collect(job: Job, ctx: Context) -> None:
    """Charge what can be charged, and park what cannot."""
    rows = await ctx.sql.execute("SELECT amount FROM invoices WHERE number = ?", (job.key,))
    amount = rows[0][0]
    if isinstance(amount, int) and amount > 0:
        await ctx.payments.charge(job.customer, amount, key=job.key)
    else:
        await ctx.sql.execute(
            "INSERT INTO parking VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (job.key, f"the amount is {amount!r}", ctx.now),
        )


def redrive(rows: list[dict]) -> list[str]:
    """Return the numbers of the parked invoices that are to be sent back, in this order."""
    chosen = [row for row in rows if readable(row["amount"]) and not row["paid"]]
    fresh = [row for row in chosen if row["redriven"] == 0]
    return [row["number"] for row in sorted(fresh, key=lambda row: row["parked"])]


def readable(amount: object) -> bool:
    """Whether the new release reads it, and there is something to collect."""
    return bool(re.fullmatch(r"[0-9]+,[0-9]{2}", str(amount))) and amount.strip("0,") != ""
